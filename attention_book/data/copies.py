# Made from docs/transformer/real-text.md (55b024cddda1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Pairs with other names and numbers.

Explained in "Translating real sentences".
"""

import random
import re

from attention_book.data.readers import Pair


__all__ = ["with_copies"]


_NAMES = [  # one name in English and in Chinese
    (re.compile(r"\bTom\b"), re.compile("汤姆|Tom")),
    (re.compile(r"\bMary\b"), re.compile("玛丽|Mary")),
    (re.compile(r"\bJohn\b"), re.compile("约翰|John")),
]
_NUMBER = re.compile(r"\d+")
_NO_NUMBER = re.compile(r"\d(?:[a-z]|:\d)")  # 16th, 7:45
_NUMBERS_EACH = 10  # variants of a pair with numbers, as there are few


def with_copies(pairs: list[Pair], seed: int = 0) -> list[Pair]:
    """Return pairs, and after them variants that teach to copy.

    Where both sides have one name that is known here, or the same numbers,
    these become others, the same on both sides.

    Source: Currey et al. (2017), who copy whole sentences.
    """
    rng = random.Random(seed)
    more = []
    for english, chinese in pairs:
        for in_english, in_chinese in _NAMES:
            texts = in_english.findall(english), in_chinese.findall(chinese)
            if list(map(len, texts)) == [1, 1]:
                name = _make_name(rng)
                changed = in_english.sub(name, english)
                more.append((changed, in_chinese.sub(name, chinese)))
        numbers = _NUMBER.findall(english)
        same = sorted(numbers) == sorted(_NUMBER.findall(chinese))
        if numbers and same and not _NO_NUMBER.search(english):
            more += [
                _other_numbers(rng, english, chinese)
                for _ in range(_NUMBERS_EACH)
            ]
    return [*pairs, *more]


def _make_name(rng: random.Random) -> str:
    """Make up a name of two or three syllables."""
    syllables = [
        rng.choice("bcdfghjklmnprstvwz")
        + rng.choice("aeiou")
        + rng.choice(("", "", "l", "n", "r", "s"))
        for _ in range(rng.randint(2, 3))
    ]
    return "".join(syllables).capitalize()


def _other_numbers(rng: random.Random, english: str, chinese: str) -> Pair:
    """Exchange each number for another one of as many digits."""
    others: dict[str, str] = {}
    for number in _NUMBER.findall(english):
        low = 2 if len(number) == 1 else 10 ** (len(number) - 1)
        others[number] = str(rng.randint(low, 10 ** len(number) - 1))
    first, second = (
        _NUMBER.sub(lambda found: others[found[0]], text)
        for text in (english, chinese)
    )
    return first, second
