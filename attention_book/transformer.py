# Made from docs/chapters/10-transformer.md (1d82a95f2c99). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book.decoder import Decoder, DecoderLayer
from attention_book.encoder import (
    Encoder,
    EncoderLayer,
    FeedForward,
    PostNorm,
    PreNorm,
    SwiGLU,
)
from attention_book.multi_head import (
    KeyValue,
    KeyValueCache,
    MultiHeadAttention,
    Place,
    check_heads,
)
from attention_book.positions import (
    LearnedPositions,
    RotaryAttention,
    SinusoidalPositions,
    check_even,
)
from attention_book.scoring import padding_mask

Norm = Literal["post", "pre"]
Thinking = Literal["relu", "gelu", "swiglu"]
Positions = Literal["sinusoidal", "learned", "rotary"]


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """What decides the shape of a Transformer; by default the paper's base.

    Attributes:
        n_source: Size of the source vocabulary.
        n_target: Size of the target vocabulary.
        shared: Whether both sides share one vocabulary and its embeddings.
        d_model: Width of the words.
        n_heads: Heads of each attention.
        d_ff: Width inside the feed-forward networks.
        n_layers: Layers of the encoder, and as many of the decoder.
        dropout: Share of the embeddings, and of each part's output, that
            training drops.
        norm: Whether normalisation comes after each part or before it.
        thinking: The kind of feed-forward network.
        positions: How words are told where they stand.
        max_words: How many positions there are, if they are learnt.

    Raises:
        ValueError: A number or a kind is out of range, or they do not fit.

    Source: Vaswani et al. (2017), table 3.
    """

    n_source: int
    n_target: int
    shared: bool = False
    d_model: int = 512
    n_heads: int = 8
    d_ff: int = 2048
    n_layers: int = 6
    dropout: float = 0.1
    norm: Norm = "post"
    thinking: Thinking = "relu"
    positions: Positions = "sinusoidal"
    max_words: int = 1024

    def __post_init__(self) -> None:
        check_config(self)


COUNTS = (
    "n_source",
    "n_target",
    "d_model",
    "n_heads",
    "d_ff",
    "n_layers",
    "max_words",
)
KINDS = {
    "shared": Literal[False, True],
    "norm": Norm,
    "thinking": Thinking,
    "positions": Positions,
}


