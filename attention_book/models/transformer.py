# Made from docs/transformer/transformer.md (53bb08c8593f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The whole Transformer. Explained in the chapter of that name."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book._checks import check_source, check_token_ids
from attention_book.attention.caches import KeyValue, KeyValueCache, Offset
from attention_book.attention.functional import padding_mask
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions import (
    LearnedPositions,
    SinusoidalPositions,
)
from attention_book.models.config import TransformerConfig, layer_options
from attention_book.models.decoder import Decoder, DecoderLayer
from attention_book.models.encoder import Encoder, EncoderLayer


__all__ = ["Embedding", "Transformer"]


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
        self, token_ids: Int[Tensor, "batch length"], offset: Offset = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """Return the tokens' vectors; offset is the position of the first."""
        check_token_ids("token_ids", token_ids, self.tokens.num_embeddings)
        x = self.tokens(token_ids) * self.scale
        if self.positions is not None:
            x = self.positions(x, offset)
        return self.dropout(x)


class Transformer(nn.Module):
    """The whole model: source in, logits of the next token out.

    The output layer is the table of target embeddings, used a second time.

    Source: Vaswani et al. (2017), §3, figure 1 and table 3.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        if not isinstance(config, TransformerConfig):
            raise ValueError(f"wanted a TransformerConfig, got {config!r}")
        self.config = config
        self.target_embedding = Embedding(config.target_vocab_size, config)
        self.source_embedding = self.target_embedding
        if not config.share_embeddings:
            self.source_embedding = Embedding(config.source_vocab_size, config)

        sizes = config.d_model, config.n_heads, config.d_ff
        options = layer_options(config)
        final_norm = nn.LayerNorm if config.norm == "pre" else nn.Identity
        self.encoder = Encoder(
            [EncoderLayer(*sizes, **options) for _ in range(config.n_layers)],
            final_norm(config.d_model),
        )
        depth = config.n_decoder_layers or config.n_layers
        options["cross_attention"] = partial(
            MultiHeadAttention, n_kv_heads=config.n_kv_heads
        )
        self.decoder = Decoder(
            [DecoderLayer(*sizes, **options) for _ in range(depth)],
            final_norm(config.d_model),
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
