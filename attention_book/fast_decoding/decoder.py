# Made from docs/chapters/36-fast-decoding.md (c0b58d538f08). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attention_book.decoder import DecoderLayer
from attention_book.encoder import PostNorm, PreNorm
from attention_book.fast_decoding.prepacked import (
    PrepackedLinear,
    prepack_linears,
)
from attention_book.fast_decoding.state import (
    DecodingState,
    KeyValues,
    Lengths,
    Table,
    check_lengths,
)
from attention_book.runtime import ComputeConfig, inference_copy
from attention_book.transformer import Transformer


MAX_ROWS_FUSED = 4  # rows up to which the fused kernel is the faster one


def look(
    q: Float[Tensor, "rows heads 1 d_k"],
    key: Float[Tensor, "rows heads keys d_k"],
    value: Float[Tensor, "rows heads keys d_k"],
    mask: Bool[Tensor, "rows 1 1 keys"] | None = None,
) -> Float[Tensor, "rows d_model"]:
    """Attend with a single query of each head: softmax(qKᵀ/√d_k)V."""
    if len(q) <= MAX_ROWS_FUSED:
        heads = F.scaled_dot_product_attention(q, key, value, mask)
    else:
        scores = (q * q.shape[-1] ** -0.5) @ key.mT
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        heads = scores.softmax(-1) @ value
    return heads.reshape(len(q), -1)


class CachedDecoderLayer:
    """A decoder layer, cut down to one more word a row."""

    def __init__(self, layer: DecoderLayer) -> None:
        own = layer.self_attention
        cross = layer.cross_attention
        into = own.q_proj, own.kv_proj
        weight = torch.cat([linear.weight for linear in into])
        self.take_in = PrepackedLinear(
            weight, torch.cat([x.bias for x in into])
        )
        self.turn = getattr(own, "rotary", None)
        self.shape = (own.n_heads, 1, own.d_k)
        self.give = own.out_proj
        self.ask = cross.q_proj
        self.tell = cross.out_proj
        self.think = layer.feed_forward.forward
        arounds = cast(Sequence[PostNorm], layer.residuals)
        self.norms = [around.norm.forward for around in arounds]
        self.pre = isinstance(arounds[0], PreNorm)

    def self_attention(self, x: Tensor, words: KeyValues) -> Tensor:
        """Take up the last word, and look at all words so far."""
        new = self.take_in(x).view(len(x), 3, *self.shape)
        q, key, value = new.unbind(1)
        n = words[0].shape[2] - 1
        if self.turn is not None:
            q = self.turn(q, n)
            key = self.turn(key, n)
        words[0][:, :, n:] = key
        words[1][:, :, n:] = value
        return self.give(look(q, words[0], words[1]))

    def cross_attention(
        self, x: Tensor, source: KeyValues, mask: Tensor | None
    ) -> Tensor:
        """Look at the source."""
        q = self.ask(x).view(len(x), *self.shape)
        return self.tell(look(q, source[0], source[1], mask))

    def __call__(
        self, x: Tensor, words: KeyValues, source: KeyValues, mask: Any
    ) -> Float[Tensor, "rows d_model"]:
        """Do what the layer does, for the last word of each row alone."""
        parts: Sequence[Callable[[Tensor], Tensor]] = (
            lambda y: self.self_attention(y, words),
            lambda y: self.cross_attention(y, source, mask),
            self.think,
        )
        for norm, part in zip(self.norms, parts, strict=True):
            x = x + part(norm(x)) if self.pre else norm(x + part(x))
        return x


class IncrementalDecoder:
    """A copy of a model that writes one word a step, for many rows at once.

    Args:
        model: Is copied: what changes in it later is not seen here.
        compute: Says to where and how exact; by default as it is.
    """

    def __init__(
        self, model: Transformer, compute: ComputeConfig | None = None
    ):
        self.model = inference_copy(model, compute)
        self.output = PrepackedLinear(
            self.model.target_embedding.tokens.weight
        )
        prepack_linears(self.model)
        layers = cast(Iterable[DecoderLayer], self.model.decoder.layers)
        self.layers = [CachedDecoderLayer(layer) for layer in layers]

    @torch.inference_mode()
    def start(
        self, source: Table, lengths: Lengths, capacity: int
    ) -> DecodingState:
        """Read the sources, of 1 word or more; make room to write."""
        target = self.model.target_embedding
        device = self.output.weight.device
        full = check_lengths(lengths, source.shape[1])
        memory, mask = self.model.encode(source.to(device), lengths.to(device))
        kept = [
            x for kv in self.model.decoder.project_memory(memory) for x in kv
        ]
        sources = torch.stack(kept)
        sources = sources.view(-1, 2, *sources.shape[1:])
        places = memory.new_zeros(1, capacity, memory.shape[-1])
        if target.positions is not None:
            places = target.positions(places)
        return DecodingState(sources, None if full else mask, places)

    @torch.inference_mode()
    def step(self, writing: DecodingState, words: Lengths) -> Tensor:
        """Take up the last word of each row; return scores of the next."""
        n = writing.length
        target = self.model.target_embedding
        if n == writing.places.shape[1]:
            raise ValueError(f"there is room for {n} words, no more")
        x = target.tokens(words) * target.scale + writing.places[:, n]
        so_far = writing.words[..., : n + 1, :].flatten(0, 1).unbind()
        sources = writing.sources.flatten(0, 1).unbind()
        for i, layer in enumerate(self.layers):
            both = slice(2 * i, 2 * i + 2)  # keys and values
            x = layer(x, so_far[both], sources[both], writing.mask)
        writing.length = n + 1
        return self.output(self.model.decoder.norm(x))
