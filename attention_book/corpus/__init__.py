# Made from docs/chapters/42-grammar.md (5975c5b4dd6a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.corpus.batches import make_batches, pad
from attention_book.corpus.grammar import Phrase, sentence
from attention_book.corpus.leaks import find_leaks, read_pairs
from attention_book.corpus.punctuation import detokenize, tokenize
from attention_book.corpus.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS
from attention_book.corpus.split import Split, is_held_out, make_split
from attention_book.corpus.tokenizers import Tokenizer, WordTokenizer


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
    "find_leaks",
    "is_held_out",
    "make_batches",
    "make_split",
    "pad",
    "read_pairs",
    "sentence",
    "tokenize",
]
