# Made from docs/transformer/corpus.md (7bd7d64a73af). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Which words a sentence brings together, read from its text alone.

Explained in the chapter "A corpus".
"""

from collections.abc import Callable, Iterable

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


def read_pairs(english: str) -> set[tuple[str, str]]:
    """Read a sentence of the grammar for the pairs of words in it.

    It knows the text alone and nothing of how the sentence was made.

    Args:
        english: Tokens, with spaces between them.

    Returns:
        Verb and object, adjective and noun, number and noun, each word in
        its base form: (big, key) of "this key is bigger than that car .",
        and (big, car) as well.
    """
    pairs = set[tuple[str, str]]()
    nouns = list[str]()  # those that were read
    waiting = list[str]()  # words whose noun is still to come
    clause = False  # of a noun: the book that Tom bought
    words = ["", *english.split(), ""]
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        noun = _NOUN_OF.get(word, word if word in PEOPLE else "")
        if word == "that" and before in _NOUN_OF:
            clause = True
        elif word in _VERB_OF and clause:
            pairs.add((_VERB_OF[word], nouns[-1]))
            clause = False
        elif word in _VERB_OF or word in NUMBERS:
            waiting.append(_VERB_OF.get(word, word))
        elif word in _ADJECTIVE_OF:
            waiting.append(_ADJECTIVE_OF[word])
            if before == "is":
                pairs.add((_ADJECTIVE_OF[word], nouns[0]))
        elif noun and after != "'s" and not clause:
            nouns.append(noun)
            pairs.update((first, noun) for first in waiting)
            waiting.clear()
    return pairs


def find_leaks(
    sentences: Iterable[str],
    read: Callable[[str], set[tuple[str, str]]] = read_pairs,
) -> list[tuple[str, tuple[str, str]]]:
    """Return each sentence that holds a held-out pair, and that pair."""
    return [
        (english, pair)
        for english in sentences
        for pair in sorted(read(english))
        if is_held_out(pair)
    ]
