# Made from docs/transformer/subwords.md (a80fcd1e01fe). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Subword tokenizers, and tokenizers as JSON.

Explained in the chapter "Subwords and byte-pair encoding".
"""

import json
from collections.abc import Iterable
from typing import Any

from attention_book.tokenizers.special_tokens import EOS, SPECIAL_TOKENS
from attention_book.tokenizers.words import Tokenizer, WordTokenizer


__all__ = ["BPETokenizer", "tokenizer_from_json", "tokenizer_to_json"]


_MAX_VOCAB_SIZE = 10_000_000  # the library allocates them at once


def _import_tokenizers() -> Any:
    """Import the library that only subwords need."""
    try:
        import tokenizers
    except ImportError:
        raise ImportError("run first: pip install tokenizers") from None
    return tokenizers


def _on_bytes(model: Any) -> Any:
    """Make the library's tokenizer that applies a model to bytes."""
    tokenizers = _import_tokenizers()
    tokenizer = tokenizers.Tokenizer(model)
    as_bytes = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = as_bytes
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


class BPETokenizer:
    """Pieces of words as tokens, found by byte-pair encoding; a Tokenizer.

    Args:
        tokenizer: A tokenizers.Tokenizer whose first three are special.

    Source: Sennrich et al. (2016), §3.2, on bytes as in Radford et al.
        (2019), §2.2.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        tokenizer.encode_special_tokens = True  # "<eos>" in a text is text

    @classmethod
    def train(
        cls, sentences: Iterable[str], vocab_size: int
    ) -> "BPETokenizer":
        """Learn merges until the vocabulary is full.

        Args:
            sentences: Texts of all languages.
            vocab_size: The most tokens, 256 bytes and 3 special tokens
                included; a small corpus gives fewer.

        Raises:
            ValueError: vocab_size is below 259, or millions.
            ImportError: The library tokenizers is not installed.
        """
        # imports PyTorch, which reading texts does without
        from attention_book._checks import check_texts

        check_texts("sentences", sentences)
        if not 259 <= vocab_size <= _MAX_VOCAB_SIZE:
            raise ValueError(
                f"vocab_size must be from 259 to {_MAX_VOCAB_SIZE}, "
                f"got {vocab_size}"
            )
        tokenizers = _import_tokenizers()
        tokenizer = _on_bytes(tokenizers.models.BPE())
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=list(SPECIAL_TOKENS),
            initial_alphabet=tokenizer.pre_tokenizer.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(sentences, trainer)
        return cls(tokenizer)

    def __len__(self) -> int:
        """Return the size of the vocabulary, special tokens included."""
        return int(self.tokenizer.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text; no text is unknown."""
        return list(self.tokenizer.encode(text).ids)

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text up to EOS."""
        ids = list(token_ids)
        ids = ids[: ids.index(EOS)] if EOS in ids else ids
        return str(self.tokenizer.decode(ids))


def tokenizer_to_json(tokenizer: Tokenizer) -> str:
    """Return a tokenizer of either kind as JSON.

    Raises:
        ValueError: It is of another class.
    """
    if isinstance(tokenizer, WordTokenizer):
        return json.dumps({"words": tokenizer.words}, ensure_ascii=False)
    if isinstance(tokenizer, BPETokenizer):
        return json.dumps({"subwords": tokenizer.tokenizer.to_str()})
    raise ValueError(
        "tokenizer must be a WordTokenizer or a BPETokenizer, got "
        f"{type(tokenizer).__name__}"
    )


def _read_subwords(text: str) -> BPETokenizer:
    """Make a tokenizer of a saved one's merges; nothing else is taken over.

    Raises:
        ValueError: A merge or a token id is none.
    """
    saved = json.loads(text)["model"]
    vocab = saved["vocab"]
    merges = [
        tuple(x.split(" ") if type(x) is str else x) for x in saved["merges"]
    ]
    special = [vocab.get(token) for token in SPECIAL_TOKENS]
    if special != [*range(len(special))] or sorted(vocab.values()) != [
        *range(len(vocab))
    ]:
        raise ValueError(
            "subwords must be numbered 0, 1, …, special ones first"
        )
    if not all(
        len(pair) == 2 and {*pair, "".join(pair)} <= vocab.keys()
        for pair in merges
    ):
        raise ValueError(
            "merges must be pairs of subwords that make a subword"
        )
    tokenizers = _import_tokenizers()
    tokenizer = _on_bytes(tokenizers.models.BPE(vocab, merges))
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    return BPETokenizer(tokenizer)


def tokenizer_from_json(text: str) -> Tokenizer:
    """Return the tokenizer that tokenizer_to_json has saved.

    Raises:
        ValueError: The text is of no tokenizer.
    """
    saved = json.loads(text)
    if "words" in saved:
        return WordTokenizer(saved["words"])
    return _read_subwords(saved["subwords"])
