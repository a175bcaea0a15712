# Made from docs/chapters/05-multi-head.md (8cd2758131c3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import copy
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from attention_book.scoring import (
    check_mask,
    check_width,
    fused_attention,
    padding_mask,
)

Place = int | Int[Tensor, ""]  # of a word in its sentence, from 0


def split_heads(
    x: Float[Tensor, "*batch words width"], n_heads: int
) -> Float[Tensor, "*batch {n_heads} words d_k"]:
    """Cut each word's vector into heads, and move these before the words.

    Raises:
        ValueError: x has no axis of words, or its width does not divide.
    """
    if x.ndim < 2 or n_heads < 1 or x.shape[-1] % n_heads:
        raise ValueError(
            f"x must be (..., words, a multiple of n_heads = {n_heads}), "
            f"got {tuple(x.shape)}"
        )
    d_k = x.shape[-1] // n_heads
    return x.view(*x.shape[:-1], n_heads, d_k).transpose(-3, -2)


def join_heads(
    x: Float[Tensor, "*batch heads words d_k"],
) -> Float[Tensor, "*batch words width"]:
    """Undo split_heads."""
    return x.transpose(-3, -2).flatten(-2)


def check_heads(d_model: int, n_heads: int, n_kv_heads: int) -> None:
    """Raise ValueError unless the heads divide the width, and one another."""
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(
            f"n_heads must divide d_model = {d_model}, got {n_heads}"
        )
    if n_kv_heads < 1 or n_heads % n_kv_heads:
        raise ValueError(
            f"n_kv_heads must divide n_heads = {n_heads}, got {n_kv_heads}"
        )


def check_cache(
    cache: "KeyValueCache | None",
    memory: object,
    mask: "Tensor | Packed | None",
    x: Tensor,
    n_heads: int,
) -> Place:
    """Return how much the cache holds; ValueError, before it takes up more.

    It is for self-attention, and the mask has to fit what it will hold.
    """
    if cache is None:
        return 0
    if memory is not None:
        raise ValueError("cache is for self-attention, got memory as well")
    if isinstance(mask, Packed):
        raise ValueError("cache is for padded sentences, got packed ones")
    if mask is not None:
        *batch, words, _ = x.shape
        check_mask(mask, (*batch, n_heads, words, cache.n_keys(words)))
    return cache.start()


class KeyValue(NamedTuple):
    """Keys and values of all heads, ready to be attended to."""

    key: Tensor  # (*batch, n_kv_heads, keys, d_k)
    value: Tensor  # (*batch, n_kv_heads, keys, d_k)


class HeadProjections(nn.Module):
    """The matrices of all heads; takes what MultiHeadAttention takes."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        check_heads(d_model, n_heads, n_kv_heads)
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {dropout}")
        self.d_model, self.n_heads = d_model, n_heads
        self.n_kv_heads, self.d_k = n_kv_heads, d_model // n_heads
        d_kv = n_kv_heads * self.d_k
        self.project_query = nn.Linear(d_model, d_model, bias=bias)
        self.project_key_value = nn.Linear(d_model, 2 * d_kv, bias=bias)
        self.project_out = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = dropout

    def queries(self, x: Tensor, start: Place = 0) -> Tensor:
        """Queries of all heads; start is the place of the first row."""
        check_width("x", x, self.d_model)
        return split_heads(self.project_query(x), self.n_heads)

    def keys_and_values(self, memory: Tensor, start: Place = 0) -> KeyValue:
        """Keys and values of all heads; start as in queries."""
        check_width("memory", memory, self.d_model)
        both = self.project_key_value(memory).chunk(2, dim=-1)
        return KeyValue(*(split_heads(x, self.n_kv_heads) for x in both))


class MultiHeadAttention(HeadProjections):
    """Several attentions side by side: Concat(head_1, …, head_h) W^O.

    Args:
        d_model: Width of inputs and output.
        n_heads: Number of heads; divides d_model.
        n_kv_heads: Heads of keys and values; divides n_heads, its default.
        bias: Whether the projections add a bias.
        dropout: Share of the weights dropped in training; 0 is fastest.

    Source: Vaswani et al. (2017), §3.2.2; Ainslie et al. (2023), §2.2.
    """

    def attend(
        self, q: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head; the values may have any width."""
        rate = self.dropout if self.training else 0.0
        return fused_attention(q, *kv, mask, is_causal=is_causal, dropout=rate)

    def forward(
        self,
        x: Float[Tensor, "*batch queries d_model"],
        memory: Float[Tensor, "*batch keys d_model"] | KeyValue | None = None,
        mask: "Bool[Tensor, '...'] | Packed | None" = None,
        *,
        is_causal: bool = False,
        cache: "KeyValueCache | None" = None,
    ) -> Float[Tensor, "*batch queries d_model"]:
        """Let each row of x look at memory, or at x and what cache holds.

        mask (True = may attend) broadcasts to (*batch, heads, queries, keys);
        is_causal hides the future too. ValueError if anything does not fit.
        """
        start = check_cache(cache, memory, mask, x, self.n_heads)
        query = self.queries(x, start)
        if not isinstance(memory, KeyValue):
            source = x if memory is None else memory
            memory = self.keys_and_values(source, start)
        kv = memory if cache is None else cache.append(*memory)
        if isinstance(mask, Packed):
            heads = attend_packed(self, query, kv, mask, is_causal)
        else:
            heads = self.attend(query, kv, mask, is_causal)
        return cast(Tensor, self.project_out(join_heads(heads)))


