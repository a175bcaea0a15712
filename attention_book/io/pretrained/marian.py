# Made from docs/source/pretrained-files.md (0aafb5f28ad6). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Translators trained with Marian, as transformers saves them.

Explained on the page "Folders of pretrained models".
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book.attention.caches import KeyValue, KeyValueCache, Offset
from attention_book.attention.positions import SinusoidalPositions
from attention_book.io.pretrained.family import Family
from attention_book.io.pretrained.layout import Layout, WeightSlot, map_weights
from attention_book.models.config import TransformerConfig
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD


__all__ = [
    "MARIAN",
    "ConcatenatedSinusoids",
    "MarianConfig",
    "MarianTransformer",
]


@dataclass(frozen=True, kw_only=True)
class MarianConfig(TransformerConfig):
    """The hyperparameters of a Transformer that Marian has trained.

    Attributes:
        scale_embedding: Whether embeddings are times √d_model.
        start_id: What the decoder begins with, in Marian's numbering.
        eos_id: The end of a sequence, in Marian's numbering.

    Raises:
        ValueError: As TransformerConfig; ids that are not two of Marian's.
    """

    share_embeddings: bool = True
    scale_embedding: bool = True
    start_id: int
    eos_id: int

    def __post_init__(self) -> None:
        super().__post_init__()
        ids = {self.start_id, self.eos_id}
        if len(ids) < 2 or max(ids) >= self.marian_vocab_size:
            raise ValueError(
                "start_id and eos_id must be two ids below "
                f"{self.marian_vocab_size}, got {self.start_id} and "
                f"{self.eos_id}"
            )

    @property
    def marian_vocab_size(self) -> int:
        """The size of Marian's own vocabulary, without the book's PAD."""
        return self.target_vocab_size - 1

    @property
    def book_ids(self) -> list[int]:
        """For each of Marian's ids, the one that the book has for it."""
        special = {self.start_id: BOS, self.eos_id: EOS}
        others = itertools.count(3)
        return [
            special[i] if i in special else next(others)
            for i in range(self.marian_vocab_size)
        ]


class ConcatenatedSinusoids(SinusoidalPositions):
    """Sinusoidal positions with all sines first, then all cosines.

    Source: transformers, MarianSinusoidalPositionalEmbedding.
    """

    def forward(
        self, x: Float[Tensor, "*batch length d_model"], offset: Offset = 0
    ) -> Float[Tensor, "*batch length d_model"]:
        """Return x plus the encoding; offset is the first token's position."""
        interleaved = super().forward(torch.zeros_like(x), offset)
        pairs = interleaved.reshape(*x.shape[:-1], -1, 2)
        return x + pairs.mT.flatten(-2)


