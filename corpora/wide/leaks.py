"""Read which words a sentence of either grammar brings together.

The text alone is read, so that a split can be checked without the records by
which it was made, as the chapter "A corpus" explains.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from attention_book.data.lexicon import (
    COLOURS,
    NOUNS,
    NUMBERS,
    PEOPLE,
    QUALITIES,
    VERBS,
)
from attention_book.data.split import is_held_out


__all__ = ["find_leaks", "read_pairs"]


_NOUN_OF = {form: noun for noun in NOUNS for form in (noun, f"{noun}s")}
_VERB_OF = {form: verb.base for verb in VERBS for form in verb[:4]}
_ADJECTIVE_OF = {word: word for word in (*COLOURS, *QUALITIES)}
_ADJECTIVE_OF |= {row[0]: word for word, row in QUALITIES.items()}
_PRONOUNS = """
    I you he she it we they me him her us them who what
""".split()
_GROUNDS = ["garden", "kitchen", "market", "school"]
_PRONOUNS += ["this", "that", "these", "those", *_GROUNDS]
_BE = ("am", "is", "are", "was", "were")
_ASKS = ["did", "do", "does", "will", "what", "who", "where", "when", "please"]
_TIME = r"\b((this|last|next|every) (morning|week|day|year)|at this moment)\b"


class _Chunk(NamedTuple):
    """A noun phrase, or one word that is not in any."""

    kind: str  # noun, verb, adjective, place; of other words the word
    heads: tuple[str, ...] = ()  # the nouns; or the verb, the adjective


_Pairs = set[tuple[str, str]]


def read_pairs(english: str) -> set[tuple[str, str]]:
    """Read a sentence of either grammar for the pairs of words in it.

    It knows the text alone and nothing of how the sentence was made.

    Args:
        english: Tokens, with spaces between them.

    Returns:
        Verb and object, adjective and noun, number and noun, each word in
        its base form: (big, key) of "this key is bigger than that car .",
        and (big, car) as well.
    """
    pairs: _Pairs = set()
    chunks = _read_chunks(re.sub(_TIME, "", english).split(), pairs)
    chunks = _read_relative_clauses(chunks, pairs)
    for clause in _cut_into_clauses(_join_lists(chunks)):
        _read_clause(clause, pairs)
    return pairs


def find_leaks(
    sentences: Iterable[str],
) -> list[tuple[str, tuple[str, str]]]:
    """Return each sentence that holds a held-out pair, and that pair."""
    return [
        (english, pair)
        for english in sentences
        for pair in sorted(read_pairs(english))
        if is_held_out(pair)
    ]


def _read_chunks(words: list[str], pairs: _Pairs) -> list[_Chunk]:
    """Gather the words into noun phrases and single words."""
    chunks: list[_Chunk] = []
    waiting: list[str] = []  # numbers and adjectives before their noun
    for i, word in enumerate(words):
        after = words[i + 1 : i + 2]
        if word in NUMBERS or (
            word in _ADJECTIVE_OF
            and _is_before_noun(words[i:])
            and not _is_predicate(words, i)
        ):
            waiting.append(_ADJECTIVE_OF.get(word, word))
        elif word in ("and", ",") and waiting:
            continue  # a big and heavy book
        elif word == "one" and words[max(i - 1, 0)] in (
            *_ADJECTIVE_OF,
            "this",
            "that",
        ):
            waiting.clear()  # the black one
            chunks.append(_Chunk("noun"))
        elif word in _NOUN_OF or word in PEOPLE:
            if after != ["'s"]:  # the owner is no head
                noun = _NOUN_OF.get(word, word)
                pairs.update((first, noun) for first in waiting)
                chunks.append(_Chunk("noun", (noun,)))
                waiting.clear()
        elif word in ("this", "these", "those", "her") and _is_before_noun(
            words[i:]
        ):
            continue
        elif word == "that":
            if words[i - 1] not in ("in", "at"):
                chunks.append(_Chunk("that"))
        elif word in _PRONOUNS:
            waiting.clear()  # of the garden: no pair
            chunks.append(_Chunk("noun"))
        elif word in _VERB_OF:
            chunks.append(_Chunk("verb", (_VERB_OF[word],)))
        elif word in _ADJECTIVE_OF:
            chunks.append(_Chunk("adjective", (_ADJECTIVE_OF[word],)))
        elif word == "there" and (
            not {*after} & {*_BE} or words[i - 1] in (*_BE, *_VERB_OF)
        ):
            if i == 1 and words[0] in _BE:
                continue  # is there a cat
            chunks.append(_Chunk("place"))
        elif word in (
            *_BE,
            *_ASKS,
            *["in", "at", "and", "because", "than", ","],
        ):
            chunks.append(_Chunk("be" if word in _BE else word))
        elif word == "not" and words[i - 1] == ",":
            chunks.append(_Chunk("not"))  # a cat, not a bird
    merged: list[_Chunk] = []
    for chunk in chunks:  # in the garden
        if chunk.kind == "noun" and merged and merged[-1].kind in ("in", "at"):
            merged[-1] = _Chunk("place")
        else:
            merged.append(chunk)
    return merged


def _is_before_noun(words: list[str]) -> bool:
    """Whether these words are the beginning of a noun phrase."""
    for word in words[1:]:
        if word in (*_NOUN_OF, *_GROUNDS, "one"):
            return True
        adjective = word in _ADJECTIVE_OF or word in NUMBERS
        if not adjective and word not in ("and", ","):
            return False
    return False


def _is_predicate(words: list[str], i: int) -> bool:
    """Whether "is red" ends here, though a noun follows."""
    if i == 0 or words[i - 1] not in (*_BE, "not"):
        return False
    if i == 1 or words[i - 2] in (*_ASKS, ","):  # where are big birds hiding
        return False
    rest = words[i + 1 :]
    if rest[0] not in ("and", ","):
        return False
    noun = next(
        j for j, word in enumerate(rest) if word in (*_NOUN_OF, *_GROUNDS)
    )
    return bool(
        {*rest[noun + 1 : noun + 2]} & {*_VERB_OF, *_BE, *_ASKS, "that"}
    )


def _kinds(chunks: list[_Chunk], n: int = 4) -> str:
    return " ".join(chunk.kind for chunk in chunks[:n])


_TO_OBJECT = ("noun verb", "noun be verb", "noun did verb", "noun will verb")
_TO_SUBJECT = [
    "verb noun", "be verb noun", "verb that noun", "be verb that noun",
    "be place", "verb place", "be verb place", "be adjective than noun",
    "be adjective than that noun", "be adjective",
]  # fmt: skip


def _read_relative_clauses(
    chunks: list[_Chunk], pairs: _Pairs
) -> list[_Chunk]:
    """Take out the clauses of nouns: the book that Tom bought."""
    kept: list[_Chunk] = []
    i = 0
    while i < len(chunks):
        chunk, rest = chunks[i], chunks[i + 1 :]
        kept.append(chunk)
        i += 1
        if chunk.kind == "that":  # that is a book; that book
            follows = _kinds(rest, 1)
            kept[-1:] = [] if follows == "noun" else [_Chunk("noun")]
        if chunk.kind != "noun" or not chunk.heads:
            continue
        if _kinds(rest, 2) in ("place and", "place ,"):  # the key in my house
            i += 1
            continue
        that = _kinds(rest, 1) == "that"
        rest = rest[that:]
        for form in _TO_OBJECT:
            if _kinds(rest, form.count(" ") + 1) == form:
                verb = rest[form.count(" ")].heads[0]
                pairs.update((verb, head) for head in chunk.heads)
                i += that + len(form.split())
                break
        else:
            for form in _TO_SUBJECT:
                n = len(form.split())
                if that and _kinds(rest, n) == form:
                    if form.startswith("be adjective"):
                        quality = rest[1].heads[0]
                        heads = chunk.heads + rest[n - 1].heads * (n > 2)
                        pairs.update((quality, head) for head in heads)
                    elif not form.endswith("place"):
                        verb = next(
                            c.heads[0] for c in rest if c.kind == "verb"
                        )
                        pairs.update(
                            (verb, head) for head in rest[n - 1].heads
                        )
                    i += 1 + n
                    break
    return kept


def _join_lists(chunks: list[_Chunk]) -> list[_Chunk]:
    """Make one noun of "a bird, a cat and Tom"."""
    joined: list[_Chunk] = []
    i = 0
    while i < len(chunks):
        n = 1
        for form in ("noun , noun , and noun", "noun , noun and noun",
                     "noun and noun"):  # fmt: skip
            size = len(form.split())
            found = chunks[i : i + size]
            if _kinds(found, size) != form:
                continue
            if form == "noun and noun" and _joins_clauses(chunks, i):
                continue
            heads = [head for chunk in found for head in chunk.heads]
            joined.append(_Chunk("noun", tuple(heads)))
            n = size
            break
        else:
            joined.append(chunks[i])
        i += n
    return joined


def _joins_clauses(chunks: list[_Chunk], i: int) -> bool:
    """Whether noun i ends a statement and "and" begins another."""
    if not chunks or chunks[0].kind in ("be", "verb", *_ASKS):
        return False
    finite = {"verb", "be", "will", "did", "do", "does"}
    before = {chunk.kind for chunk in chunks[:i]}
    after = [chunk.kind for chunk in chunks[i + 3 :]]
    after = [kind for kind in after if kind != "place"]
    return bool(before & finite) and bool(finite & {*after[:1]})


def _cut_into_clauses(chunks: list[_Chunk]) -> list[list[_Chunk]]:
    """Cut at because, at commas and at what is left of "and"."""
    clauses: list[list[_Chunk]] = [[]]
    for i, chunk in enumerate(chunks):
        after = _kinds(chunks[i + 1 :], 1)
        if chunk.kind == "," and _kinds(chunks[i + 1 :], 2) == "and adjective":
            after = "adjective"
        listed = after == ("not" if chunk.kind == "," else "adjective")
        listed |= after == "adjective" and chunks[i - 1].kind == "adjective"
        if chunk.kind in (",", "because", "and", "when") and not listed:
            clauses.append([])
        else:
            clauses[-1].append(chunk)
    return clauses


def _read_clause(clause: list[_Chunk], pairs: _Pairs) -> None:
    """Read verb and object, adjective and subject."""
    nouns = [chunk for chunk in clause if chunk.kind == "noun"]
    for i, chunk in enumerate(clause):
        if chunk.kind == "verb":
            following = [c for c in clause[i + 1 :] if c.kind == "noun"]
            gift = _kinds(clause[i + 1 :], 2) == "noun noun"  # buy him a hat
            several = any(c.kind == "not" for c in clause)
            for noun in following[gift : gift + 1 + several]:
                pairs.update((chunk.heads[0], head) for head in noun.heads)
        elif chunk.kind == "adjective":
            than = any(c.kind == "than" for c in clause)
            for noun in nouns[:2] if than else nouns[:1]:
                pairs.update((chunk.heads[0], head) for head in noun.heads)
