# Made from docs/source/text-models.md (e373da6d33c6). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book._checks import check_source, check_token_ids
from attention_book.attention.caches import KeyValueCache
from attention_book.attention.functional import padding_mask
from attention_book.attention.positions import LearnedPositions
from attention_book.models.encoder import Encoder, EncoderLayer, FeedForward
from attention_book.models.text_config import TextConfig


__all__ = ["TextEncoder"]


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "relu": torch.relu,
}


def _make_layer(c: TextConfig) -> EncoderLayer:
    """Make one layer."""
    activation = _ACTIVATIONS[c.activation]
    return EncoderLayer(
        c.d_model,
        c.n_heads,
        c.d_ff,
        norm=c.norm,
        dropout=c.dropout,
        eps=c.epsilon,
        feed_forward=partial(FeedForward, activation=activation),
    )


class TextEncoder(nn.Module):
    """From token ids to the vector of each token in its context.

    Embeddings begin as noise of standard deviation 0.02, as in BERT and
    GPT-2. With post-norm they are normalised, with pre-norm the output is.

    Args:
        config: The hyperparameters.

    Source: Devlin et al. (2019), §3 and figure 2; Radford et al. (2019),
        §2.3. Dropout is where the Transformer paper has it; BERT and GPT-2
        also have it on the attention weights.
    """

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        self.config = config
        c = config
        self.tokens = nn.Embedding(c.vocab_size, c.d_model)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.positions = LearnedPositions(c.max_length, c.d_model)
        self.segments: nn.Embedding | None = None
        if c.n_segments:
            self.segments = nn.Embedding(c.n_segments, c.d_model)
            nn.init.normal_(self.segments.weight, std=0.02)
        norm = nn.LayerNorm(c.d_model, eps=c.epsilon)
        is_post = c.norm == "post"
        self.embedding_norm = norm if is_post else nn.Identity()
        self.dropout = nn.Dropout(c.dropout)
        layers = [_make_layer(c) for _ in range(c.n_layers)]
        self.encoder = Encoder(layers, None if is_post else norm)

    def embed(
        self,
        token_ids: Int[Tensor, "batch length"],
        segment_ids: Int[Tensor, "batch length"] | None = None,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Add up the embeddings of tokens, positions and segments.

        Raises:
            ValueError: Ids out of range, or segments that there are none of.
        """
        check_token_ids("token_ids", token_ids, self.config.vocab_size)
        offset = caches[0].length if caches else 0
        x = self.positions(self.tokens(token_ids), offset)
        if self.segments is None:
            if segment_ids is not None:
                raise ValueError("segment_ids must be None: n_segments is 0")
        else:
            if segment_ids is None:
                segment_ids = torch.zeros_like(token_ids)
            n_segments = self.config.n_segments
            check_token_ids("segment_ids", segment_ids, n_segments)
            if segment_ids.shape != token_ids.shape:
                raise ValueError(
                    "segment_ids must be of the shape of token_ids, "
                    f"{tuple(token_ids.shape)}, "
                    f"got {tuple(segment_ids.shape)}"
                )
            x = x + self.segments(segment_ids)
        return self.dropout(self.embedding_norm(x))

    def forward(
        self,
        token_ids: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"] | None = None,
        *,
        segment_ids: Int[Tensor, "batch length"] | None = None,
        is_causal: bool = False,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Return the tokens in their context.

        Args:
            token_ids: Padded at the end.
            lengths: How many tokens of each row are real; None for all.
            segment_ids: Which of several sentences each token is of; None
                for the first.
            is_causal: Whether tokens see only what comes before them.
            caches: One for each layer, with the tokens before; is_causal.

        Raises:
            ValueError: Ids or lengths are out of range, or arguments do not
                go together.
        """
        if not isinstance(caches, Sequence | None):
            raise ValueError(
                "caches must be one KeyValueCache for each layer, "
                f"got a {type(caches).__name__}"
            )
        if caches is not None and (not is_causal or lengths is not None):
            raise ValueError(
                "caches want is_causal and rows without padding, got "
                f"is_causal={is_causal} and "
                f"{'no ' if lengths is None else ''}lengths"
            )
        mask = None
        if lengths is not None:
            check_source(token_ids, lengths, self.config.vocab_size)
            if not is_causal:  # else padding is in the future
                mask = padding_mask(lengths, token_ids.shape[1])
        x = self.embed(token_ids, segment_ids, caches)
        return self.encoder(x, mask, caches, is_causal=is_causal)
