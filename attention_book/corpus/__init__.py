# Made from docs/chapters/11-corpus.md (7fcd817c2886). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.corpus.batches import make_batches, pad
from attention_book.corpus.grammar import Phrase, sentence
from attention_book.corpus.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS
from attention_book.corpus.split import Split, is_held_out, make_split
from attention_book.corpus.tokenizers import (
    Tokenizer,
    WordTokenizer,
    detokenize,
    tokenize,
)


__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "SPECIAL_TOKENS",
    "Phrase",
    "Split",
    "Tokenizer",
    "WordTokenizer",
    "detokenize",
    "is_held_out",
    "make_batches",
    "make_split",
    "pad",
    "sentence",
    "tokenize",
]
