"""Changes of a sentence after which the right translation is known."""

import random
import re

from attention_book.data.lexicon import NUMBERS, PEOPLE


__all__ = [
    "NEW_NAMES",
    "add_typos",
    "is_right_but_for_name",
    "negate",
    "swap_names",
    "swap_words",
    "with_new_name",
]


_Pair = tuple[str, str]  # a sentence and its translation, as tokens
NEW_NAMES = "Kate Paul Emma John Rose Henry Alice David".split()
_GAP = "＿"  # where a translation may have any name


def swap_names(pair: _Pair) -> _Pair | None:
    """Exchange the two names in a sentence, and in its translation.

    "Tom chased Jerry" becomes "Jerry chased Tom", so another translation is
    right. None if the sentence does not have exactly two names.
    """
    english, chinese = pair
    names = [name for name in PEOPLE if name in english.split()]
    if len(names) != 2:
        return None
    a, b = names
    return (
        _replace(english, {a: b, b: a}),
        _replace(chinese, {PEOPLE[a]: PEOPLE[b], PEOPLE[b]: PEOPLE[a]}),
    )


def negate(pair: _Pair) -> _Pair | None:
    """Put "not" into a statement about the future or about now.

    None for other sentences, and where the object is "a book" or "two
    books", which the grammar does not negate.
    """
    english, chinese = pair
    found = re.fullmatch(r"(\S+) (will|am|is|are) (\S+) (.*) \.", english)
    if not found or found[1] == "who" or found[3] == "not":
        return None
    who, first, verb, what = found.groups()
    is_now = first != "will"
    if is_now and not verb.endswith("ing"):
        return None
    if what.split()[0] in ("a", "an", *NUMBERS):
        return None
    says, instead = ("正在", "没有 在") if is_now else ("会", "不 会")
    return (
        f"{who} {first} not {verb} {what} .",
        _replace(chinese, {says: instead}),
    )


def swap_words(text: str, rng: random.Random) -> str:
    """Exchange two neighbouring words, as a slip; the last token stays."""
    words = text.split()
    i = rng.randrange(len(words) - 2)
    words[i], words[i + 1] = words[i + 1], words[i]
    return " ".join(words)


def add_typos(text: str, n: int, rng: random.Random) -> str:
    """Exchange two neighbouring letters inside each of n words.

    First and last letters stay, so only words of four letters or more can
    change; where there are fewer than n of these, all do.

    Source: Belinkov and Bisk (2018), "swap".
    """
    words = text.split()
    inner = {
        i: [j for j in range(1, len(w) - 2) if w[j] != w[j + 1]]
        for i, w in enumerate(words)
    }
    can_change = [i for i in inner if inner[i]]
    for i in rng.sample(can_change, min(n, len(can_change))):
        j = rng.choice(inner[i])
        w = words[i]
        words[i] = w[:j] + w[j + 1] + w[j] + w[j + 2 :]
    return " ".join(words)


def with_new_name(pair: _Pair, name: str) -> _Pair | None:
    """Replace the first name in a sentence by another.

    Its place in the translation becomes a gap, which only
    is_right_but_for_name understands. None if there is no name.
    """
    english, chinese = pair
    old = next((word for word in english.split() if word in PEOPLE), None)
    if old is None:
        return None
    gapped = _replace(chinese, {PEOPLE[old]: _GAP})
    return _replace(english, {old: name}), gapped


def is_right_but_for_name(output: str, reference: str) -> bool:
    """Whether a translation fits, if gaps hold at least one character."""
    parts = (re.escape(part) for part in reference.split(_GAP))
    return re.fullmatch(".+".join(parts), output) is not None


def _replace(text: str, words: dict[str, str]) -> str:
    """Replace tokens."""
    return " ".join(words.get(word, word) for word in text.split())
