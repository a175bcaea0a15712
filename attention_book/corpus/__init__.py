# Made from docs/chapters/11-corpus.md (23f21172b575). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.corpus.batches import make_batches, pad
from attention_book.corpus.grammar import sentence
from attention_book.corpus.phrases import Phrase
from attention_book.corpus.special_tokens import EOS, PAD, SPECIAL_TOKENS, BOS
from attention_book.corpus.split import Split, is_held_out, make_split
from attention_book.corpus.tokenizers import (
    WordTokenizer,
    tokenize,
    detokenize,
)


__all__ = [
    "EOS",
    "PAD",
    "Phrase",
    "SPECIAL_TOKENS",
    "BOS",
    "Split",
    "WordTokenizer",
    "is_held_out",
    "make_batches",
    "make_split",
    "pad",
    "sentence",
    "tokenize",
    "detokenize",
]
