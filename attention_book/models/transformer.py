# Made from docs/source/configuration.md (c8a584926217). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The whole Transformer and its configuration.

Explained in the chapter "The whole Transformer".
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book._checks import (
    check_even,
    check_fields,
    check_heads,
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
    Norm,
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


FeedForwardKind = Literal["relu", "gelu", "swiglu"]
Positions = Literal["sinusoidal", "learned", "rotary", "alibi"]


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
        check_fields(self, rates=["dropout"])
        n_kv_heads = self.n_kv_heads or self.n_heads
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

    Source: Vaswani et al. (2017), §3.4, §3.5 and §5.4.
    """

    def __init__(self, vocab_size: int, config: TransformerConfig) -> None:
        super().__init__()
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
        """Return the tokens' vectors; offset is the position of the first."""
        check_token_ids("token_ids", token_ids, self.tokens.num_embeddings)
        x = self.tokens(token_ids) * self.scale
        if self.positions is not None:
            x = self.positions(x, offset)
        return self.dropout(x)


_ATTENTIONS: dict[str, type[MultiHeadAttention]] = {
    "rotary": RotaryAttention,
    "alibi": ALiBiAttention,
}
_FEED_FORWARDS: dict[str, Callable[[int, int], nn.Module]] = {
    "relu": FeedForward,
    "gelu": partial(FeedForward, activation=F.gelu),
    "swiglu": SwiGLU,
}


def _layer_options(config: TransformerConfig) -> dict[str, Any]:
    """Return what the layers of encoder and decoder take beside sizes."""
    attention = _ATTENTIONS.get(config.positions, MultiHeadAttention)
    return {
        "norm": config.norm,
        "dropout": config.dropout,
        "self_attention": partial(attention, n_kv_heads=config.n_kv_heads),
        "feed_forward": _FEED_FORWARDS[config.feed_forward],
    }


def _final_norm(config: TransformerConfig) -> nn.Module | None:
    """Return the norm at the end of a stack, which only pre-norm needs."""
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
        self.source_embedding = self.target_embedding
        if not config.share_embeddings:
            self.source_embedding = Embedding(config.source_vocab_size, config)

        sizes = config.d_model, config.n_heads, config.d_ff
        options = _layer_options(config)
        self.encoder = Encoder(
            [EncoderLayer(*sizes, **options) for _ in range(config.n_layers)],
            _final_norm(config),
        )
        options["cross_attention"] = partial(
            MultiHeadAttention, n_kv_heads=config.n_kv_heads
        )
        self.decoder = Decoder(
            [DecoderLayer(*sizes, **options) for _ in range(config.n_layers)],
            _final_norm(config),
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
