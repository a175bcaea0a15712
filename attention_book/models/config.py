# Made from docs/source/configurations.md (ee2b1ac4d88f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""How large a model is. Explained on the page "Configurations"."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch.nn.functional as F
from torch import nn

from attention_book._checks import check_fields, check_heads, check_size
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions import ALiBiAttention, RotaryAttention
from attention_book.models.encoder import (
    Encoder,
    EncoderLayer,
    FeedForward,
    SwiGLU,
)


__all__ = [
    "PRESETS",
    "TextConfig",
    "TransformerConfig",
    "ViTConfig",
    "layer_options",
    "make_encoder",
]


_FeedForward = Literal["relu", "gelu", "silu", "swiglu"]
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
        n_layers: Layers of the encoder.
        n_decoder_layers: Layers of the decoder; None for as many.
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
    n_decoder_layers: int | None = None
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
    "silu": partial(FeedForward, activation=F.silu),
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


@dataclass(frozen=True, kw_only=True)
class TextConfig:
    """The hyperparameters of a model that reads text: by default BERT-base's.

    Attributes:
        vocab_size: Size of the vocabulary.
        max_length: How many learned positions there are.
        n_segments: How many segment embeddings there are; 0 for none.
        d_model: Width of the token vectors.
        n_heads: Number of heads; divides d_model.
        d_ff: Width in the middle of the feed-forward networks.
        n_layers: Number of layers.
        dropout: Dropout rate of the embeddings and of each sublayer's output.
        norm: Layer normalisation after each sublayer, as in BERT, or before
            it, as in GPT-2.
        activation: Of the feed-forward networks; gelu_tanh is GPT-2's.
        eps: What layer normalisation adds to the variance.

    Source: Devlin et al. (2019), §3; Radford et al. (2019), §2.3.
    """

    vocab_size: int
    max_length: int = 512
    n_segments: int = 0
    d_model: int = 768
    n_heads: int = 12
    d_ff: int = 3072
    n_layers: int = 12
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "pre"
    activation: Literal["gelu", "gelu_tanh", "relu"] = "gelu"
    eps: float = 1e-5

    def __post_init__(self) -> None:
        _check_sizes(self, n_segments=0)


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """The hyperparameters of a ViT: by default ViT-B/16 for ImageNet.

    Attributes:
        image_size: Height and width of the images.
        patch_size: Height and width of a patch; divides image_size.
        n_channels: 3 for colour, 1 for grey.
        n_classes: Number of classes; 0 for a model without a head.
        d_model: Width of the token vectors.
        n_heads: Number of heads; divides d_model.
        d_ff: Width in the middle of the feed-forward networks.
        n_layers: Number of layers.
        dropout: Dropout rate, applied as in the paper's appendix B.1.
        pooling: What is classified: a class token, or the mean of all.
        eps: What layer normalisation adds to the variance.

    Source: Dosovitskiy et al. (2021), table 1.
    """

    image_size: int = 224
    patch_size: int = 16
    n_channels: int = 3
    n_classes: int = 1000
    d_model: int = 768
    n_heads: int = 12
    d_ff: int = 3072
    n_layers: int = 12
    dropout: float = 0.0
    pooling: Literal["class", "mean"] = "class"
    eps: float = 1e-6

    def __post_init__(self) -> None:
        _check_sizes(self, n_classes=0)
        if self.image_size % self.patch_size:
            raise ValueError(
                f"patch_size must divide image_size = {self.image_size}, "
                f"got {self.patch_size}"
            )

    @property
    def grid(self) -> int:
        """How many patches stand side by side."""
        return self.image_size // self.patch_size


def _check_sizes(config: TextConfig | ViTConfig, **least: int) -> None:
    """Raise ValueError if a field is wrong; least are other least values."""
    check_fields(config, least=least, rates=["dropout"], positive=["eps"])
    check_heads(config.d_model, config.n_heads, config.n_heads)


def make_encoder(
    n_layers: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    *,
    norm: Literal["post", "pre"] = "pre",
    eps: float = 1e-5,
    **options: Any,
) -> Encoder:
    """Return layers of one kind; options are those of EncoderLayer."""
    options.setdefault("feed_forward", _FEED_FORWARDS["gelu"])
    layers = [
        EncoderLayer(d_model, n_heads, d_ff, norm=norm, eps=eps, **options)
        for _ in range(n_layers)
    ]
    last = nn.LayerNorm(d_model, eps=eps) if norm == "pre" else None
    return Encoder(layers, last)
