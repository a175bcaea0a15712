# Made from docs/source/confidence.md (a942d5aa9486). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""How far to trust a translation.

Explained on the page "Confidence in a translation".
"""

import math
from typing import NamedTuple


__all__ = ["UNSURE", "Calibration", "Translation"]


UNSURE = "…"  # stands for the translation of what is no known sentence


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


def _log_odds(log_prob: float) -> float:
    """Return ln(p / (1 - p)), where p is kept below 1 - 1e-6."""
    p = min(math.exp(log_prob), 1 - 1e-6)
    return log_prob - math.log1p(-p)
