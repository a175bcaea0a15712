# Made from docs/attention/recurrent.md (c94685770db9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Recurrent models. Explained in "Encoder–decoder with attention"."""

from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attention_book._checks import check_size, check_source
from attention_book.attention.functional import AdditiveAttention, padding_mask


__all__ = ["AttentiveSeq2Seq", "EncoderOutput", "RecurrentEncoder", "Seq2Seq"]


class EncoderOutput(NamedTuple):
    """What an encoder returns: a state for each token, one vector for all."""

    states: Float[Tensor, "batch source d_model"]  # zeros at the padding
    context: Float[Tensor, "batch d_model"]
    mask: Bool[Tensor, "batch 1 source"]  # True = a real token


class RecurrentEncoder(nn.Module):
    """A bidirectional GRU.

    Args:
        vocab_size: Size of the vocabulary.
        d_model: Width of embeddings and states; even, half each direction.

    Source: Bahdanau et al. (2015), §3.2; the context vector is added.
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        check_size("vocab_size", vocab_size)
        check_size("d_model", d_model, even=True)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.gru = nn.GRU(
            d_model, d_model // 2, batch_first=True, bidirectional=True
        )

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
    ) -> EncoderOutput:
        """Encode the first lengths[b] tokens of each sentence b."""
        check_source(source, lengths, self.embedding.num_embeddings)
        x = self.embedding(source)  # (batch, source, d_model)
        packed = pack_padded_sequence(
            x, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        packed_states, last = self.gru(packed)
        states, _ = pad_packed_sequence(
            packed_states, batch_first=True, total_length=source.shape[1]
        )
        context = torch.cat([last[0], last[1]], dim=-1)  # (batch, d_model)
        mask = padding_mask(lengths.to(x.device), source.shape[1])[:, 0]
        return EncoderOutput(states, context, mask)


class Seq2Seq(nn.Module):
    """A GRU encoder–decoder: one context vector C for all target tokens.

    Args:
        source_vocab_size: Size of the source vocabulary.
        target_vocab_size: Size of the target vocabulary.
        d_model: Width of embeddings and states; even.

    Source: Cho et al. (2014), §2.2. Departures: the encoder is
        bidirectional; C stands beside the token in the GRU's input, outside
        the reset gate; no maxout at the output.
    """

    n_read: ClassVar[int] = 2  # vectors at each step: the token's, and C

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        d_model: int = 64,
    ) -> None:
        super().__init__()
        self.config = {
            "source_vocab_size": source_vocab_size,
            "target_vocab_size": target_vocab_size,
            "d_model": d_model,
        }
        self.encoder = RecurrentEncoder(source_vocab_size, d_model)
        check_size("target_vocab_size", target_vocab_size)
        self.embedding = nn.Embedding(target_vocab_size, d_model)
        self.decoder = nn.GRU(self.n_read * d_model, d_model, batch_first=True)
        self.output = nn.Linear(2 * d_model, target_vocab_size)

    def decode_step(
        self,
        target: Int[Tensor, "batch target"],
        state: Float[Tensor, "1 batch d_model"],
        encoded: EncoderOutput,
    ) -> tuple[Float[Tensor, "batch target vocab"], Tensor, Tensor | None]:
        """Read some target tokens.

        Returns:
            The logits of the token after each, the new state, and the
            attention weights if there are any.
        """
        x = self.embedding(target)  # (batch, target, d_model)
        context = encoded.context[:, None].expand_as(x)
        states, state = self.decoder(torch.cat([x, context], dim=-1), state)
        logits = self.output(torch.cat([states, context], dim=-1))
        return logits, state, None

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits after each token of the target."""
        encoded = self.encoder(source, lengths)
        logits, _, _ = self.decode_step(target, encoded.context[None], encoded)
        return logits


class AttentiveSeq2Seq(Seq2Seq):
    """A GRU encoder–decoder: a context vector C_i for each target token.

    The arguments are those of Seq2Seq.

    Source: Bahdanau et al. (2015), §3.1, eq. 5 and 6, after the GRU as in
        Luong et al. (2015), §3, without the tanh of their eq. 5.
    """

    n_read = 1  # the token's vector alone

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        d_model: int = 64,
    ) -> None:
        super().__init__(source_vocab_size, target_vocab_size, d_model)
        self.attention = AdditiveAttention(
            d_query=d_model, d_key=d_model, d_attn=d_model
        )

    def decode_step(
        self,
        target: Int[Tensor, "batch target"],
        state: Float[Tensor, "1 batch d_model"],
        encoded: EncoderOutput,
    ) -> tuple[Float[Tensor, "batch target vocab"], Tensor, Tensor | None]:
        """Read some target tokens, and look back at the source."""
        states, state = self.decoder(self.embedding(target), state)
        keys = encoded.states  # and values
        context, weights = self.attention(states, keys, keys, encoded.mask)
        logits = self.output(torch.cat([states, context], dim=-1))
        return logits, state, weights
