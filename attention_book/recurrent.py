# Made from docs/chapters/04-recurrent.md (bab186a2a449). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attention_book.scoring import AdditiveAttention, padding_mask


class Memory(NamedTuple):
    """What an encoder has read: a state for each word, a code for all."""

    states: Float[Tensor, "batch source d_model"]  # zeros at the padding
    code: Float[Tensor, "batch d_model"]
    mask: Bool[Tensor, "batch 1 source"]  # True = a real word


def check_lengths(lengths: Tensor, source: Tensor) -> None:
    """Raise ValueError unless each sentence has a length that fits."""
    batch, longest = source.shape
    inside = (lengths >= 1) & (lengths <= longest)
    if lengths.shape != (batch,) or not inside.all():
        raise ValueError(
            f"lengths must be {batch} numbers from 1 to {longest}, "
            f"got {lengths.tolist()}"
        )


class RecurrentEncoder(nn.Module):
    """Read a sentence from both ends with two GRUs.

    Args:
        vocab_size: Size of the vocabulary.
        d_model: Width of embeddings and states; even, half for each end.

    Source: Bahdanau et al. (2015), §3.2; the code of the whole is added.
    """

    def __init__(self, *, vocab_size: int, d_model: int) -> None:
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model must be even, got {d_model}")
        self.embed = nn.Embedding(vocab_size, d_model)
        self.gru = nn.GRU(
            d_model, d_model // 2, batch_first=True, bidirectional=True
        )

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
    ) -> Memory:
        """Read the first lengths[b] words of each sentence b.

        Raises:
            ValueError: Lengths that don't fit the source.
        """
        check_lengths(lengths, source)
        x = self.embed(source)
        packed = pack_padded_sequence(
            x, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        packed_states, last = self.gru(packed)
        states, _ = pad_packed_sequence(
            packed_states, batch_first=True, total_length=source.shape[1]
        )
        mask = padding_mask(lengths.to(x.device), source.shape[1])[:, 0]
        return Memory(states, torch.cat([last[0], last[1]], dim=-1), mask)


class Seq2Seq(nn.Module):
    """A GRU encoder–decoder: each target word sees the same code C.

    Args:
        source_vocab_size: Size of the source vocabulary.
        target_vocab_size: Size of the target vocabulary.
        d_model: Width of embeddings and states; even.

    Source: Cho et al. (2014), §2.2. Departures: it reads from both ends;
        C starts the GRU and joins its output, but not its every step.
    """

    def __init__(
        self, *, source_vocab_size: int, target_vocab_size: int, d_model: int
    ) -> None:
        super().__init__()
        self.config = {
            "source_vocab_size": source_vocab_size,
            "target_vocab_size": target_vocab_size,
            "d_model": d_model,
        }
        self.encoder = RecurrentEncoder(
            vocab_size=source_vocab_size, d_model=d_model
        )
        self.embed = nn.Embedding(target_vocab_size, d_model)
        self.decoder = nn.GRU(d_model, d_model, batch_first=True)
        self.output = nn.Linear(2 * d_model, target_vocab_size)

    def look(
        self, states: Float[Tensor, "batch target d_model"], memory: Memory
    ) -> tuple[Float[Tensor, "batch target d_model"], Tensor | None]:
        """Return a code for each state, and the weights if there are any."""
        return memory.code[:, None].expand_as(states), None

    def write(
        self,
        target: Int[Tensor, "batch target"],
        state: Float[Tensor, "1 batch d_model"],
        memory: Memory,
    ) -> tuple[Float[Tensor, "batch target vocab"], Tensor, Tensor | None]:
        """Read some target words: logits of the next, new state, weights."""
        states, state = self.decoder(self.embed(target), state)
        code, weights = self.look(states, memory)
        return self.output(torch.cat([states, code], dim=-1)), state, weights

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits of the word after each word of the target."""
        memory = self.encoder(source, lengths)
        return self.write(target, memory.code[None], memory)[0]


class AttentiveSeq2Seq(Seq2Seq):
    """A GRU encoder–decoder: target word i sees its own code C_i.

    Args:
        source_vocab_size: Size of the source vocabulary.
        target_vocab_size: Size of the target vocabulary.
        d_model: Width of embeddings, states and scoring network; even.

    Source: Bahdanau et al. (2015), §3.1, eq. 5 and 6, after the GRU as in
        Luong et al. (2015), §3, without the tanh of their eq. 5.
    """

    def __init__(
        self, *, source_vocab_size: int, target_vocab_size: int, d_model: int
    ) -> None:
        super().__init__(
            source_vocab_size=source_vocab_size,
            target_vocab_size=target_vocab_size,
            d_model=d_model,
        )
        self.attention = AdditiveAttention(
            d_query=d_model, d_key=d_model, d_attn=d_model
        )

    def look(
        self, states: Float[Tensor, "batch target d_model"], memory: Memory
    ) -> tuple[Float[Tensor, "batch target d_model"], Tensor | None]:
        """Return a code for each state, and where each looked."""
        source = memory.states
        mask = memory.mask
        code, weights = self.attention(states, source, source, mask)
        return code, weights


@torch.no_grad()
def greedy_decode(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"],
    *,
    start: int,
    end: int,
    max_length: int,
) -> Int[Tensor, "batch target"]:
    """Write the most likely next word, again and again.

    Args:
        model: A model without or with attention.
        source: Words of the source, padded at the end.
        lengths: How many words of each sentence are real.
        start: The word that every translation begins with; not returned.
        end: The word that says stop. What comes after it is end as well.
        max_length: Stop here even if some sentence has not ended.

    Returns:
        The words of the translations.

    Raises:
        ValueError: Lengths that don't fit the source.
    """
    memory = model.encoder(source, lengths)
    state = memory.code[None]
    word = torch.full_like(source[:, :1], start)
    words: list[Tensor] = []
    done = torch.zeros_like(word, dtype=torch.bool)
    while len(words) < max_length and not done.all():
        logits, state, _ = model.write(word, state, memory)
        word = logits.argmax(dim=-1).masked_fill(done, end)
        done = word == end
        words.append(word)
    return torch.cat(words, dim=1) if words else source[:, :0]
