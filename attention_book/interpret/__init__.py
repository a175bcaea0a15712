# Made from docs/source/explain.md (8d6f1e19e475). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Looking into models, and changing what they compute.

Explained in the chapter "Reading attention".
"""

from attention_book.interpret.attribution import (
    gradient_x_input,
    input_x_gradient,
    integrated_gradients,
    leave_one_out,
    occlusion,
)
from attention_book.interpret.heads import find_heads, without_heads
from attention_book.interpret.mixing import (
    attention_flow,
    attention_rollout,
    contribution_norms,
    mixing_matrices,
)
from attention_book.interpret.patching import (
    activation_patching,
    attribution_patching,
)
from attention_book.interpret.probe import Trace, trace
from attention_book.interpret.sites import find_sites


__all__ = [
    "Trace",
    "activation_patching",
    "attention_flow",
    "attention_rollout",
    "attribution_patching",
    "contribution_norms",
    "find_heads",
    "find_sites",
    "gradient_x_input",
    "input_x_gradient",
    "integrated_gradients",
    "leave_one_out",
    "mixing_matrices",
    "occlusion",
    "trace",
    "without_heads",
]