def check_config(c: TransformerConfig) -> None:
    """Raise ValueError unless each entry makes sense and all fit."""
    for name in COUNTS:
        # type, because isinstance takes True for an int
        if type(got := getattr(c, name)) is not int or got < 1:
            raise ValueError(
                f"{name} must be a positive whole number, got {got!r}"
            )
    if not isinstance(c.dropout, int | float) or not 0 <= c.dropout < 1:
        raise ValueError(f"dropout must be in [0, 1), got {c.dropout!r}")
    for name, kind in KINDS.items():
        if (got := getattr(c, name)) not in get_args(kind):
            raise ValueError(
                f"{name} must be one of {get_args(kind)}, got {got!r}"
            )
    check_heads(c.d_model, c.n_heads, c.n_heads)
    if c.positions == "sinusoidal":
        check_even("d_model", c.d_model)
    if c.positions == "rotary":
        check_even("d_model / n_heads", c.d_model // c.n_heads)
    if c.shared and c.n_source != c.n_target:
        raise ValueError(
            "a shared vocabulary must have one size, got n_source "
            f"{c.n_source} and n_target {c.n_target}"
        )


class Embedding(nn.Module):
    """Words become vectors, times √d_model, plus positions.

    Args:
        n_words: Size of the vocabulary.
        config: The width, the kind of positions, the dropout.

    Source: Vaswani et al. (2017), §3.4 and §5.4.
    """

    def __init__(self, n_words: int, config: TransformerConfig) -> None:
        super().__init__()
        d = config.d_model
        self.words = nn.Embedding(n_words, d)
        nn.init.normal_(self.words.weight, std=d**-0.5)
        self.scale, self.dropout = math.sqrt(d), nn.Dropout(config.dropout)
        self.positions: nn.Module | None = None
        if config.positions == "sinusoidal":
            self.positions = SinusoidalPositions(d)
        if config.positions == "learned":
            self.positions = LearnedPositions(config.max_words, d)

    def forward(
        self, words: Int[Tensor, "batch words"], start: Place = 0
    ) -> Float[Tensor, "batch words d_model"]:
        """Return the vectors of the words; the first one stands at start."""
        x = self.words(words) * self.scale
        if self.positions is not None:
            x = self.positions(x, start)
        output: Tensor = self.dropout(x)
        return output


def make_around(config: TransformerConfig) -> PostNorm:
    """Make what goes around each part."""
    kind = {"post": PostNorm, "pre": PreNorm}[config.norm]
    return kind(config.d_model, config.dropout)


def make_attention(config: TransformerConfig) -> MultiHeadAttention:
    """Make attention of a sequence to itself."""
    rotary = config.positions == "rotary"
    kind = RotaryAttention if rotary else MultiHeadAttention
    return kind(config.d_model, config.n_heads)


def make_feed_forward(config: TransformerConfig) -> nn.Module:
    """Make the feed-forward network."""
    if config.thinking == "swiglu":
        return SwiGLU(config.d_model, config.d_ff)
    bend = {"relu": torch.relu, "gelu": F.gelu}[config.thinking]
    return FeedForward(config.d_model, config.d_ff, activation=bend)


def make_last_norm(config: TransformerConfig) -> nn.Module | None:
    """Make what goes over a stack: pre-norm needs it, post-norm does not."""
    return nn.LayerNorm(config.d_model) if config.norm == "pre" else None


class EncoderDecoder(nn.Module):
    """Source in, logits of the next word out.

    The output layer is the table of target embeddings, used a second time.
    """

    source: Embedding
    target: Embedding
    encoder: Encoder
    decoder: Decoder

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
    ) -> tuple[
        Float[Tensor, "batch source d_model"], Bool[Tensor, "batch 1 1 source"]
    ]:
        """Read the first lengths[b] words of each sentence: memory, mask."""
        mask = padding_mask(lengths, source.shape[1])
        return self.encoder(self.source(source), mask), mask

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Tensor | Sequence[KeyValue],
        mask: Bool[Tensor, "batch 1 1 source"],
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch target n_target"]:
        """Return the logits after each word; caches hold those before."""
        start = caches[0].start() if caches else 0
        x = self.target(target, start)
        x = self.decoder(x, memory, mask, caches)
        return F.linear(x, self.target.words.weight)

    def forward(
        self, source: Tensor, lengths: Tensor, target: Tensor
    ) -> Float[Tensor, "batch target n_target"]:
        """Return the logits after each word of the target."""
        return self.decode(target, *self.encode(source, lengths))


class Transformer(EncoderDecoder):
    """The whole model, made to order.

    Source: Vaswani et al. (2017), §3, figure 1 and table 3.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = c = config
        self.target = Embedding(c.n_target, c)
        self.source = self.target if c.shared else Embedding(c.n_source, c)

        def encoder_layer() -> EncoderLayer:
            return EncoderLayer(
                make_attention(c),
                make_feed_forward(c),
                (make_around(c), make_around(c)),
            )

        def decoder_layer() -> DecoderLayer:
            return DecoderLayer(
                make_attention(c),
                MultiHeadAttention(c.d_model, c.n_heads),  # to the memory
                make_feed_forward(c),
                (make_around(c), make_around(c), make_around(c)),
            )

        encoder_layers = [encoder_layer() for _ in range(c.n_layers)]
        decoder_layers = [decoder_layer() for _ in range(c.n_layers)]
        self.encoder = Encoder(encoder_layers, make_last_norm(c))
        self.decoder = Decoder(decoder_layers, make_last_norm(c))

    @classmethod
    def base(cls, n_words: int = 37_000, **changes: Any) -> "Transformer":
        """Make the paper's base model, with changes to its configuration."""
        base = {"n_source": n_words, "n_target": n_words, "shared": True}
        return cls(TransformerConfig(**base | changes))

    @classmethod
    def big(cls, n_words: int = 37_000, **changes: Any) -> "Transformer":
        """Make the paper's big model, with changes to its configuration."""
        big = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "dropout": 0.3}
        return cls.base(n_words, **big | changes)
