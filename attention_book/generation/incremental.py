# Made from docs/source/fast-decoding.md (b0a4de5f613f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Steps of one token, with prepacked weights.

Explained in "Fast decoders".
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book._checks import check_source
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions import RotaryAttention
from attention_book.compute import ComputeConfig, inference_copy
from attention_book.generation.decoder import Lengths, Logits, Source, TokenIds
from attention_book.generation.prepacked import PrepackedLinear, replace_parts
from attention_book.models.decoder import DecoderLayer
from attention_book.models.residuals import PostNorm, PreNorm
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS


__all__ = [
    "IncrementalDecoder",
    "MakeLinear",
    "position_table",
    "single_query_attention",
    "unsupported_part",
]


MakeLinear = Callable[[Tensor, Tensor | None], Any]  # weight, bias
_MAX_ROWS_FUSED = 4  # rows up to which the fused kernel is the faster one


def single_query_attention(
    q: Float[Tensor, "batch kv_heads group d_k"],
    key: Float[Tensor, "batch kv_heads keys d_k"],
    value: Float[Tensor, "batch kv_heads keys d_k"],
    mask: Bool[Tensor, "batch 1 1 keys"] | None = None,
) -> Float[Tensor, "batch d_model"]:
    """Attend with one query of each head: softmax(qKᵀ/√d_k)V.

    The heads of a group share keys and values; mostly a group is one head.
    """
    if len(q) <= _MAX_ROWS_FUSED:
        heads = F.scaled_dot_product_attention(q, key, value, mask)
    else:
        scores = (q * q.shape[-1] ** -0.5) @ key.mT
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        heads = scores.softmax(-1) @ value
    return heads.flatten(1)


class _DecoderLayer:
    """A decoder layer that computes one more position of each row."""

    def __init__(self, layer: DecoderLayer, linear: MakeLinear) -> None:
        own = layer.self_attention
        cross = layer.cross_attention
        projections = own.q_proj, own.kv_proj
        self.qkv_proj = linear(
            torch.cat([projection.weight for projection in projections]),
            torch.cat([projection.bias for projection in projections]),
        )
        self.out_proj = own.out_proj
        self.rotary = getattr(own, "rotary", None)
        self.n_heads = own.n_heads, own.n_kv_heads, own.n_kv_heads
        self.qkv_shape = sum(self.n_heads), 1, own.d_k
        n_groups = own.n_heads // own.n_kv_heads
        self.q_shape = own.n_kv_heads, n_groups, own.d_k
        self.is_grouped = n_groups > 1
        self.cross_q_proj = cross.q_proj
        self.cross_out_proj = cross.out_proj
        self.feed_forward = layer.feed_forward.forward
        residuals: Iterable[Any] = layer.residuals
        self.norms = [
            (residual.norm.forward, isinstance(residual, PreNorm))
            for residual in residuals
        ]

    def self_attention(self, x: Tensor, self_kv: Sequence[Tensor]) -> Tensor:
        """Store the keys and values of x, and attend to all so far."""
        heads = self.qkv_proj(x).view(len(x), *self.qkv_shape)
        q, key, value = heads.split_with_sizes(self.n_heads, dim=1)
        n = self_kv[0].shape[2] - 1
        if self.rotary is not None:
            q = self.rotary(q, n)
            key = self.rotary(key, n)
        if self.is_grouped:
            q = q.view(len(x), *self.q_shape)
        self_kv[0][:, :, n:] = key
        self_kv[1][:, :, n:] = value
        return self.out_proj(single_query_attention(q, self_kv[0], self_kv[1]))

    def cross_attention(
        self, x: Tensor, cross_kv: Sequence[Tensor], mask: Tensor | None
    ) -> Tensor:
        """Attend to the source."""
        q = self.cross_q_proj(x).view(len(x), *self.q_shape)
        return self.cross_out_proj(
            single_query_attention(q, cross_kv[0], cross_kv[1], mask)
        )

    def __call__(
        self,
        x: Float[Tensor, "batch d_model"],
        self_kv: Sequence[Tensor],
        cross_kv: Sequence[Tensor],
        mask: Tensor | None,
    ) -> Float[Tensor, "batch d_model"]:
        """Return what the layer returns for the last position of each row."""
        sublayers: Sequence[Callable[[Tensor], Tensor]] = (
            lambda y: self.self_attention(y, self_kv),
            lambda y: self.cross_attention(y, cross_kv, mask),
            self.feed_forward,
        )
        pairs = zip(self.norms, sublayers, strict=True)
        for (norm, is_pre), sublayer in pairs:
            x = x + sublayer(norm(x)) if is_pre else norm(x + sublayer(x))
        return x


_KNOWN = {
    Transformer,
    DecoderLayer,
    MultiHeadAttention,
    RotaryAttention,
    PostNorm,
    PreNorm,
}


