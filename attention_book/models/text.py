# Made from docs/language/tasks.md (277f231b8fa6). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Classifiers of texts. Explained in the chapter "Three shapes of task"."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book._checks import check_size
from attention_book.models.config import TextConfig
from attention_book.models.text_encoder import TextEncoder


__all__ = ["SequenceClassifier", "TokenClassifier"]


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
