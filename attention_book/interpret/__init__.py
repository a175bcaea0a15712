# Made from docs/source/explain.md (859fe754346d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Looking into models, and changing what they compute.

Explained in the chapter "Reading attention".
"""

from attention_book.interpret.attribution import (
    input_x_gradient,
    integrated_gradients,
)
from attention_book.interpret.heads import (
    head_importance,
    list_heads,
    prune_heads,
    without_heads,
)
from attention_book.interpret.mixing import attention_rollout, mixing_matrices
from attention_book.interpret.patching import activation_patching, occlusion
from attention_book.interpret.probe import Trace, list_sites, trace
from attention_book.interpret.replacing import replace_attention


__all__ = [
    "Trace",
    "activation_patching",
    "attention_rollout",
    "head_importance",
    "input_x_gradient",
    "integrated_gradients",
    "list_heads",
    "list_sites",
    "mixing_matrices",
    "occlusion",
    "prune_heads",
    "replace_attention",
    "trace",
    "without_heads",
]
