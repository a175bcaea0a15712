# Made from docs/fast/generating-fast.md (c7692cd6bd46). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book._checks import check_size, check_source, check_tensor
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions import RotaryAttention
from attention_book.compute import ComputeConfig, inference_copy
from attention_book.generation.prepacked import (
    PrepackedLinear,
    prepack_linears,
    remove_dropout,
)
from attention_book.generation.state import DecodingState
from attention_book.models.decoder import DecoderLayer
from attention_book.models.encoder import PostNorm, PreNorm
from attention_book.models.transformer import Transformer


__all__ = [
    "MAX_ROWS_FUSED",
    "CachedDecoderLayer",
    "IncrementalDecoder",
    "single_query_attention",
    "unsupported_part",
]


MAX_ROWS_FUSED = 4  # rows up to which the fused kernel is the faster one


def single_query_attention(
    q: Float[Tensor, "batch kv_heads group d_k"],
    key: Float[Tensor, "batch kv_heads keys d_k"],
    value: Float[Tensor, "batch kv_heads keys d_k"],
    mask: Bool[Tensor, "batch 1 1 keys"] | None = None,
) -> Float[Tensor, "batch d_model"]:
    """Attend with one query of each head: softmax(qKᵀ/√d_k)V.

    The heads of a group share keys and values; mostly a group is one head.
    """
    if len(q) <= MAX_ROWS_FUSED:
        heads = F.scaled_dot_product_attention(q, key, value, mask)
    else:
        scores = (q * q.shape[-1] ** -0.5) @ key.mT
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        heads = scores.softmax(-1) @ value
    return heads.reshape(len(q), -1)


class CachedDecoderLayer:
    """A decoder layer that computes one more position of each row."""

    def __init__(self, layer: DecoderLayer) -> None:
        own = layer.self_attention
        cross = layer.cross_attention
        projections = own.q_proj, own.kv_proj
        self.qkv_proj = PrepackedLinear(
            torch.cat([linear.weight for linear in projections]),
            torch.cat([linear.bias for linear in projections]),
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


def unsupported_part(model: nn.Module) -> str | None:
    """Return the name of a class that IncrementalDecoder does not know."""
    if type(model) is not Transformer:
        return type(model).__name__
    for layer in model.decoder.layers:
        parts: dict[nn.Module, tuple[type[nn.Module], ...]] = {
            layer: (DecoderLayer,),
            layer.self_attention: (MultiHeadAttention, RotaryAttention),
            layer.cross_attention: (MultiHeadAttention,),
        }
        for residual in layer.residuals:
            parts[residual] = (PostNorm, PreNorm)
        for part, known in parts.items():
            if type(part) not in known:
                return type(part).__name__
            if isinstance(part, MultiHeadAttention) and (
                part.q_proj.bias is None
            ):
                return f"{type(part).__name__} without bias"
    return None


class IncrementalDecoder:
    """A copy of a model that computes one token a step, for many rows at once.

    Args:
        model: Is copied: what changes in it later is not seen here.
        compute: The device and precision of the copy; by default the model's.

    Raises:
        ValueError: The model has a part that is not known here.
    """

    def __init__(
        self, model: Transformer, compute: ComputeConfig | None = None
    ) -> None:
        if part := unsupported_part(model):
            advice = ": use generate or beam_search of attention_book.decoding"
            known = type(model) is Transformer
            raise ValueError(
                f"fast decoding does not know {part}{advice if known else ''}"
            )
        self.model = inference_copy(model, compute)
        self.output = PrepackedLinear(
            self.model.target_embedding.tokens.weight
        )
        prepack_linears(self.model)
        remove_dropout(self.model)
        self.layers = [
            CachedDecoderLayer(layer) for layer in self.model.decoder.layers
        ]

    @torch.inference_mode()
    def prefill(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
        max_length: int,
    ) -> DecodingState:
        """Encode the sources; allocate memory for max_length tokens."""
        check_size("max_length", max_length)
        check_source(source, lengths, self.model.config.source_vocab_size)
        is_full = bool((lengths == source.shape[1]).all())
        device = self.output.weight.device
        memory, mask = self.model.encode(source.to(device), lengths.to(device))
        layers = self.model.decoder.project_memory(memory)
        cross_kv = torch.stack([x for kv in layers for x in kv])
        cross_kv = cross_kv.view(len(layers), 2, *cross_kv.shape[1:])
        encodings = memory.new_zeros(1, max_length, memory.shape[-1])
        positions = self.model.target_embedding.positions
        if positions is not None:
            encodings = positions(encodings)
        return DecodingState(cross_kv, None if is_full else mask, encodings)

    @torch.inference_mode()
    def decode_step(
        self, state: DecodingState, token_ids: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch vocab"]:
        """Append a token to each row; return the logits of the next."""
        n = state.length
        embedding = self.model.target_embedding
        check_tensor("token_ids", token_ids)
        if token_ids.shape != (len(state),):
            raise ValueError(
                f"token_ids must be one for each of {len(state)} rows, got "
                f"shape {tuple(token_ids.shape)}"
            )
        if n == state.position_encodings.shape[1]:
            raise ValueError(f"max_length is {n}: no more tokens fit")
        x = embedding.tokens(token_ids) * embedding.scale
        x = x + state.position_encodings[:, n]
        self_kv = state.self_kv[..., : n + 1, :].flatten(0, 1).unbind()
        cross_kv = state.cross_kv.flatten(0, 1).unbind()
        for i, layer in enumerate(self.layers):
            both = slice(2 * i, 2 * i + 2)  # keys and values
            x = layer(x, self_kv[both], cross_kv[both], state.source_mask)
        state.length = n + 1
        return self.output(self.model.decoder.norm(x))
