# Made from docs/source/perturbations.md (2d44fe79ea5a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
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
    expected_calibration_error,
)
from attention_book.evaluation.temperature import fit_temperature


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