def attention_weights(
    attention: MultiHeadAttention,
    x: Float[Tensor, "*batch queries d_model"],
    memory: Float[Tensor, "*batch keys d_model"] | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    *,
    is_causal: bool = False,
) -> Float[Tensor, "*batch heads queries keys"]:
    """Show how much each query of each head looks at each key.

    Args:
        attention: The layer whose weights are wanted.
        x: What asks; memory, mask and is_causal as the layer takes them.

    Returns:
        Weights whose rows sum to 1, or to 0 where everything is hidden; in
        training mode, what dropout leaves of them.
    """
    key, _ = attention.keys_and_values(x if memory is None else memory)
    identity = torch.eye(key.shape[-2], dtype=key.dtype, device=key.device)
    kv = KeyValue(key, identity.expand(*key.shape[:-1], -1))
    return attention.attend(attention.queries(x), kv, mask, is_causal)


class KeyValueCache:
    """Room, taken once, for the keys and values of a sequence that grows.

    It holds capacity positions, else shaped as the first keys. Use it under
    torch.no_grad(): backward() fails once more is appended.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity, self.length = capacity, 0
        self.room: KeyValue | None = None

    def start(self) -> Place:
        """Where the next position goes."""
        return self.length

    def n_keys(self, more: int) -> int:
        """How many keys there are to see once more are stored."""
        return self.length + more

    def append(self, key: Tensor, value: Tensor) -> KeyValue:
        """Store some positions and return all so far, without a copy.

        ValueError, and nothing stored, if they do not fit.
        """
        start, end = self.length, self.length + key.shape[-2]
        if end > self.capacity:
            raise ValueError(
                f"the cache has room for {self.capacity} positions, "
                f"{start} are taken, got {end - start} more"
            )
        held = key if self.room is None else self.room.key
        shape = (*held.shape[:-2], end - start, held.shape[-1])
        if key.shape != shape or value.shape != shape:
            raise ValueError(
                f"key and value must both be {shape}, "
                f"got {tuple(key.shape)} and {tuple(value.shape)}"
            )
        if self.room is None:
            room = (*shape[:-2], self.capacity, shape[-1])
            self.room = KeyValue(key.new_empty(room), value.new_empty(room))
        self.room.key[..., start:end, :] = key
        self.room.value[..., start:end, :] = value
        self.length = end
        return KeyValue(*(x[..., :end, :] for x in self.room))


class Packing:
    """Where the words of a padded batch stand, so that padding can go.

    Args:
        lengths: How many words of each sentence are real; they come first.
        n_words: Length of the padded sentences.
    """

    def __init__(self, lengths: Int[Tensor, " batch"], n_words: int) -> None:
        self.mask = padding_mask(lengths, n_words)
        self.places = self.mask.flatten().nonzero()[:, 0]

    def to(self, device: torch.device) -> "Packing":
        """Return the same for words that lie on this device."""
        there = copy.copy(self)
        there.mask, there.places = self.mask.to(device), self.places.to(device)
        return there

    def pack(
        self, table: Shaped[Tensor, "batch words ..."]
    ) -> Shaped[Tensor, "tokens ..."]:
        """Put the real words of all sentences into one row."""
        return table.flatten(0, 1).index_select(0, self.places)

    def unpack(
        self, row: Shaped[Tensor, "tokens ..."]
    ) -> Shaped[Tensor, "batch words ..."]:
        """Lay the row out again, with zeros as padding."""
        sentences, _, _, n_words = self.mask.shape
        table = row.new_zeros(sentences * n_words, *row.shape[1:])
        table = table.index_copy(0, self.places, row)
        return table.view(sentences, n_words, *row.shape[1:])


class Packed(NamedTuple):
    """What stands for the mask where words are packed."""

    queries: Packing
    keys: Packing


Mask = Bool[Tensor, "..."] | Packed | None


def attend_packed(
    attention: MultiHeadAttention,
    q: Float[Tensor, "heads queries d_k"],
    kv: KeyValue,
    packed: Packed,
    is_causal: bool,
) -> Float[Tensor, "heads queries d_k"]:
    """Let each sentence attend for itself, laid out for the moment."""
    # Padding comes last: causality alone hides it from its own sentence.
    alone = is_causal and packed.queries is packed.keys
    hidden = None if alone else packed.keys.mask
    tables = [packed.keys.unpack(x.transpose(0, 1)) for x in kv]
    kv = KeyValue(*(table.transpose(1, 2) for table in tables))
    q = packed.queries.unpack(q.transpose(0, 1)).transpose(1, 2)
    heads = attention.attend(q, kv, hidden, is_causal)
    return packed.queries.pack(heads.transpose(1, 2)).transpose(0, 1)
