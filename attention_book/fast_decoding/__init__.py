# Made from docs/chapters/36-fast-decoding.md (cfadad92a113). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.fast_decoding.beam import fast_beam_search
from attention_book.fast_decoding.captured import (
    StaticDecoder,
    StaticDecodingState,
)
from attention_book.fast_decoding.decoder import IncrementalDecoder
from attention_book.fast_decoding.generate import fast_generate
from attention_book.fast_decoding.prepacked import PrepackedLinear
from attention_book.fast_decoding.translator import GRAMMAR, Translator


__all__ = [
    "GRAMMAR",
    "IncrementalDecoder",
    "PrepackedLinear",
    "StaticDecoder",
    "StaticDecodingState",
    "Translator",
    "fast_beam_search",
    "fast_generate",
]
