# Made from docs/chapters/11-corpus.md (d350fde2083d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from attention_book.corpus.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS


__all__ = ["Tokenizer", "WordTokenizer", "detokenize", "tokenize"]


_HAN = r"[\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef]"


def tokenize(text: str) -> str:
    """Put spaces around the punctuation of an English sentence."""
    text = text.replace("’", "'").replace("can't", "can not")
    text = re.sub(r"\b([Ww])on't", r"\1ill not", text).replace("n't", " not")
    return " ".join(re.findall(r"'s\b|\w+|[^\w\s]", text))


def detokenize(text: str) -> str:
    """Write tokens as people do, without spaces where none belong."""
    text = re.sub(r"\s+(?=[.,?!]|'s\b)", "", text)
    return re.sub(rf"(?<={_HAN})\s+(?={_HAN})", "", text)


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
        found = {w for text in sentences for w in tokenize(text).split()}
        return cls(SPECIAL_TOKENS + sorted(found))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """Return the id of each word; ValueError names unknown ones."""
        found = {}
        for word in (words := tokenize(text).split()):  # This as this
            token_id = self.token_ids.get(word)
            if token_id is None:
                token_id = self.token_ids.get(word.lower())
            found[word] = token_id
        if unknown := [word for word in found if found[word] is None]:
            raise ValueError(f"unknown words: {' '.join(unknown)}")
        return [i for word in words if (i := found[word]) is not None]

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text up to EOS."""
        words = []
        for token_id in token_ids:
            if token_id == EOS:
                break
            if token_id not in (PAD, BOS):
                words.append(self.words[token_id])
        return detokenize(" ".join(words))
