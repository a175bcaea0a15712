# Made from docs/fast/cache.md (190d7240dd5d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Multi-head latent attention. Explained in "The key–value cache"."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book._checks import check_size
from attention_book.attention.caches import KeyValue, Offset
from attention_book.attention.multi_head import MultiHeadAttention, split_heads
from attention_book.attention.positions import RotaryEmbedding


__all__ = ["LatentAttention"]


class LatentAttention(MultiHeadAttention):
    """Multi-head latent attention: keys and values come from one latent.

    Of each token it keeps c = RMSNorm(x W^DKV) and a rotary key k^R, which
    all heads share. Head i has keys c W_i^UK and values c W_i^UV, and scores
    (q_i·k_i + q_i^R·k^R) / √(d_k + d_rope). There are no biases, and no gain
    of the RMSNorm, which W^UK and W^UV can hold.

    Args:
        d_model: Width of inputs and output.
        n_heads: Number of heads; divides d_model.
        d_latent: Width of the latent c.
        d_rope: Width of the rotary key; even.

    Source: DeepSeek-AI (2024), §2.1.2–2.1.3, with queries of full rank.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, d_latent: int, d_rope: int
    ) -> None:
        super().__init__(d_model, n_heads, n_kv_heads=1, bias=False)
        check_size("d_latent", d_latent)
        self.d_latent = d_latent
        self.d_rope = d_rope
        self.rotary = RotaryEmbedding(d_rope)
        d_query = d_model + n_heads * d_rope
        self.q_proj = nn.Linear(d_model, d_query, bias=False)
        self.kv_proj = nn.Linear(d_model, d_latent + d_rope, bias=False)
        self.norm = nn.RMSNorm(d_latent, elementwise_affine=False)
        self.up_proj = nn.Linear(d_latent, 2 * d_model, bias=False)

    def queries(self, x: Tensor, offset: Offset = 0) -> Tensor:
        """Queries of all heads, the last d_rope features rotated."""
        query = split_heads(self.q_proj(x), self.n_heads)
        content, turned = query.tensor_split([self.d_k], dim=-1)
        return torch.cat([content, self.rotary(turned, offset)], dim=-1)

    def keys_and_values(self, memory: Tensor, offset: Offset = 0) -> KeyValue:
        """What is cached: latent and rotary key as one key, and no value."""
        both = self.kv_proj(memory)
        latent, turned = both.tensor_split([self.d_latent], dim=-1)
        kept = [self.norm(latent), self.rotary(turned, offset)]
        key = torch.cat(kept, dim=-1).unsqueeze(-3)  # of a single head
        return KeyValue(key, key[..., :0])

    def expand(self, kv: KeyValue) -> KeyValue:
        """Keys and values of all heads, from what is cached."""
        latent, turned = kv.key.tensor_split([self.d_latent], dim=-1)
        both = self.up_proj(latent.squeeze(-3)).chunk(2, dim=-1)
        key, value = (split_heads(x, self.n_heads) for x in both)
        shape = *key.shape[:-1], -1
        if kv.value.shape[-1]:  # others, as attention_weights has them
            value = kv.value.expand(shape)
        return KeyValue(torch.cat([key, turned.expand(shape)], dim=-1), value)

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head; one query alone does not expand them."""
        if query.shape[-2] == 1 and not kv.value.shape[-1]:
            return self._attend_to_latents(query, kv.key, mask)
        key, value = self.expand(kv)
        value = F.pad(value, (0, self.d_rope))  # fused kernels want one width
        heads = super().attend(query, KeyValue(key, value), mask, is_causal)
        return heads[..., : -self.d_rope]

    def _attend_to_latents(
        self, query: Tensor, key: Tensor, mask: Tensor | None
    ) -> Tensor:
        """Multi-query attention, whose values are the latents as well."""
        sizes = 2, self.n_heads, self.d_k, self.d_latent
        key_up, value_up = self.up_proj.weight.view(sizes)
        content, turned = query.tensor_split([self.d_k], dim=-1)
        wide = torch.cat([content @ key_up, turned], dim=-1)
        wide = wide * (wide.shape[-1] / query.shape[-1]) ** 0.5
        rows = wide.transpose(-3, -2)  # (…, 1, heads, d_latent + d_rope)
        if mask is not None and mask.ndim > 2:
            mask = mask.transpose(-3, -2)
        latents = super().attend(rows, KeyValue(key, key), mask, False)
        latents = latents[..., : self.d_latent].transpose(-3, -2)
        return latents @ value_up.mT
