# Made from docs/chapters/60-explain.md (2796d30d7e18). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.explain.explanations import (
    Explanation,
    explain_image,
    explain_sentence,
)
from attention_book.explain.pictures import HeatMap, to_html, to_svg


__all__ = [
    "Explanation",
    "HeatMap",
    "explain_image",
    "explain_sentence",
    "to_html",
    "to_svg",
]
