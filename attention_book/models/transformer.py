# Made from docs/source/configuration.md (a225045ec972). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book._checks import (
    check_even,
    check_heads,
    check_size,
    check_source,
    check_token_ids,
)
from attention_book.attention.caches import KeyValue, KeyValueCache, Position
from attention_book.attention.functional import padding_mask
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions import (
    ALiBiAttention,
    LearnedPositions,
    RotaryAttention,
    SinusoidalPositions,
)
from attention_book.models.decoder import Decoder, DecoderLayer
from attention_book.models.encoder import (
    Encoder,
    EncoderLayer,
    FeedForward,
    PostNorm,
    PreNorm,
    SwiGLU,
)


__all__ = [
    "PRESETS",
    "Embedding",
    "FeedForwardKind",
    "Norm",
    "Positions",
    "Transformer",
    "TransformerConfig",
]


Norm = Literal["post", "pre"]
FeedForwardKind = Literal["relu", "gelu", "swiglu"]
Positions = Literal["sinusoidal", "learned", "rotary", "alibi"]

_COUNTS = (
    "source_vocab_size",
    "target_vocab_size",
    "d_model",
    "n_heads",
    "d_ff",
    "n_layers",
    "max_length",
)
_KINDS = {
    "share_embeddings": Literal[False, True],
    "norm": Norm,
    "feed_forward": FeedForwardKind,
    "positions": Positions,
}


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
    norm: Norm = "post"
    feed_forward: FeedForwardKind = "relu"
    positions: Positions = "sinusoidal"
    max_length: int = 1024

    def __post_init__(self) -> None:
        n_kv_heads = self.n_kv_heads
        if n_kv_heads is None:
            n_kv_heads = self.n_heads
        counts = {name: getattr(self, name) for name in _COUNTS}
        counts["n_kv_heads"] = n_kv_heads
        for name, count in counts.items():
            # type, because isinstance takes True for an int
            if type(count) is not int or count < 1:
                raise ValueError(
                    f"{name} must be a positive whole number, got {count!r}"
                )
        rate = self.dropout
        if not isinstance(rate, int | float) or not 0 <= rate < 1:
            raise ValueError(f"dropout must be in [0, 1), got {rate!r}")
        for name, kind in _KINDS.items():
            got = getattr(self, name)
            if got not in get_args(kind):
                raise ValueError(
                    f"{name} must be one of {get_args(kind)}, got {got!r}"
                )
        check_heads(self.d_model, self.n_heads, n_kv_heads)
        if self.positions == "sinusoidal":
            check_even("d_model", self.d_model)
        if self.positions == "rotary":
            check_even("d_model / n_heads", self.d_model // self.n_heads)
        same_size = self.source_vocab_size == self.target_vocab_size
        if self.share_embeddings and not same_size:
            raise ValueError(
                "shared embeddings need vocabularies of one size, got "
                f"source_vocab_size {self.source_vocab_size} and "
                f"target_vocab_size {self.target_vocab_size}"
            )


class Embedding(nn.Module):
    """Token embeddings, times √d_model, plus positions.

    Args:
        vocab_size: Size of the vocabulary.
        config: The width, the kind of positions, the dropout rate.

    Source: Vaswani et al. (2017), §3.4 and §5.4.
    """

    def __init__(self, vocab_size: int, config: TransformerConfig) -> None:
        super().__init__()
        check_size("vocab_size", vocab_size)
        d_model = config.d_model
        self.tokens = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.tokens.weight, std=d_model**-0.5)
        self.scale = math.sqrt(d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.positions: nn.Module | None = None
        if config.positions == "sinusoidal":
            self.positions = SinusoidalPositions(d_model)
        if config.positions == "learned":
            self.positions = LearnedPositions(config.max_length, d_model)

    def forward(
        self, token_ids: Int[Tensor, "batch length"], offset: Position = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """Return the tokens' vectors; offset is the position of the first.

        Raises:
            ValueError: Ids that are not of the vocabulary; their values are
                read on the CPU only.
        """
        vocab_size = self.tokens.num_embeddings
        check_token_ids("token_ids", token_ids, vocab_size)
        x = self.tokens(token_ids) * self.scale
        if self.positions is not None:
            x = self.positions(x, offset)
        return self.dropout(x)


def _make_self_attention(config: TransformerConfig) -> MultiHeadAttention:
    """Make self-attention, with its kind of positions."""
    kind = MultiHeadAttention
    if config.positions == "rotary":
        kind = RotaryAttention
    if config.positions == "alibi":
        kind = ALiBiAttention
    return kind(config.d_model, config.n_heads, n_kv_heads=config.n_kv_heads)


def _make_cross_attention(config: TransformerConfig) -> MultiHeadAttention:
    """Make cross-attention, which has no positions."""
    return MultiHeadAttention(
        config.d_model, config.n_heads, n_kv_heads=config.n_kv_heads
    )


def _make_feed_forward(config: TransformerConfig) -> nn.Module:
    """Make a feed-forward network."""
    if config.feed_forward == "swiglu":
        return SwiGLU(config.d_model, config.d_ff)
    activation = F.gelu if config.feed_forward == "gelu" else torch.relu
    return FeedForward(config.d_model, config.d_ff, activation=activation)


def _make_residual(config: TransformerConfig) -> PostNorm:
    """Make a residual connection, with its normalisation."""
    kind = PreNorm if config.norm == "pre" else PostNorm
    return kind(config.d_model, config.dropout)


def _make_final_norm(config: TransformerConfig) -> nn.Module | None:
    """Make the norm at the end of a stack, which only pre-norm needs."""
    return nn.LayerNorm(config.d_model) if config.norm == "pre" else None


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


class Transformer(nn.Module):
    """The whole model: source in, logits of the next token out.

    The output layer is the table of target embeddings, used a second time.

    Source: Vaswani et al. (2017), §3, figure 1 and table 3.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.target_embedding = Embedding(config.target_vocab_size, config)
        self.source_embedding = (
            self.target_embedding
            if config.share_embeddings
            else Embedding(config.source_vocab_size, config)
        )
        self.encoder = Encoder(
            [
                EncoderLayer(
                    _make_self_attention(config),
                    _make_feed_forward(config),
                    (_make_residual(config), _make_residual(config)),
                )
                for _ in range(config.n_layers)
            ],
            _make_final_norm(config),
        )
        self.decoder = Decoder(
            [
                DecoderLayer(
                    _make_self_attention(config),
                    _make_cross_attention(config),
                    _make_feed_forward(config),
                    (
                        _make_residual(config),
                        _make_residual(config),
                        _make_residual(config),
                    ),
                )
                for _ in range(config.n_layers)
            ],
            _make_final_norm(config),
        )

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
    ) -> tuple[
        Float[Tensor, "batch source d_model"], Bool[Tensor, "batch 1 1 source"]
    ]:
        """Encode the first lengths[b] tokens of each row: memory, mask."""
        vocab_size = self.config.source_vocab_size
        check_source(source, lengths, vocab_size, min_length=0)
        mask = padding_mask(lengths, source.shape[1])
        return self.encoder(self.source_embedding(source), mask), mask

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Tensor | Sequence[KeyValue],
        mask: Bool[Tensor, "batch 1 1 source"],
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits after each token; caches hold those before."""
        offset = caches[0].length if caches else 0
        x = self.target_embedding(target, offset)
        x = self.decoder(x, memory, mask, caches)
        return F.linear(x, self.target_embedding.tokens.weight)

    def forward(
        self, source: Tensor, lengths: Tensor, target: Tensor
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits after each token of the target."""
        memory, mask = self.encode(source, lengths)
        return self.decode(target, memory, mask)

    @classmethod
    def base(cls, vocab_size: int = 37_000, **changes: Any) -> "Transformer":
        """Make the paper's base model, with changes to its configuration."""
        vocabulary = {
            "source_vocab_size": vocab_size,
            "target_vocab_size": vocab_size,
            "share_embeddings": True,
        }
        return cls(TransformerConfig(**vocabulary | changes))

    @classmethod
    def big(cls, vocab_size: int = 37_000, **changes: Any) -> "Transformer":
        """Make the paper's big model, with changes to its configuration."""
        return cls.base(vocab_size, **PRESETS["big"] | changes)
