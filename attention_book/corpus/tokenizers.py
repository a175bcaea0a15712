# Made from docs/chapters/11-corpus.md (1fa4a96ac5c9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import re
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from attention_book.corpus.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS


__all__ = ["Tokenizer", "WordTokenizer", "detokenize", "tokenize"]


_HAN = r"[\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef]"


def tokenize(text: str) -> str:
    """Put spaces around the punctuation of an English sentence."""
    text = text.replace("’", "'")
    text = re.sub(r"\b([Cc]a)n't\b", r"\1n not", text)
    text = re.sub(r"\b([Ww])on't\b", r"\1ill not", text)
    text = re.sub(r"\b([Ss]ha)n't\b", r"\1ll not", text)
    text = re.sub(r"n't\b", " not", text)
    return " ".join(re.findall(r"'s\b|\w+|[^\w\s]", text))


def detokenize(text: str) -> str:
    """Remove the spaces that people don't type between tokens."""
    text = re.sub(r"\s+(?=[.,?!]|'s\b)", "", text)
    return re.sub(rf"(?<={_HAN})\s+(?={_HAN})", "", text)


@runtime_checkable
class Tokenizer(Protocol):
    """Turns texts into token ids and back."""

    def __len__(self) -> int:
        """Return the size of the vocabulary."""
        ...

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text."""
        ...

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text up to EOS."""
        ...


class WordTokenizer:
    """Whole words as tokens.

    Args:
        words: The vocabulary, the special tokens first.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.token_ids = {word: i for i, word in enumerate(words)}

    @classmethod
    def train(cls, sentences: Iterable[str]) -> "WordTokenizer":
        """Collect the words of sentences."""
        words = {w for text in sentences for w in tokenize(text).split()}
        return cls([*SPECIAL_TOKENS, *sorted(words)])

    def __len__(self) -> int:
        """Return the size of the vocabulary, special tokens included."""
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """Return the token id of each word, in lower case if need be.

        Raises:
            ValueError: Words are not in the vocabulary; names them.
        """
        token_ids = []
        unknown = []
        for word in tokenize(text).split():
            token_id = self.token_ids.get(word)
            if token_id is None:  # This as this
                token_id = self.token_ids.get(word.lower())
            if token_id is None:
                unknown.append(word)
            else:
                token_ids.append(token_id)
        if unknown:
            names = " ".join(dict.fromkeys(unknown))
            raise ValueError(f"unknown words: {names}")
        return token_ids

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text up to EOS, without the special tokens."""
        words = []
        for token_id in token_ids:
            if token_id == EOS:
                break
            if token_id not in (PAD, BOS):
                words.append(self.words[token_id])
        return detokenize(" ".join(words))
