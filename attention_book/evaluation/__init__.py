# Made from docs/source/perturbations.md (c4eb9dc25065). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
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
from attention_book.evaluation.movement import total_variation
from attention_book.evaluation.occupations import (
    Portrait,
    balance,
    draw_others,
    draw_portraits,
    with_counterparts,
)
from attention_book.evaluation.sentences import (
    NEW_NAMES,
    add_typos,
    is_right_but_for_name,
    negate,
    swap_names,
    swap_words,
    with_new_name,
)
from attention_book.evaluation.shortcuts import (
    HEURISTICS,
    Inference,
    make_inferences,
)
from attention_book.evaluation.traces import Decision, TracedGrammar


__all__ = [
    "HEURISTICS",
    "NEW_NAMES",
    "Decision",
    "Inference",
    "Portrait",
    "TracedGrammar",
    "accuracy_by_group",
    "add_noise",
    "add_typos",
    "adjust_contrast",
    "balance",
    "draw_others",
    "draw_portraits",
    "equalized_odds_difference",
    "expected_calibration_error",
    "fgsm",
    "fit_temperature",
    "is_right_but_for_name",
    "make_inferences",
    "negate",
    "rotate",
    "shift_images",
    "swap_names",
    "swap_words",
    "total_variation",
    "with_counterparts",
    "with_new_name",
]