def unsupported_part(model: nn.Module) -> str | None:
    """Return the name of a class that IncrementalDecoder does not know."""
    parts = [model]
    if isinstance(model, Transformer):
        for layer in model.decoder.layers:
            parts += [layer, layer.self_attention, layer.cross_attention]
            parts += layer.residuals
    for part in parts:
        if type(part) not in _KNOWN:
            return type(part).__name__
        if isinstance(part, MultiHeadAttention) and part.q_proj.bias is None:
            return f"{type(part).__name__} without bias"
    return None


def position_table(
    model: Transformer, max_length: int
) -> Float[Tensor, "length d_model"]:
    """Return what is added to the embedding at each position."""
    weight = model.target_embedding.tokens.weight
    table = weight.new_zeros(1, max_length, weight.shape[1])
    positions = model.target_embedding.positions
    return table[0] if positions is None else positions(table)[0]


class IncrementalDecoder:
    """A copy of a model that computes one token a step, for many rows at once.

    Args:
        model: Is copied: what changes in it later is not seen here.
        compute: The device and precision of the copy; by default the model's.
        linear: Makes its linear layers, such as Int8Linear.

    Raises:
        ValueError: The model has a part that is not known here.
    """

    sync_every = 1

    def __init__(
        self,
        model: Transformer,
        compute: ComputeConfig | None = None,
        *,
        linear: MakeLinear = PrepackedLinear,
    ) -> None:
        if part := unsupported_part(model):
            raise ValueError(
                f"IncrementalDecoder does not know {part}: "
                "use CachedDecoder, which takes any Transformer"
            )
        self.model = inference_copy(model, compute)
        replace_parts(self.model, nn.Dropout, lambda _: nn.Identity())
        replace_parts(
            self.model, nn.Linear, lambda x: linear(x.weight, x.bias)
        )
        embeddings = self.model.target_embedding.tokens.weight
        self.device = embeddings.device
        self.output = linear(embeddings, None)
        self.layers = [
            _DecoderLayer(layer, linear) for layer in self.model.decoder.layers
        ]

    def prefill(
        self, source: Source, lengths: Lengths, max_length: int
    ) -> tuple["_State", Logits]:
        """Encode the sources; allocate memory for max_length tokens."""
        check_source(source, lengths, self.model.config.source_vocab_size)
        is_full = bool((lengths == source.shape[1]).all())
        source, lengths = source.to(self.device), lengths.to(self.device)
        memory, mask = self.model.encode(source, lengths)
        layers = self.model.decoder.project_memory(memory)
        cross_kv = torch.stack([x for kv in layers for x in kv])
        positions = position_table(self.model, max_length)
        shape = (*cross_kv.shape[:3], max_length, cross_kv.shape[-1])
        self_kv = cross_kv.new_empty(shape)
        state = _State(
            self, cross_kv, self_kv, None if is_full else mask, positions
        )
        return state, state.step(torch.full_like(lengths, BOS))


@dataclass
class _State:
    """The keys and values of translations that are being generated."""

    decoder: IncrementalDecoder
    cross_kv: Float[Tensor, "two_layers batch kv_heads source d_k"]
    self_kv: Float[Tensor, "two_layers batch kv_heads length d_k"]
    mask: Bool[Tensor, "batch 1 1 source"] | None  # None: all tokens are real
    positions: Float[Tensor, "length d_model"]  # added to the embeddings
    length: int = 0  # tokens so far

    def step(self, token_ids: TokenIds) -> Logits:
        """Append a token to each row; return the logits of the next."""
        n = self.length
        model = self.decoder.model
        embedding = model.target_embedding
        x = embedding.tokens(token_ids) * embedding.scale + self.positions[n]
        self_kv = self.self_kv[..., : n + 1, :].unbind()
        cross_kv = self.cross_kv.unbind()
        for i, layer in enumerate(self.decoder.layers):
            both = slice(2 * i, 2 * i + 2)  # keys and values
            x = layer(x, self_kv[both], cross_kv[both], self.mask)
        self.length = n + 1
        return self.decoder.output(model.decoder.norm(x))

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows; one that stays in its place is not copied."""
        n = len(rows)
        so_far = self.self_kv[..., : self.length, :]
        if n > so_far.shape[1]:  # as when a beam begins
            self.cross_kv = self.cross_kv[:, rows]
            self.self_kv = self.self_kv[:, rows]
            self.mask = None if self.mask is None else self.mask[rows]
        elif into := [slot for slot, row in enumerate(rows) if slot != row]:
            moved = [rows[slot] for slot in into]
            so_far[:, into] = so_far[:, moved]
            self.cross_kv[:, into] = self.cross_kv[:, moved]
            if self.mask is not None:
                self.mask[into] = self.mask[moved]
        self.cross_kv = self.cross_kv[:, :n]
        self.self_kv = self.self_kv[:, :n]
        self.mask = None if self.mask is None else self.mask[:n]
