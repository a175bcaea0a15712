# Made from docs/fast/linear.md (f09d8c7a1931). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Linear attention: a state of fixed size in place of a growing cache.

Explained in the chapter "Linear attention, state spaces and hybrids".
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention.caches import KeyValue, KeyValueCache
from attention_book.attention.multi_head import MultiHeadAttention, merge_heads
from attention_book.attention.packed import Mask, PackedLayout


__all__ = [
    "GatedDeltaAttention",
    "LinearAttention",
    "chunked_linear_attention",
]


def chunked_linear_attention(
    query: Float[Tensor, "*batch length d_k"],
    key: Float[Tensor, "*batch length d_k"],
    value: Float[Tensor, "*batch length d_v"],
    log_decay: Float[Tensor, "*batch length"],
    beta: Float[Tensor, "*batch length"] | None = None,
    state: Float[Tensor, "*batch d_k d_v"] | None = None,
    *,
    chunk_size: int = 64,
) -> tuple[
    Float[Tensor, "*batch length d_v"], Float[Tensor, "*batch d_k d_v"]
]:
    """S_t = a_t S_{t-1} + k_t u_tᵀ and o_t = S_tᵀ q_t, a chunk at a step.

    Args:
        query: Queries q.
        key: Keys k; with beta, of length 1 at most.
        value: Values v.
        log_decay: Logarithms of a, of how much is kept; at most 0.
        beta: From 0 to 1, for the delta rule: u_t = β_t (v_t - a_t S_{t-1}ᵀ
            k_t). None to add values as they are: u_t = v_t.
        state: S before the first token; None for zeros.
        chunk_size: How many tokens are computed at once.

    Returns:
        The outputs o, and S after the last token.

    Source: Yang et al. (2024), Gated Delta Networks, §3.3.
    """
    *batch, length, _ = key.shape
    size = min(chunk_size, length)
    pad = -length % size  # zeros, which write nothing and forget nothing
    q, k, v = (
        F.pad(x, (0, 0, 0, pad)).reshape(*batch, -1, size, x.shape[-1])
        for x in (query, key, value)
    )  # (*batch, chunks, size, width)
    g = F.pad(log_decay, (0, pad)).reshape(*batch, -1, size).cumsum(dim=-1)
    kept = g[..., None].exp()  # from the state before the chunk
    between = (g[..., :, None] - g[..., None, :]).tril().exp().tril()
    weights = q @ k.mT * between  # (*batch, chunks, size, size)
    q_in = q * kept
    k_out = k * (g[..., -1:] - g)[..., None].exp()
    u = v
    w = torch.zeros_like(k)  # what u takes from the state before the chunk
    if beta is not None:
        b = F.pad(beta, (0, pad)).reshape(*batch, -1, size, 1)
        earlier = (b * (k @ k.mT) * between).tril(-1)
        both = b * torch.cat([v, k * kept], dim=-1)
        both = torch.linalg.solve_triangular(  # (I + earlier)⁻¹ both
            earlier, both, upper=False, unitriangular=True
        )
        u, w = both.split([v.shape[-1], k.shape[-1]], dim=-1)
    if state is None:
        state = k.new_zeros(*batch, k.shape[-1], v.shape[-1])
    outputs = []
    for i in range(k.shape[-3]):
        written = u[..., i, :, :] - w[..., i, :, :] @ state
        inside = weights[..., i, :, :] @ written
        outputs.append(inside + q_in[..., i, :, :] @ state)
        state = kept[..., i, -1:, :] * state + k_out[..., i, :, :].mT @ written
    return torch.cat(outputs, dim=-2)[..., :length, :], state


class LinearAttention(MultiHeadAttention):
    """Causal self-attention with a state: S_t = a_t S_{t-1} + k_t v_tᵀ.

    Each token decides how much each head keeps; at first, half is left after
    some 40 to 2,000 tokens. In a cache the state, (*batch, heads, d_k, d_k),
    takes the place of the keys, whatever the capacity; gradients pass it.

    Args:
        d_model: Width of inputs and output.
        n_heads: Number of heads; divides d_model.

    Source: Katharopoulos et al. (2020), §3.2 to §3.4; the decay, Dao and Gu
        (2024), §5. Keys are given length 1, and the output of each head is
        normalised, which the first paper divides by a sum instead.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__(d_model, n_heads)
        self.norm = nn.RMSNorm(self.d_k)
        self.decay_proj = nn.Linear(d_model, n_heads)
        with torch.no_grad():
            self.decay_proj.bias.copy_(torch.linspace(8, 4, n_heads))

    def log_decay(self, x: Tensor) -> Tensor:
        """Logarithms of how much each head keeps: (*batch, heads, length)."""
        return F.logsigmoid(self.decay_proj(x)).mT

    def beta(self, x: Tensor) -> Tensor | None:
        """How much each head replaces, of that shape too; None to add."""
        return None

    def attend(self, *_: object) -> Tensor:
        """Refuse what asks for the weights of a softmax."""
        raise ValueError(f"{type(self).__name__} has no attention weights")

    def forward(
        self,
        x: Float[Tensor, "*batch length d_model"],
        memory: Float[Tensor, "*batch keys d_model"] | KeyValue | None = None,
        mask: Mask = None,
        *,
        is_causal: bool = False,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "*batch length d_model"]:
        """Let each row of x see itself, the rows before it and the cache.

        Raises:
            ValueError: There is a memory, a mask of rows, which padding at
                the end does not need, or several rows without is_causal.
        """
        if isinstance(mask, PackedLayout):
            padded = self(mask.queries.pad(x), is_causal=is_causal)
            return mask.queries.unpad(padded)
        if memory is not None or mask is not None:
            raise ValueError("memory and mask must be None beside a state")
        if not is_causal and x.shape[-2] > 1:
            raise ValueError("is_causal must be True for a state, got False")
        key, value = self.keys_and_values(x)
        key = F.normalize(key, dim=-1)
        inputs = self.queries(x), key, value, self.log_decay(x), self.beta(x)
        dtype = torch.promote_types(key.dtype, torch.float32)
        wide = [y if y is None else y.to(dtype) for y in inputs]  # no beta
        state = cache.buffer.key if cache and cache.buffer else None
        with torch.autocast(x.device.type, enabled=False):
            heads, state = chunked_linear_attention(  # type: ignore[misc]
                *wide,  # type: ignore[arg-type]
                state=state,
            )
        if cache is not None:
            cache.buffer = KeyValue(state, state[..., :0])
            cache.length = cache.length + x.shape[-2]
        heads = self.norm(heads.to(self.norm.weight.dtype))
        return self.out_proj(merge_heads(heads))


class GatedDeltaAttention(LinearAttention):
    """Linear attention that forgets and overwrites: the gated delta rule.

    S_t = a_t S_{t-1} + β_t k_t (v_t - a_t S_{t-1}ᵀ k_t)ᵀ, where each token
    decides how much each head replaces. Takes the arguments of
    LinearAttention.

    Source: Yang et al. (2024), Gated Delta Networks, §3.1; without decay,
        Schlag et al. (2021), §4.2.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__(d_model, n_heads)
        self.beta_proj = nn.Linear(d_model, n_heads)

    def beta(self, x: Tensor) -> Tensor:
        """How much each head replaces: (*batch, heads, length)."""
        return self.beta_proj(x).sigmoid().mT
