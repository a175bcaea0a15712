# Made from docs/chapters/20-gpu.md (4082b48381bc). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.gpu.roofline import (
    Cost,
    Roofline,
    attention_cost,
    linear_cost,
    transformer_flops,
)
from attention_book.gpu.timing import (
    measure_roofline,
    median_time,
    synchronize,
)


__all__ = [
    "Cost",
    "Roofline",
    "attention_cost",
    "linear_cost",
    "measure_roofline",
    "median_time",
    "synchronize",
    "transformer_flops",
]
