# Made from docs/source/pretrained-files.md (14e42fc3e976). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

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
from attention_book.io.pretrained.layers import map_layer
from attention_book.io.pretrained.layout import JoinedViews, Layout
from attention_book.models.encoder import FeedForward
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD


__all__ = [
    "ConcatenatedSinusoids",
    "MarianActivation",
    "MarianConfig",
    "MarianTransformer",
    "book_ids",
    "marian_layout",
]


MarianActivation = Literal["swish", "gelu", "relu"]
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
        never: Ids in Marian's numbering that are never generated.

    Raises:
        ValueError: As TransformerConfig; ids outside the vocabulary, start
            and end the same, or a model that Marian does not make.
    """

    share_embeddings: bool = True
    activation: MarianActivation = "swish"
    scale_embedding: bool = True
    start_id: int
    eos_id: int
    never: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.activation not in get_args(MarianActivation):
            raise ValueError(
                f"activation must be one of {get_args(MarianActivation)}, "
                f"got {self.activation!r}"
            )
        n = self.target_vocab_size - 1  # PAD is the book's own
        for token_id in (self.start_id, self.eos_id, *self.never):
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


def book_ids(config: MarianConfig) -> list[int]:
    """Return, for each of Marian's ids, the one that the book has for it."""
    found = []
    free = iter(range(3, config.target_vocab_size))
    special = {config.start_id: BOS, config.eos_id: EOS}
    for token_id in range(config.target_vocab_size - 1):
        if token_id in special:
            found.append(special[token_id])
        else:
            found.append(next(free))
    return found


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
        self.never = [PAD, *(ids[token_id] for token_id in config.never)]

    def decode(
        self,
        target: Int[Tensor, "batch target"],
        memory: Tensor | Sequence[KeyValue],
        mask: Bool[Tensor, "batch 1 1 source"],
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits after each token; caches hold those before."""
        logits = super().decode(target, memory, mask, caches) + self.bias
        never = torch.tensor(self.never, device=logits.device)
        return logits.index_fill(-1, never, -torch.inf)


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
def _reordered(table: Tensor, ids: list[int], dim: int) -> JoinedViews:
    """Return where a table stands of which each row has another id here.

    Ids that follow one another are one view.
    """
    views = []
    start = 0
    for end in range(1, len(ids) + 1):
        if end == len(ids) or ids[end] != ids[end - 1] + 1:
            views.append(table.narrow(dim, ids[start], end - start))
            start = end
    return JoinedViews(tuple(views), dim)


def marian_layout(model: MarianTransformer) -> Layout:
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
