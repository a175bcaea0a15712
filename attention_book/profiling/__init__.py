# Made from docs/fast/machine.md (0663b5d9efec). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""What an operation costs, and what a device can do.

Explained in the chapter "The GPU path".
"""

from attention_book.profiling.roofline import (
    Cost,
    Roofline,
    attention_cost,
    linear_cost,
    peak_flops,
    transformer_flops,
)
from attention_book.profiling.timing import (
    calls_per_round,
    measure_roofline,
    median_time,
    synchronize,
    time_calls,
)


__all__ = [
    "Cost",
    "Roofline",
    "attention_cost",
    "calls_per_round",
    "linear_cost",
    "measure_roofline",
    "median_time",
    "peak_flops",
    "synchronize",
    "time_calls",
    "transformer_flops",
]
