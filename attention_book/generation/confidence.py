# Made from docs/source/confidence.md (97b6630bea56). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""How far to trust a translation.

Explained on the page "Confidence in a translation".
"""

import math
from typing import NamedTuple


__all__ = ["Calibration", "Translation"]


class Translation(NamedTuple):
    """A translation, and how far to trust it."""

    text: str
    confidence: float  # from 0 to 1: how likely it is right
    is_sure: bool | None  # None where the model's doubts are not calibrated
    lost: tuple[str, ...] = ()  # of the source, and missing here


class Calibration(NamedTuple):
    """Turns a model's own probability into how likely it is right.

    confidence = σ(scale · ln(p / (1 - p)) + offset), with the geometric mean
    p of the probabilities of a translation's tokens. The default leaves p as
    it is, and knows no threshold.

    Source: Platt (1999), §2, on the model's log-odds.
    """

    scale: float = 1.0
    offset: float = 0.0
    threshold: float | None = None  # sure from here on

    def confidence(self, mean_log_prob: float) -> float:
        """Return the calibrated probability."""
        x = self.scale * _log_odds(mean_log_prob) + self.offset
        return 1 / (1 + math.exp(min(-x, 700)))

    def is_sure(self, confidence: float) -> bool | None:
        """Whether that is enough, or None where nobody has found out."""
        return None if self.threshold is None else confidence >= self.threshold


def _log_odds(log_prob: float) -> float:
    """Return ln(p / (1 - p)), where p is kept below 1 - 1e-6."""
    p = min(math.exp(log_prob), 1 - 1e-6)
    return log_prob - math.log1p(-p)
