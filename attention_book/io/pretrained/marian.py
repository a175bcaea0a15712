# Made from docs/source/pretrained-files.md (50f30e8e070b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Translators trained with Marian, as transformers saves them.

Explained on the page "Folders of pretrained models".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book._checks import check_vectors
from attention_book.attention.caches import KeyValue, KeyValueCache, Position
from attention_book.attention.positions import (
    SinusoidalPositions,
    position_angles,
)
from attention_book.io.pretrained.family import Family
from attention_book.io.pretrained.layers import map_layer
from attention_book.io.pretrained.layout import Layout, WeightSlot
from attention_book.models.config import TransformerConfig
from attention_book.models.encoder import FeedForward
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD


__all__ = [
    "MARIAN",
    "ConcatenatedSinusoids",
    "MarianConfig",
    "MarianTransformer",
    "book_ids",
]


_Activation = Literal["swish", "gelu", "relu"]
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "swish": F.silu,
    "gelu": F.gelu,
    "relu": torch.relu,
}


@dataclass(frozen=True, kw_only=True)
class MarianConfig(TransformerConfig):
    """The hyperparameters of a Transformer that Marian has trained.

    Attributes:
        activation: Of the feed-forward networks; swish is SiLU.
        scale_embedding: Whether embeddings are times √d_model.
        start_id: What the decoder begins with, in Marian's numbering.
        eos_id: The end of a sequence, in Marian's numbering.
        bad_token_ids: Ids in Marian's numbering that are never generated.

    Raises:
        ValueError: As TransformerConfig; ids outside the vocabulary, start
            and end the same, or a model that Marian does not make.
    """

    share_embeddings: bool = True
    activation: _Activation = "swish"
    scale_embedding: bool = True
    start_id: int
    eos_id: int
    bad_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.activation not in get_args(_Activation):
            raise ValueError(
                f"activation must be one of {get_args(_Activation)}, "
                f"got {self.activation!r}"
            )
        n = self.marian_vocab_size
        for token_id in (self.start_id, self.eos_id, *self.bad_token_ids):
            if type(token_id) is not int or not 0 <= token_id < n:
                raise ValueError(
                    f"ids must be from 0 to {n - 1}, got {token_id!r}"
                )
        if self.start_id == self.eos_id:
            raise ValueError(
                f"start_id and eos_id must differ, got {self.eos_id} twice"
            )
        if not self.share_embeddings or self.norm != "post":
            raise ValueError(
                "share_embeddings and norm must be True and 'post', got "
                f"{self.share_embeddings} and {self.norm!r}"
            )

    @property
    def marian_vocab_size(self) -> int:
        """The size of Marian's own vocabulary, without the book's PAD."""
        return self.target_vocab_size - 1


def book_ids(config: MarianConfig) -> list[int]:
    """Return, for each of Marian's ids, the one that the book has for it."""
    ids = []
    free = iter(range(3, config.target_vocab_size))
    special = {config.start_id: BOS, config.eos_id: EOS}
    for token_id in range(config.marian_vocab_size):
        if token_id in special:
            ids.append(special[token_id])
        else:
            ids.append(next(free))
    return ids


class ConcatenatedSinusoids(SinusoidalPositions):
    """Sinusoidal positions with all sines first, then all cosines.

    Source: transformers, MarianSinusoidalPositionalEmbedding.
    """

    def forward(
        self, x: Float[Tensor, "*batch length d_model"], offset: Position = 0
    ) -> Float[Tensor, "*batch length d_model"]:
        """Return x plus the encoding; offset is the first token's position."""
        check_vectors(x, self.d_model)
        angles = position_angles(x, offset, 10_000.0)
        waves = torch.cat([angles.sin(), angles.cos()], dim=-1)
        return x + waves.to(x.dtype)


class MarianTransformer(Transformer):
    """A Transformer as Marian trains it, with the book's token ids.

    It differs from Transformer in the order of its sinusoids, the activation
    and a bias of the logits, one for each token.

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
        for part in self.modules():
            if isinstance(part, FeedForward):
                part.activation = _ACTIVATIONS[config.activation]
        self.bias = nn.Parameter(torch.zeros(config.target_vocab_size))
        ids = book_ids(config)
        self.bad_token_ids = [PAD, *(ids[i] for i in config.bad_token_ids)]

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Tensor | Sequence[KeyValue],
        mask: Bool[Tensor, "batch 1 1 source"],
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits after each token; caches hold those before."""
        logits = super().decode(target, memory, mask, caches) + self.bias
        bad = torch.tensor(self.bad_token_ids, device=logits.device)
        return logits.index_fill(-1, bad, -torch.inf)


