# Made from docs/source/fast-decoding.md (b15439b54ad9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""What generation asks of a model. Explained in "Fast decoders"."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_book._checks import check_source
from attention_book.attention.caches import KeyValue, KeyValueCache
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS


__all__ = [
    "CachedDecoder",
    "CachedState",
    "DecodingState",
    "Lengths",
    "Logits",
    "Source",
    "StepDecoder",
    "TokenIds",
]


Source = Int[Tensor, "batch source"]  # padded at the end
Lengths = Int[Tensor, " batch"]
TokenIds = Int[Tensor, " rows"]
Logits = Float[Tensor, "rows vocab"]


@runtime_checkable
class DecodingState(Protocol):
    """Sequences that are being generated, a row each."""

    def step(self, token_ids: TokenIds) -> Logits:
        """Append a token to each row; return the logits of the next.

        The tokens come on the device on which the logits were.
        """

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in this order; one may come twice."""


@runtime_checkable
class StepDecoder(Protocol):
    """What generates, a token of each row at a step.

    Attributes:
        sync_every: After how many steps the tokens are read, for which a
            GPU has to be waited for.
    """

    sync_every: int

    def prefill(
        self, source: Source, lengths: Lengths, max_length: int
    ) -> tuple[DecodingState, Logits]:
        """Read the sources; return a state and the logits of first tokens.

        No more than max_length tokens will be generated.
        """


@dataclass
class CachedState:
    """Rows of a model that has a key–value cache in each layer.

    Attributes:
        forward: Returns the logits after each token, given the token ids of
            all rows and this state.
        caches: Of the tokens so far.
        cross_kv: Keys and values of the sources, if there are any.
        mask: Of the sources, (batch, 1, 1, source).
    """

    forward: Callable[[Tensor, "CachedState"], Tensor]
    caches: Sequence[KeyValueCache]
    cross_kv: Sequence[KeyValue] = ()
    mask: Any = None

    def step(self, token_ids: TokenIds) -> Logits:
        """Append a token to each row; return the logits of the next."""
        return self.forward(token_ids[:, None], self)[:, -1]

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in this order; one may come twice."""
        index = list(rows)
        for cache in self.caches:
            if cache.buffer is not None:
                cache.buffer = KeyValue(*(x[index] for x in cache.buffer))
        self.cross_kv = [
            KeyValue(*(x[index] for x in kv)) for kv in self.cross_kv
        ]
        if self.mask is not None:
            self.mask = self.mask[index]


class CachedDecoder:
    """Generates with any Transformer, used as it is, in eval mode.

    Args:
        model: The Transformer.
        make_cache: Makes the cache of a layer, such as Int8Cache.
    """

    sync_every = 1

    def __init__(
        self,
        model: Transformer,
        make_cache: Callable[[int], KeyValueCache] = KeyValueCache,
    ) -> None:
        self.model = model
        self.make_cache = make_cache

    def prefill(
        self, source: Source, lengths: Lengths, max_length: int
    ) -> tuple[CachedState, Logits]:
        """Encode the sources, and read `<bos>`."""
        check_source(source, lengths, self.model.config.source_vocab_size)
        device = next(self.model.parameters()).device
        source, lengths = source.to(device), lengths.to(device)
        memory, mask = self.model.encode(source, lengths)
        cross_kv = self.model.decoder.project_memory(memory)
        caches = [self.make_cache(max_length) for _ in cross_kv]
        state = CachedState(self._forward, caches, cross_kv, mask)
        return state, state.step(torch.full_like(lengths, BOS))

    def _forward(self, token_ids: Tensor, state: CachedState) -> Tensor:
        """Return the logits after each of the newest tokens."""
        return self.model.decode(
            token_ids, state.cross_kv, state.mask, state.caches
        )
