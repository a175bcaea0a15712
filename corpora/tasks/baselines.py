"""Models to compare the trunk with: tokens alone, in a bag, and as a set."""

from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book.attention.functional import padding_mask
from attention_book.models.config import TextConfig


__all__ = ["Alone", "BagOfWords", "without_positions"]


class Alone(nn.Module):
    """Label each token without looking at the others."""

    def __init__(self, config: TextConfig, n_labels: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.head = nn.Sequential(
            nn.Linear(config.d_model, config.d_ff),
            nn.GELU(),
            nn.Linear(config.d_ff, n_labels),
        )

    def forward(
        self,
        token_ids: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"],
    ) -> Float[Tensor, "batch *length n_labels"]:
        """Return the logits of each token."""
        logits: Tensor = self.head(self.tokens(token_ids))
        return logits


class BagOfWords(Alone):
    """Label the mean of the tokens."""

    def forward(
        self,
        token_ids: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"],
    ) -> Float[Tensor, "batch n_labels"]:
        """Return the logits of each row."""
        real = padding_mask(lengths, token_ids.shape[1]).flatten(1)
        total = (self.tokens(token_ids) * real.unsqueeze(2)).sum(dim=1)
        logits: Tensor = self.head(total / lengths.unsqueeze(1))
        return logits


def without_positions(model: Any) -> Any:
    """Give a classifier positions that are zero and stay zero, in place."""
    table = model.encoder.positions.table
    nn.init.zeros_(table)
    table.requires_grad_(False)
    return model
