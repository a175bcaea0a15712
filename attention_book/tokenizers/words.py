# Made from docs/transformer/corpus.md (56296c477bb9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The tokenizer of words. Explained in the chapter "A corpus"."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from attention_book.tokenizers.punctuation import detokenize, tokenize
from attention_book.tokenizers.special_tokens import (
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
)


__all__ = ["Tokenizer", "WordTokenizer"]


class WordTokenizer:
    """Whole words as tokens; the vocabulary has the special tokens first."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.token_ids = {word: i for i, word in enumerate(words)}

    @classmethod
    def train(cls, sentences: Iterable[str]) -> "WordTokenizer":
        """Collect the words of sentences."""
        from attention_book._checks import check_texts  # imports PyTorch

        check_texts("sentences", sentences)
        words = {w for text in sentences for w in tokenize(text).split()}
        return cls([*SPECIAL_TOKENS, *sorted(words)])

    def __len__(self) -> int:
        """Return the size of the vocabulary, special tokens included."""
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """Return the token id of each word, in other case if need be.

        Raises:
            ValueError: Words are not in the vocabulary; names them.
        """
        token_ids = []
        unknown = []
        for word in tokenize(text).split():
            forms = (word, word.lower(), word.capitalize())
            known = [self.token_ids[w] for w in forms if w in self.token_ids]
            if known:
                token_ids.append(known[0])
            elif word not in unknown:
                unknown.append(word)
        if unknown:
            raise ValueError(f"unknown words: {' '.join(unknown)}")
        return token_ids

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text up to EOS, without the special tokens."""
        text = itertools.takewhile(lambda i: i != EOS, token_ids)
        words = [self.words[i] for i in text if i not in (PAD, BOS)]
        return detokenize(" ".join(words))


@runtime_checkable
class Tokenizer(Protocol):
    """Turns texts into token ids and back; its len is the vocabulary's."""

    def __len__(self) -> int: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(self, token_ids: Iterable[int]) -> str: ...
