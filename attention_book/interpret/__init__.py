# Made from docs/source/explain.md (0b8be5b4d290). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.interpret.attribution import (
    gradient_x_input,
    integrated_gradients,
    leave_one_out,
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
from attention_book.interpret.probe import Trace, find_sites, trace


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
    "integrated_gradients",
    "leave_one_out",
    "mixing_matrices",
    "trace",
    "without_heads",
]
