# Made from docs/chapters/48-batch-decoding.md (d8e9d0116212). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.decoding.alignment import cross_weights
from attention_book.decoding.beam import beam_search
from attention_book.decoding.confidence import (
    Calibration,
    Translation,
    sequence_log_probs,
)
from attention_book.decoding.generate import generate
from attention_book.decoding.scores import Scores, score
from attention_book.decoding.strategies import NextToken, greedy, sampler


__all__ = [
    "Calibration",
    "NextToken",
    "Scores",
    "Translation",
    "beam_search",
    "cross_weights",
    "generate",
    "greedy",
    "sampler",
    "score",
    "sequence_log_probs",
]
