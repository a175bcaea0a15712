# Made from docs/chapters/20-gpu.md (0f2b653329fe). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import NamedTuple

from attention_book.transformer import TransformerConfig


class Cost(NamedTuple):
    """What an operation costs, whatever it runs on."""

    flops: float  # additions and multiplications, each counted as one
    n_bytes: float  # read and written

    @property
    def intensity(self) -> float:
        """How many operations there are for each byte."""
        return self.flops / self.n_bytes


class Roofline(NamedTuple):
    """What a machine can do at best.

    Source: Williams et al. (2009), figure 1.
    """

    flops: float  # a second
    n_bytes: float  # a second

    @property
    def ridge(self) -> float:
        """The intensity from which on compute_context is the limit."""
        return self.flops / self.n_bytes

    def seconds(self, work: Cost) -> float:
        """How long the work takes at least."""
        return max(work.flops / self.flops, work.n_bytes / self.n_bytes)


def linear_cost(rows: int, n_in: int, n_out: int, size: int = 4) -> Cost:
    """Cost of a linear layer for that many rows; size is bytes a number."""
    numbers = rows * n_in + n_in * n_out + rows * n_out
    return Cost(2 * rows * n_in * n_out, size * numbers)


def attention_cost(
    heads: int, words: int, d_k: int, size: int = 4, *, fused: bool = True
) -> Cost:
    """Cost of attention of a sentence to itself, softmax aside.

    Fused, each number is carried once, the least possible; without fusion
    the scores are written and read, and the weights as well.
    """
    numbers = heads * words * (4 * d_k + (0 if fused else 4 * words))
    return Cost(4 * heads * words**2 * d_k, size * numbers)


def transformer_flops(
    config: TransformerConfig, source_length: int, target_length: int
) -> int:
    """Operations of a forward pass for one pair of sentences.

    Matrix products alone; training takes three times as many, since each
    product has two in the backward pass. Causal attention counts in full.
    """
    d = config.d_model
    d_ff = config.d_ff
    think = (3 if config.feed_forward == "swiglu" else 2) * d * d_ff
    read = source_length * (4 * d * d + think) + 2 * source_length**2 * d
    look = target_length * 2 * d * d + source_length * 2 * d * d
    look += 2 * target_length * source_length * d
    written = (
        target_length * (4 * d * d + think) + 2 * target_length**2 * d + look
    )
    logits = target_length * d * config.target_vocab_size
    return 2 * (config.n_layers * (read + written) + logits)
