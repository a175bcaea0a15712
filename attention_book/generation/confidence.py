# Made from docs/source/confidence.md (6369d198ea7f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""How far to trust a translation.

Explained in the chapter "Confidence in a translation".
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


__all__ = ["Calibration", "Translation"]


class Translation(NamedTuple):
    """A translation, and how far to trust it."""

    text: str
    confidence: float  # from 0 to 1: how likely it is right
    is_sure: bool


class Calibration(NamedTuple):
    """Turns a model's log-probability into how likely it is right.

    confidence = σ(scale · ln(p / (1 - p)) + offset). The default leaves p as
    it is, and is sure of everything.

    Source: Platt (1999), §2, on the model's log-odds.
    """

    scale: float = 1.0
    offset: float = 0.0
    threshold: float = 0.0  # sure from here on

    def confidence(self, log_prob: float) -> float:
        """Return the calibrated probability."""
        x = self.scale * _log_odds(log_prob) + self.offset
        return 1 / (1 + math.exp(min(-x, 700)))

    @classmethod
    def train(
        cls,
        log_probs: Sequence[float],
        right: Sequence[bool],
        threshold: float = 0.0,
    ) -> "Calibration":
        """Fit scale and offset by logistic regression.

        Args:
            log_probs: What the model gave to its translations.
            right: Which of them were right.
            threshold: Of the new calibration.
        """
        x = torch.tensor([_log_odds(log_prob) for log_prob in log_probs])
        n_right, n_wrong = sum(right), len(right) - sum(right)
        smoothed = (1 / (n_wrong + 2), (n_right + 1) / (n_right + 2))
        labels = torch.tensor([smoothed[is_right] for is_right in right])
        line = torch.tensor([1.0, 0.0], requires_grad=True)
        optimizer: Any = torch.optim.LBFGS([line], max_iter=100)

        def loss() -> Tensor:
            optimizer.zero_grad()
            found = F.binary_cross_entropy_with_logits(
                line[0] * x + line[1], labels
            )
            torch.autograd.backward(found)
            return found

        optimizer.step(loss)
        scale, offset = line.tolist()
        return cls(scale, offset, threshold)


def _log_odds(log_prob: float) -> float:
    """Return ln(p / (1 - p)), where p is kept below 1 - 1e-6."""
    p = min(math.exp(log_prob), 1 - 1e-6)
    return log_prob - math.log1p(-p)
