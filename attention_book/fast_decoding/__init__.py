# Made from docs/chapters/36-fast-decoding.md (f1f1a31a1fcf). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.fast_decoding.beam import beam_search
from attention_book.fast_decoding.captured import StaticDecoder
from attention_book.fast_decoding.decoder import IncrementalDecoder
from attention_book.fast_decoding.generate import write
from attention_book.fast_decoding.prepacked import PrepackedLinear
from attention_book.fast_decoding.translator import GRAMMAR, Translator


__all__ = [
    "GRAMMAR",
    "IncrementalDecoder",
    "PrepackedLinear",
    "StaticDecoder",
    "Translator",
    "beam_search",
    "write",
]