class MarianTransformer(Transformer):
    """A Transformer as Marian trains it, with the book's token ids.

    It differs from Transformer in the order of its sinusoids and a bias of
    the logits, one for each token. It never gives out PAD, nor BOS, which is
    Marian's padding.

    Args:
        config: The hyperparameters.

    Source: Junczys-Dowmunt et al. (2018); transformers, MarianMTModel.
    """

    config: MarianConfig

    def __init__(self, config: MarianConfig) -> None:
        super().__init__(config)
        embedding = self.target_embedding
        embedding.positions = ConcatenatedSinusoids(config.d_model)
        if not config.scale_embedding:
            embedding.scale = 1.0
        self.bias = nn.Parameter(torch.zeros(config.target_vocab_size))

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Tensor | Sequence[KeyValue],
        mask: Bool[Tensor, "batch 1 1 source"],
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits after each token; caches hold those before."""
        logits = super().decode(target, memory, mask, caches) + self.bias
        never = torch.tensor([PAD, BOS], device=logits.device)
        return logits.index_fill(-1, never, -torch.inf)


_ATTENTION = {
    "q_proj": "q_proj",
    "k_proj": "key",
    "v_proj": "value",
    "out_proj": "out_proj",
}
_ENCODER_LAYER = {  # name in the file: the part of our layer
    **{f"self_attn.{x}": f"self_attention.{y}" for x, y in _ATTENTION.items()},
    "self_attn_layer_norm": "residuals.0.norm",
    "fc1": "feed_forward.up_proj",
    "fc2": "feed_forward.down_proj",
    "final_layer_norm": "residuals.1.norm",
}
_DECODER_LAYER = {
    **_ENCODER_LAYER,
    **{
        f"encoder_attn.{x}": f"cross_attention.{y}"
        for x, y in _ATTENTION.items()
    },
    "encoder_attn_layer_norm": "residuals.1.norm",
    "final_layer_norm": "residuals.2.norm",
}


def _reordered(table: Tensor, ids: Sequence[int], dim: int) -> WeightSlot:
    """Return where a table stands whose rows have these ids here.

    Rows whose ids follow one another are one view.
    """
    views = []
    for _, run in itertools.groupby(enumerate(ids), lambda x: x[1] - x[0]):
        (_, first), *others = run
        views.append(table.detach().narrow(dim, first, 1 + len(others)))
    return WeightSlot(tuple(views), dim)


def _layout(model: MarianTransformer) -> Layout:
    """Return where the tensors of transformers' MarianMTModel stand here."""
    ids = model.config.book_ids
    tokens = model.target_embedding.tokens.weight
    layout = {
        "model.shared.weight": _reordered(tokens, ids, 0),
        "final_logits_bias": _reordered(model.bias[None], ids, 1),
    }
    for i, layer in enumerate(model.encoder.layers):
        stem = f"model.encoder.layers.{i}."
        layout |= map_weights(stem, layer, _ENCODER_LAYER)
    for i, layer in enumerate(model.decoder.layers):
        stem = f"model.decoder.layers.{i}."
        layout |= map_weights(stem, layer, _DECODER_LAYER)
    return layout


def _build(fields: dict[str, Any], _: int) -> nn.Module:
    """Make the book's model, whose vocabularies have one row more."""
    n = fields.pop("marian_vocab_size") + 1
    return MarianTransformer(
        MarianConfig(source_vocab_size=n, target_vocab_size=n, **fields)
    )


MARIAN = Family(
    architecture="MarianMTModel",
    model_class=MarianTransformer,
    build=_build,
    layout=_layout,
    entries={  # entry: our field, its default; what says the same must agree
        "vocab_size": ("marian_vocab_size", 58_101),
        "decoder_vocab_size": ("marian_vocab_size", 58_101),
        "max_position_embeddings": ("max_length", 1024),
        "d_model": ("d_model", 1024),
        "encoder_layers": ("n_layers", 12),
        "decoder_layers": ("n_layers", 12),
        "encoder_attention_heads": ("n_heads", 16),
        "decoder_attention_heads": ("n_heads", 16),
        "encoder_ffn_dim": ("d_ff", 4096),
        "decoder_ffn_dim": ("d_ff", 4096),
        "dropout": ("dropout", 0.1),
        "activation_function": ("feed_forward", "gelu"),
        "scale_embedding": ("scale_embedding", False),
        "decoder_start_token_id": ("start_id", 58_100),
        "eos_token_id": ("eos_id", 0),
    },
    fixed={
        "model_type": "marian",
        "is_encoder_decoder": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "static_position_embeddings": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
    },
    fields={"norm": "post", "share_embeddings": True, "n_kv_heads": None},
    written=lambda config: {
        "pad_token_id": config.start_id,
        "forced_eos_token_id": config.eos_id,
    },
    unused=r"model\.(encoder|decoder)\.embed_positions\.weight",
    tied={
        "lm_head.weight": "model.shared.weight",
        "model.encoder.embed_tokens.weight": "model.shared.weight",
        "model.decoder.embed_tokens.weight": "model.shared.weight",
    },
)
