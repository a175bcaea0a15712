# Made from docs/source/fast-decoding.md (d254812fbec9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Generating text, and translating. Explained in the chapter "Decoding"."""

from attention_book.generation.alignment import cross_weights
from attention_book.generation.beam import beam_search
from attention_book.generation.confidence import Calibration, Translation
from attention_book.generation.cuda_graphs import CUDAGraphDecoder
from attention_book.generation.decoder import (
    CachedDecoder,
    DecodingState,
    StepDecoder,
)
from attention_book.generation.exact import Exact, exact_search
from attention_book.generation.generate import (
    Hypothesis,
    NextToken,
    generate,
    greedy,
    sampler,
)
from attention_book.generation.incremental import IncrementalDecoder
from attention_book.generation.scores import Scores, score
from attention_book.generation.text import PromptDecoder, generate_text
from attention_book.generation.translator import EVERYDAY, Translator


__all__ = [
    "EVERYDAY",
    "CUDAGraphDecoder",
    "CachedDecoder",
    "Calibration",
    "DecodingState",
    "Exact",
    "Hypothesis",
    "IncrementalDecoder",
    "NextToken",
    "PromptDecoder",
    "Scores",
    "StepDecoder",
    "Translation",
    "Translator",
    "beam_search",
    "cross_weights",
    "exact_search",
    "generate",
    "generate_text",
    "greedy",
    "sampler",
    "score",
]
