# Made from docs/source/pretrained-files.md (861f623d5398). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Tokenizers that others have trained.

Explained on the page "Folders of pretrained models".
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attention_book.io.files import (
    parse_json,
    printable,
    read_json,
    read_small,
)
from attention_book.io.pretrained.marian import MarianConfig, book_ids
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD


__all__ = ["MarianTokenizer", "TextTokenizer"]


class TextTokenizer:
    """The tokenizer of a BERT or GPT-2, with the ids of its file.

    Args:
        text: What its tokenizer.json holds.

    Raises:
        ImportError: The library tokenizers is not installed.
        ValueError: The text is of no tokenizer.
    """

    def __init__(self, text: str) -> None:
        try:
            import tokenizers
        except ImportError:
            raise ImportError("run first: pip install tokenizers") from None
        parse_json(text)
        try:
            self.tokenizer = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(
                f"wanted a tokenizer, got {printable(error)}"
            ) from None
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def __len__(self) -> int:
        """Return the size of the vocabulary, special tokens included."""
        return int(self.tokenizer.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, with the model's special tokens."""
        return list(self.tokenizer.encode(text).ids)

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text, without special tokens."""
        return str(self.tokenizer.decode(list(token_ids)))

    def token_id(self, token: str) -> int:
        """Return the id of a token, such as [MASK].

        Raises:
            ValueError: There is no such token.
        """
        found = self.tokenizer.token_to_id(token)
        if found is None:
            raise ValueError(f"wanted a token, got {printable(token, 60)!r}")
        return int(found)


def _read_vocabulary(path: Path, size: int) -> dict[str, int]:
    """Return the id of each piece, in Marian's numbering.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It numbers the pieces in no way that fits.
    """
    found = read_json(path)
    fits = all(type(x) is int and 0 <= x < size for x in found.values())
    if not fits or len(set(found.values())) < len(found):
        raise ValueError(
            f"{path}: wanted pieces with different ids from 0 to {size - 1}"
        )
    if "<unk>" not in found:
        raise ValueError(f"{path}: wanted the piece '<unk>', got none")
    return found


class MarianTokenizer:
    """One side of a Marian model's SentencePiece tokenizer; a Tokenizer.

    Args:
        folder: With vocab.json, source.spm and target.spm.
        side: Of which of the two it is, source or target.
        config: Of the model; says which ids the book has for Marian's.

    Raises:
        ImportError: The library sentencepiece is not installed.
        OSError: A file is missing, or it can't be read.
        ValueError: A file is of no tokenizer, or does not fit the model.

    Source: Kudo and Richardson (2018).
    """

    def __init__(self, folder: Path, side: str, config: MarianConfig) -> None:
        try:
            import sentencepiece
        except ImportError:
            raise ImportError("run first: pip install sentencepiece") from None
        ids = book_ids(config)
        vocabulary = _read_vocabulary(folder / "vocab.json", len(ids))
        path = folder / f"{side}.spm"
        try:
            self.pieces: Any = sentencepiece.SentencePieceProcessor(
                model_proto=read_small(path)
            )
        except RuntimeError as error:
            raise ValueError(
                f"{path}: wanted a SentencePiece model, got {printable(error)}"
            ) from None
        self.token_ids = {piece: ids[i] for piece, i in vocabulary.items()}
        self.tokens = {i: piece for piece, i in self.token_ids.items()}
        self.size = config.target_vocab_size

    def __len__(self) -> int:
        """Return the size of the vocabulary, with the book's PAD."""
        return self.size

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text and EOS; no text is unknown.

        A language code such as >>cmn_Hans<< at the beginning is one token.
        """
        code, end, rest = text.partition("<<")
        pieces = []
        if text.startswith(">>") and end:
            pieces.append(code + end)
            text = rest
        pieces += self.pieces.encode(text, out_type=str)
        unknown = self.token_ids["<unk>"]
        return [self.token_ids.get(x, unknown) for x in pieces] + [EOS]

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text up to EOS, without special tokens."""
        found = []
        skipped = (PAD, BOS, self.token_ids["<unk>"])
        for token_id in token_ids:
            if token_id == EOS:
                break
            if token_id not in skipped:
                found.append(self.tokens.get(token_id, ""))
        text = self.pieces.decode_pieces(found)
        return str(text.replace("▁", " ").strip())
