# Made from docs/chapters/41-grammar.md (8c60a4b8445d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import TYPE_CHECKING

from attention_book.corpus.grammar import Phrase, sentence
from attention_book.corpus.leaks import find_leaks, read_pairs
from attention_book.corpus.punctuation import detokenize, tokenize
from attention_book.corpus.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS
from attention_book.corpus.split import Split, is_held_out, make_split
from attention_book.corpus.tokenizers import Tokenizer, WordTokenizer


if TYPE_CHECKING:
    from attention_book.corpus.batches import make_batches, pad
else:

    def __getattr__(name: str) -> object:
        if name in ("make_batches", "pad"):  # which need PyTorch
            import attention_book.corpus.batches as batches

            return vars(batches)[name]
        raise AttributeError(f"{__name__} has no attribute {name!r}")


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
