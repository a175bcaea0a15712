# Made from docs/source/perturbations.md (f5180cc4cc12). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Measures of robustness and fairness.

Explained in the chapter "Robustness and fairness".
"""

from attention_book.evaluation.calibration import (
    expected_calibration_error,
    fit_temperature,
)
from attention_book.evaluation.metrics import (
    accuracy_by_group,
    equalized_odds_difference,
)


__all__ = [
    "accuracy_by_group",
    "equalized_odds_difference",
    "expected_calibration_error",
    "fit_temperature",
]
