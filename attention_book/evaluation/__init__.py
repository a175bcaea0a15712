# Made from docs/source/perturbations.md (4aff8eb5d8fd). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Measures of robustness and fairness, and changes of the input.

Explained in the chapter "Robustness and fairness".
"""

from attention_book.evaluation.calibration import (
    expected_calibration_error,
    fit_temperature,
)
from attention_book.evaluation.images import (
    add_noise,
    adjust_contrast,
    fgsm,
    rotate,
    shift_images,
)
from attention_book.evaluation.metrics import (
    accuracy_by_group,
    equalized_odds_difference,
)


__all__ = [
    "accuracy_by_group",
    "add_noise",
    "adjust_contrast",
    "equalized_odds_difference",
    "expected_calibration_error",
    "fgsm",
    "fit_temperature",
    "rotate",
    "shift_images",
]
