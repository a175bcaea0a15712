# Made from docs/chapters/13-decoding.md (b427102d1f68). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.decoding.alignment import cross_weights
from attention_book.decoding.scores import Scores, score
from attention_book.decoding.strategies import greedy, sampler


__all__ = [
    "Scores",
    "cross_weights",
    "greedy",
    "sampler",
    "score",
]
