# Made from docs/source/configurations.md (2b1a80faf76e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""How large a model is. Explained in "The two configurations"."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch.nn.functional as F
from torch import nn

from attention_book._checks import check_fields, check_heads, check_size
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions import ALiBiAttention, RotaryAttention
from attention_book.models.encoder import FeedForward, SwiGLU


__all__ = ["PRESETS", "TransformerConfig", "layer_options"]


_FeedForward = Literal["relu", "gelu", "swiglu"]
_Positions = Literal["sinusoidal", "learned", "rotary", "alibi"]


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """The hyperparameters of a Transformer; by default the paper's base.

    Attributes:
        source_vocab_size: Size of the source vocabulary.
        target_vocab_size: Size of the target vocabulary.
        share_embeddings: Whether both sides share one vocabulary and its
            embeddings.
        d_model: Width of the token vectors.
        n_heads: Heads of each attention.
        n_kv_heads: Heads of keys and values; None for as many as n_heads.
        d_ff: Width inside the feed-forward networks.
        n_layers: Layers of the encoder, and as many of the decoder.
        dropout: Dropout rate of the embeddings and of each sublayer's output.
        norm: Layer normalisation after each sublayer or before it.
        feed_forward: The activation of the feed-forward network.
        positions: The kind of positional encoding.
        max_length: How many learned positions there are, if they are
            learned.

    Raises:
        ValueError: A number or a kind is out of range, or they do not fit.

    Source: Vaswani et al. (2017), table 3.
    """

    source_vocab_size: int
    target_vocab_size: int
    share_embeddings: bool = False
    d_model: int = 512
    n_heads: int = 8
    n_kv_heads: int | None = None
    d_ff: int = 2048
    n_layers: int = 6
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"
    feed_forward: _FeedForward = "relu"
    positions: _Positions = "sinusoidal"
    max_length: int = 1024

    def __post_init__(self) -> None:
        check_fields(self, rates=["dropout"])
        n_kv_heads = self.n_kv_heads or self.n_heads
        check_heads(self.d_model, self.n_heads, n_kv_heads)
        if self.positions == "sinusoidal":
            check_size("d_model", self.d_model, even=True)
        if self.positions == "rotary":
            check_size(
                "d_model / n_heads", self.d_model // self.n_heads, even=True
            )
        same_size = self.source_vocab_size == self.target_vocab_size
        if self.share_embeddings and not same_size:
            raise ValueError(
                "shared embeddings need vocabularies of one size, got "
                f"source_vocab_size {self.source_vocab_size} and "
                f"target_vocab_size {self.target_vocab_size}"
            )


PRESETS: dict[str, dict[str, Any]] = {  # the first is the grammar's
    "small": {
        "d_model": 128,
        "n_heads": 4,
        "d_ff": 512,
        "n_layers": 2,
        "norm": "pre",
    },
    "base": {},
    "big": {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "dropout": 0.3},
}


_ATTENTIONS: dict[str, type[MultiHeadAttention]] = {
    "rotary": RotaryAttention,
    "alibi": ALiBiAttention,
}
_FEED_FORWARDS: dict[str, Callable[[int, int], nn.Module]] = {
    "relu": FeedForward,
    "gelu": partial(FeedForward, activation=F.gelu),
    "swiglu": SwiGLU,
}


def layer_options(config: TransformerConfig) -> dict[str, Any]:
    """Return what the layers of encoder and decoder take beside sizes."""
    attention = _ATTENTIONS.get(config.positions, MultiHeadAttention)
    return {
        "norm": config.norm,
        "dropout": config.dropout,
        "self_attention": partial(attention, n_kv_heads=config.n_kv_heads),
        "feed_forward": _FEED_FORWARDS[config.feed_forward],
    }
