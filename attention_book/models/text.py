# Made from docs/language/tasks.md (8765e63f2768). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The trunk of models that read text, and classifiers.

Explained in the chapter "Three shapes of task".
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book._checks import check_size, check_source, check_token_ids
from attention_book.attention.caches import KeyValueCache
from attention_book.attention.functional import padding_mask
from attention_book.attention.positions import LearnedPositions
from attention_book.models.config import TextConfig, make_encoder
from attention_book.models.encoder import FeedForward


__all__ = ["SequenceClassifier", "TextEncoder", "TokenClassifier"]


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "relu": torch.relu,
}


class TextEncoder(nn.Module):
    """From token ids to the vector of each token in its context.

    Embeddings begin as noise of standard deviation 0.02, as in BERT and
    GPT-2. With post-norm they are normalised, with pre-norm the output is.

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
        self.embedding_norm: nn.Module = nn.Identity()
        if c.norm == "post":
            self.embedding_norm = nn.LayerNorm(c.d_model, eps=c.eps)
        self.dropout = nn.Dropout(c.dropout)
        activation = _ACTIVATIONS[c.activation]
        self.encoder = make_encoder(
            c.n_layers,
            c.d_model,
            c.n_heads,
            c.d_ff,
            norm=c.norm,
            dropout=c.dropout,
            eps=c.eps,
            feed_forward=partial(FeedForward, activation=activation),
        )

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
        """
        check_token_ids("token_ids", token_ids, self.config.vocab_size)
        if lengths is not None:
            check_source(token_ids, lengths, self.config.vocab_size)
        if segment_ids is not None and self.segments is None:
            raise ValueError("segment_ids must be None: n_segments is 0")
        if caches is not None and (not is_causal or lengths is not None):
            raise ValueError(
                "caches want is_causal and no lengths, got "
                f"is_causal={is_causal} and lengths {lengths}"
            )
        x = self.tokens(token_ids)
        x = self.positions(x, caches[0].length if caches else 0)
        if self.segments is not None:
            if segment_ids is None:
                segment_ids = torch.zeros_like(token_ids)
            x = x + self.segments(segment_ids)
        x = self.dropout(self.embedding_norm(x))
        mask = None
        if lengths is not None and not is_causal:
            mask = padding_mask(lengths, token_ids.shape[1])
        return self.encoder(x, mask, caches, is_causal=is_causal)


class TokenClassifier(nn.Module):
    """A label for each token: the trunk and one linear layer.

    Args:
        config: The hyperparameters of the trunk.
        n_labels: Number of labels.

    Source: Devlin et al. (2019), figure 4 (d).
    """

    def __init__(self, config: TextConfig, n_labels: int) -> None:
        super().__init__()
        check_size("n_labels", n_labels)
        self.config = config
        self.encoder = TextEncoder(config)
        self.head = nn.Linear(config.d_model, n_labels)

    def forward(
        self,
        token_ids: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"] | None = None,
        segment_ids: Int[Tensor, "batch length"] | None = None,
    ) -> Float[Tensor, "batch length n_labels"]:
        """Return the logits of each token; arguments as TextEncoder's."""
        x = self.encoder(token_ids, lengths, segment_ids=segment_ids)
        return self.head(x)


class SequenceClassifier(nn.Module):
    """A label for the whole sequence, read off its first token.

    Args:
        config: The hyperparameters of the trunk.
        n_labels: Number of labels.

    Source: Devlin et al. (2019), §3 and figure 4 (b). The hidden layer with
        tanh, which BERT calls its pooler, is that of its code.
    """

    def __init__(self, config: TextConfig, n_labels: int) -> None:
        super().__init__()
        check_size("n_labels", n_labels)
        self.config = config
        self.encoder = TextEncoder(config)
        self.pooler = nn.Linear(config.d_model, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.head = nn.Linear(config.d_model, n_labels)

    def forward(
        self,
        token_ids: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"] | None = None,
        segment_ids: Int[Tensor, "batch length"] | None = None,
    ) -> Float[Tensor, "batch n_labels"]:
        """Return the logits of each row; arguments as TextEncoder's."""
        x = self.encoder(token_ids, lengths, segment_ids=segment_ids)
        pooled = torch.tanh(self.pooler(x[:, 0]))
        return self.head(self.dropout(pooled))