_ATTENTION = {
    "q_proj": "query",
    "k_proj": "key",
    "v_proj": "value",
    "out_proj": "out",
}
_ENCODER_LAYER = {
    **{f"self_attn.{name}": (part,) for name, part in _ATTENTION.items()},
    "self_attn_layer_norm": ("norm 1",),
    "fc1": ("up",),
    "fc2": ("down",),
    "final_layer_norm": ("norm 2",),
}
_DECODER_LAYER = {
    **_ENCODER_LAYER,
    **{
        f"encoder_attn.{name}": (f"cross {part}",)
        for name, part in _ATTENTION.items()
    },
    "encoder_attn_layer_norm": ("norm 2",),
    "final_layer_norm": ("norm 3",),
}


@torch.no_grad()
def _reordered(table: Tensor, ids: list[int], dim: int) -> WeightSlot:
    """Return where a table stands of which each row has another id here.

    Ids that follow one another are one view.
    """
    views = []
    start = 0
    for end in range(1, len(ids) + 1):
        if end == len(ids) or ids[end] != ids[end - 1] + 1:
            views.append(table.narrow(dim, ids[start], end - start))
            start = end
    return WeightSlot(tuple(views), dim)


def _layout(model: MarianTransformer) -> Layout:
    """Return where the tensors of transformers' MarianMTModel stand here."""
    ids = book_ids(model.config)
    tokens = model.target_embedding.tokens.weight
    layout = {
        "model.shared.weight": _reordered(tokens, ids, 0),
        "final_logits_bias": _reordered(model.bias[None], ids, 1),
    }
    for i, layer in enumerate(model.encoder.layers):
        stem = f"model.encoder.layers.{i}"
        layout |= map_layer(stem, layer, _ENCODER_LAYER)
    for i, layer in enumerate(model.decoder.layers):
        stem = f"model.decoder.layers.{i}"
        layout |= map_layer(stem, layer, _DECODER_LAYER)
    return layout


_CONFIG: dict[str, tuple[str, Any]] = {  # entry: our field, its default
    "vocab_size": ("marian_vocab_size", 58_101),
    "decoder_vocab_size": ("marian_vocab_size", 58_101),
    "max_position_embeddings": ("max_length", 1024),
    "d_model": ("d_model", 1024),
    "dropout": ("dropout", 0.1),
    "activation_function": ("activation", "gelu"),
    "scale_embedding": ("scale_embedding", False),
    "decoder_start_token_id": ("start_id", 58_100),
    "eos_token_id": ("eos_id", 0),
    "bad_words_ids": ("bad_token_ids", []),
}
for _side in ("encoder", "decoder"):  # which must agree
    _CONFIG[f"{_side}_layers"] = ("n_layers", 12)
    _CONFIG[f"{_side}_attention_heads"] = ("n_heads", 16)
    _CONFIG[f"{_side}_ffn_dim"] = ("d_ff", 4096)


def _build(fields: dict[str, Any]) -> nn.Module:
    """Make the book's model, whose vocabularies have one row more."""
    n = fields.pop("marian_vocab_size") + 1
    return MarianTransformer(
        MarianConfig(source_vocab_size=n, target_vocab_size=n, **fields)
    )


def _written(config: MarianConfig) -> dict[str, Any]:
    """Return what generation of transformers wants to know."""
    return {
        "pad_token_id": config.start_id,
        "forced_eos_token_id": config.eos_id,
        "is_encoder_decoder": True,
    }


MARIAN = Family(
    architecture="MarianMTModel",
    model_type="marian",
    model_class=MarianTransformer,
    build=_build,
    entries=_CONFIG,
    fixed={
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "static_position_embeddings": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
    },
    fields={},
    layout=_layout,
    unused=r"model\.(encoder|decoder)\.embed_positions\.weight",
    tied={
        "lm_head.weight": "model.shared.weight",
        "model.encoder.embed_tokens.weight": "model.shared.weight",
        "model.decoder.embed_tokens.weight": "model.shared.weight",
    },
    written=_written,
)
