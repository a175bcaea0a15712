# Made from docs/fast/machine.md (a50a8b3ef5de). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""What an operation costs, and what a device can do at best.

Explained in the chapter "What the machine can do".
"""

from typing import NamedTuple

from attention_book.models.config import TransformerConfig


__all__ = [
    "Cost",
    "Roofline",
    "attention_cost",
    "linear_cost",
    "transformer_flops",
]


class Cost(NamedTuple):
    """What an operation costs, whatever it runs on."""

    flops: float  # additions and multiplications, each counted as one
    n_bytes: float  # read and written

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: operations for each byte."""
        return self.flops / self.n_bytes


class Roofline(NamedTuple):
    """What a device can do at best.

    Source: Williams et al. (2009), figure 1.
    """

    flops: float  # a second
    n_bytes: float  # a second

    @property
    def ridge(self) -> float:
        """The intensity of the ridge point: above it, arithmetic decides."""
        return self.flops / self.n_bytes

    def min_time(self, cost: Cost) -> float:
        """Seconds that an operation takes at least: max(F / P, M / B)."""
        return max(cost.flops / self.flops, cost.n_bytes / self.n_bytes)


def linear_cost(
    n_rows: int, in_features: int, out_features: int, element_size: int = 4
) -> Cost:
    """Cost of a linear layer; element_size is bytes a number."""
    n_weights = in_features * out_features
    n_numbers = n_rows * (in_features + out_features) + n_weights
    return Cost(2 * n_rows * n_weights, element_size * n_numbers)


def attention_cost(
    n_heads: int,
    n_tokens: int,
    d_k: int,
    element_size: int = 4,
    *,
    fused: bool = True,
) -> Cost:
    """Cost of self-attention of a sequence, softmax aside.

    Fused, each number is carried once, the least possible; without fusion
    the scores are written and read, and the weights as well.
    """
    n_scores = 0 if fused else 4 * n_tokens**2
    n_numbers = n_heads * (4 * n_tokens * d_k + n_scores)
    return Cost(4 * n_heads * n_tokens**2 * d_k, element_size * n_numbers)


def transformer_flops(
    config: TransformerConfig, source_length: int, target_length: int
) -> int:
    """Operations of a forward pass for one pair of sentences.

    Matrix products alone; training takes three times as many, since each
    product has two in the backward pass. Causal attention counts in full.
    """
    d = config.d_model
    n_matrices = 3 if config.feed_forward == "swiglu" else 2
    feed_forward = n_matrices * d * config.d_ff
    query_and_out = 2 * d * d
    key_and_value = 2 * d * d
    if config.n_kv_heads:
        key_and_value = key_and_value * config.n_kv_heads // config.n_heads
    a_token = query_and_out + key_and_value + feed_forward
    encoder_layer = source_length * (a_token + 2 * source_length * d)
    self_attention = target_length * (a_token + 2 * target_length * d)
    cross_attention = target_length * (query_and_out + 2 * source_length * d)
    cross_attention += source_length * key_and_value
    depth = config.n_decoder_layers or config.n_layers
    decoder = depth * (self_attention + cross_attention)
    logits = target_length * d * config.target_vocab_size
    return 2 * (config.n_layers * encoder_layer + decoder + logits)
