# Made from docs/transformer/padding.md (2c2b061abba1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Batches without padding. Explained in "Attention without padding"."""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from attention_book.attention.caches import KeyValue
from attention_book.attention.functional import padding_mask


__all__ = ["Mask", "PackedLayout", "PaddingLayout", "attend_packed"]


class PaddingLayout:
    """Where the tokens of a padded batch stand, so that padding can go.

    Args:
        lengths: How many tokens of each sequence are real; they come first.
        max_length: Length of the padded sequences.

    Raises:
        ValueError: A length is not from 0 to max_length. Read on the CPU
            only, because a GPU would have to be waited for.
    """

    def __init__(
        self, lengths: Int[Tensor, " batch"], max_length: int
    ) -> None:
        self.mask = padding_mask(lengths, max_length)
        self.indices = self.mask.flatten().nonzero()[:, 0]

    def unpad(
        self, padded: Shaped[Tensor, "batch length ..."]
    ) -> Shaped[Tensor, "tokens ..."]:
        """Put the real tokens of all sequences into one row.

        Raises:
            ValueError: Another batch or length than that of the layout.
        """
        batch, _, _, length = self.mask.shape
        if padded.shape[:2] != (batch, length):
            raise ValueError(
                f"padded must be ({batch}, {length}, ...), "
                f"got {tuple(padded.shape)}"
            )
        return padded.flatten(0, 1).index_select(0, self.indices)

    def pad(
        self, packed: Shaped[Tensor, "tokens ..."]
    ) -> Shaped[Tensor, "batch length ..."]:
        """Undo unpad, with zeros as padding.

        Raises:
            ValueError: Another number of tokens than that of the layout.
        """
        tokens = len(self.indices)
        if packed.shape[:1] != (tokens,):
            raise ValueError(
                f"packed must be ({tokens}, ...), got {tuple(packed.shape)}"
            )
        batch, _, _, length = self.mask.shape
        padded = packed.new_zeros(batch * length, *packed.shape[1:])
        padded[self.indices] = packed
        return padded.view(batch, length, *packed.shape[1:])


_Attend = Callable[[Tensor, KeyValue, Tensor | None, bool], Tensor]


class PackedLayout(NamedTuple):
    """The layouts of packed queries and of packed keys."""

    queries: PaddingLayout
    keys: PaddingLayout


Mask = Bool[Tensor, "..."] | PackedLayout | None


def attend_packed(
    attend: _Attend,
    query: Tensor,
    kv: KeyValue,
    packed: PackedLayout,
    is_causal: bool,
) -> Tensor:
    """Pad queries, keys and values, attend, and unpad what comes out.

    Args:
        attend: Takes padded heads of queries, of keys and values, a mask
            and is_causal, as MultiHeadAttention.attend does.
        query: Of packed heads, (heads, tokens, d_k), as keys and values.
        kv: Keys and values.
        packed: The layouts of both.
        is_causal: Whether the future is hidden.
    """
    # Padding comes last: causality alone hides it from its own sequence.
    causality_suffices = is_causal and packed.queries is packed.keys
    mask = None if causality_suffices else packed.keys.mask
    padded = [packed.keys.pad(x.transpose(0, 1)) for x in kv]
    kv = KeyValue(*(x.transpose(1, 2) for x in padded))
    query = packed.queries.pad(query.transpose(0, 1)).transpose(1, 2)
    heads = attend(query, kv, mask, is_causal)
    return packed.queries.unpad(heads.transpose(1, 2)).transpose(0, 1)
