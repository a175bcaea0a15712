# Made from docs/source/pretrained-files.md (df0da8e9a032). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Tokenizers that others have trained.

Explained on the page "Folders of pretrained models".
"""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attention_book.io.files import printable, read_json, read_small
from attention_book.io.pretrained.marian import MarianConfig
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD


__all__ = ["MarianTokenizer", "TextTokenizer"]


class TextTokenizer:
    """The tokenizer of a BERT or GPT-2, with the ids of its file.

    Args:
        text: What its tokenizer.json holds.

    Attributes:
        tokenizer: That of the library tokenizers, which knows more.

    Raises:
        ValueError: The text is of no tokenizer.
    """

    def __init__(self, text: str) -> None:
        import tokenizers

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


class MarianTokenizer:
    """One side of a Marian model's SentencePiece tokenizer; a Tokenizer.

    Args:
        folder: With vocab.json, source.spm and target.spm.
        side: Of which of the two it is, source or target.
        config: Of the model; says which ids the book has for Marian's.

    Raises:
        OSError: A file is missing, or it can't be read.
        ValueError: A file is of no tokenizer, or does not fit the model.

    Source: Kudo and Richardson (2018).
    """

    def __init__(self, folder: Path, side: str, config: MarianConfig) -> None:
        import sentencepiece

        path = folder / f"{side}.spm"
        try:
            self.pieces: Any = sentencepiece.SentencePieceProcessor(
                model_proto=read_small(path)
            )
        except RuntimeError as error:
            raise ValueError(
                f"{path}: wanted a SentencePiece model, got {printable(error)}"
            ) from None
        path = folder / "vocab.json"
        ids = dict(enumerate(config.book_ids))
        self.token_ids = {
            piece: ids.pop(i, -1) if type(i) is int else -1
            for piece, i in read_json(path).items()
        }
        if -1 in self.token_ids.values() or "<unk>" not in self.token_ids:
            raise ValueError(
                f"{path}: wanted pieces, one of them <unk>, with different "
                f"ids from 0 to {config.marian_vocab_size - 1}"
            )
        self.unknown = self.token_ids["<unk>"]
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
        return [self.token_ids.get(x, self.unknown) for x in pieces] + [EOS]

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text up to EOS, without special tokens."""
        ids = itertools.takewhile(lambda i: i != EOS, token_ids)
        special = (PAD, BOS, self.unknown)
        pieces = [self.tokens.get(i, "") for i in ids if i not in special]
        text = self.pieces.decode_pieces(pieces)
        return str(text.replace("▁", " ").strip())
