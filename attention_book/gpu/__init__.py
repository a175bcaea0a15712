# Made from docs/chapters/20-gpu.md (324685894a18). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.gpu.roofline import (
    Roofline,
    Cost,
    attention_cost,
    linear_cost,
    transformer_flops,
)
from attention_book.gpu.timing import measure_roofline, seconds


__all__ = [
    "Roofline",
    "Cost",
    "attention_cost",
    "linear_cost",
    "measure_roofline",
    "seconds",
    "transformer_flops",
]
