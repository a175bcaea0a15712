# Made from docs/transformer/subwords.md (3c91ab93a6d3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Subword tokenizers, and tokenizers as JSON.

Explained in the chapter "Subwords and byte-pair encoding".
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise

from attention_book.tokenizers.special_tokens import EOS, SPECIAL_TOKENS
from attention_book.tokenizers.words import Tokenizer, WordTokenizer


__all__ = ["BPETokenizer", "tokenizer_from_json", "tokenizer_to_json"]


_Merge = tuple[bytes, bytes]

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_PARTS = re.compile(
    rf"'(?:[sdmt]|ll|re|ve)(?![^\W\d_])"  # the end of Tom's or don't
    rf"|[{_HAN}]"  # a Chinese character
    rf"| ?[^\W\d_{_HAN}]+"  # a word, with the space before it
    r"| ?\d|.",  # a digit; anything else
    re.DOTALL,
)


def _merge(row: list[bytes], pair: _Merge) -> list[bytes]:
    """Join the two pieces wherever they stand side by side."""
    merged = row[:1]
    for piece in row[1:]:
        if (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


class BPETokenizer:
    """Pieces of words as tokens, found by byte-pair encoding; a Tokenizer.

    Args:
        merges: Which pieces are joined, the first ones first.
        prefixes: More special tokens, with one of which a text may begin.

    Attributes:
        parts: The pattern of what merges stay within. A text that begins
            with no Chinese character is cut as if after a space.

    Source: Sennrich et al. (2016), §3.2, on bytes as in Radford et al.
        (2019), §2.2.
    """

    parts = _PARTS

    def __init__(
        self, merges: Iterable[_Merge], prefixes: Sequence[str] = ()
    ) -> None:
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.prefixes = list(prefixes)
        special = [x.encode() for x in (*SPECIAL_TOKENS, *prefixes)]
        single = [bytes([byte]) for byte in range(256)]
        joined = [first + second for first, second in self.ranks]
        self.pieces = [*special, *dict.fromkeys([*single, *joined])]
        self.n_special = len(special)
        self.token_ids = {
            piece: i
            for i, piece in enumerate(self.pieces)
            if i >= self.n_special
        }
        self._encode_part = lru_cache(2**16)(self._cut_part)

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        vocab_size: int,
        prefixes: Sequence[str] = (),
    ) -> "BPETokenizer":
        """Learn merges until the vocabulary is full.

        Args:
            sentences: Texts of all languages.
            vocab_size: The most tokens, 256 bytes and the special tokens
                included; a small corpus gives fewer, since what occurs once
                is not merged.
            prefixes: As above.

        Raises:
            ValueError: vocab_size is too small for bytes and special tokens.
        """
        # imports PyTorch, which reading texts does without
        from attention_book._checks import check_size, check_texts

        check_texts("sentences", sentences)
        bare = cls([], prefixes)
        check_size("vocab_size", vocab_size, len(bare))
        counts = Counter(
            part
            for text in sentences
            for part in bare.split(text.removeprefix(bare._prefix(text)))
        )
        rows = {part: [bytes([byte]) for byte in part] for part in counts}
        pairs = Counter[_Merge]()
        where = defaultdict[_Merge, dict[bytes, None]](dict)
        for part, row in rows.items():
            for pair in pairwise(row):
                pairs[pair] += counts[part]
                where[pair][part] = None
        heap = [(-n, pair) for pair, n in pairs.items()]
        heapify(heap)
        merges: dict[_Merge, None] = {}
        while heap and len(bare) + len(merges) < vocab_size:
            n, best = heappop(heap)
            if -n != pairs[best]:
                continue  # an old count; the new one is in the heap as well
            if pairs[best] < 2:
                break
            merges[best] = None
            changed = set[_Merge]()
            for part in where.pop(best):
                old, new = rows[part], _merge(rows[part], best)
                rows[part] = new
                for pair in pairwise(old):
                    pairs[pair] -= counts[part]
                for pair in pairwise(new):
                    pairs[pair] += counts[part]
                    where[pair][part] = None
                changed |= {*pairwise(old), *pairwise(new)}
            for pair in changed:
                heappush(heap, (-pairs[pair], pair))
        return cls(merges, prefixes)

    def __len__(self) -> int:
        """Return the size of the vocabulary, special tokens included."""
        return len(self.pieces)

    def split(self, text: str) -> list[bytes]:
        """Cut a text into the parts that merges stay within."""
        before = "" if not text or re.match(f"[{_HAN}]", text) else " "
        return [x.encode() for x in self.parts.findall(before + text)]

    def _prefix(self, text: str) -> str:
        """Return the special token that a text begins with, if any."""
        return next((x for x in self.prefixes if text.startswith(x)), "")

    def _cut_part(self, part: bytes) -> list[int]:
        """Merge the bytes of a part; return the token ids of the pieces."""
        row = [bytes([byte]) for byte in part]
        while found := [x for x in pairwise(row) if x in self.ranks]:
            row = _merge(row, min(found, key=self.ranks.__getitem__))
        return [self.token_ids[piece] for piece in row]

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text; no text is unknown."""
        token_ids = []
        if prefix := self._prefix(text):
            first = len(SPECIAL_TOKENS)
            token_ids = [first + self.prefixes.index(prefix)]
        for part in self.split(text.removeprefix(prefix)):
            token_ids += self._encode_part(part)
        return token_ids

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text up to EOS, without the special tokens."""
        ids = list(token_ids)
        ids = ids[: ids.index(EOS)] if EOS in ids else ids
        pieces = [self.pieces[i] for i in ids if i >= self.n_special]
        return b"".join(pieces).decode(errors="replace").removeprefix(" ")


def tokenizer_to_json(tokenizer: Tokenizer) -> str:
    """Return a tokenizer of either kind as JSON.

    Raises:
        ValueError: It is of another class.
    """
    if isinstance(tokenizer, WordTokenizer):
        return json.dumps({"words": tokenizer.words}, ensure_ascii=False)
    if isinstance(tokenizer, BPETokenizer):
        merges = [[x.decode("latin-1") for x in y] for y in tokenizer.ranks]
        saved = {"merges": merges, "prefixes": tokenizer.prefixes}
        return json.dumps(saved, ensure_ascii=False)
    raise ValueError(
        "tokenizer must be a WordTokenizer or a BPETokenizer, got "
        f"{type(tokenizer).__name__}"
    )


def tokenizer_from_json(text: str) -> Tokenizer:
    """Return the tokenizer that tokenizer_to_json has saved.

    Raises:
        ValueError: The text is of no tokenizer.
    """
    saved = json.loads(text)
    if "words" in saved:
        return WordTokenizer(saved["words"])
    merges = [tuple(x.encode("latin-1") for x in y) for y in saved["merges"]]
    known = {bytes([byte]) for byte in range(256)}
    for merge in merges:
        if len(merge) != 2 or not known.issuperset(merge):
            raise ValueError(f"merges must be of known pieces, got {merge}")
        known.add(b"".join(merge))
    return BPETokenizer(merges, saved["prefixes"])
