"""Noun phrases, whose translation depends on where they stand.

Chinese has no "the": a subject is a bare noun and an object takes "that". So
each phrase knows its role, and still has one translation only.
"""

import random
from typing import Literal, NamedTuple

from attention_book.data.lexicon import (
    COLOURS,
    NOUNS,
    NUMBERS,
    OWNERS,
    PEOPLE,
    PLACES,
    QUALITIES,
    TIMES,
    Verb,
)


__all__ = [
    "ANIMALS",
    "PEOPLE_AS_OBJECTS",
    "PRONOUN_OBJECTS",
    "PRONOUN_SUBJECTS",
    "WIDE_TIMES",
    "Described",
    "NounPhrase",
    "Role",
    "describe",
    "draw_ground",
    "draw_person",
    "draw_place",
    "fit_them",
    "inside",
    "is_hidden_inside",
    "make_definite",
    "make_indefinite",
]


Role = Literal["subject", "topic", "object", "negated"]
PRONOUN_OBJECTS = {
    "me": "我",
    "you": "你",
    "him": "他",
    "her": "她",
    "it": "它",
}
PRONOUN_OBJECTS |= {"us": "我们", "them": "他们"}
PRONOUN_SUBJECTS = {  # English: Chinese, am / is / are
    "I": ("我", "am"),
    "you": ("你", "are"),
    "he": ("他", "is"),
    "she": ("她", "is"),
    "it": ("它", "is"),
    "we": ("我们", "are"),
    "they": ("他们", "are"),
}
_ALL_OWNERS = OWNERS | {"their": "他们", "its": "它"}
ANIMALS = ("cat", "horse", "cow", "snake", "bird")
_CONTAINERS = """
    house house car car boat hat letter mirror picture book tree tree
    chair shirt umbrella newspaper
""".split()
_GROUNDS = {"garden": "花园", "kitchen": "厨房", "market": "市场"}
_GROUNDS |= {"school": "学校"}
WIDE_TIMES = {
    "past": {"last year": "去年"},
    "future": {"next year": "明年"},
    "present": {"every week": "每周 都", "every morning": "每天 早上 都"},
    "now": {},
}
WIDE_TIMES = {kind: TIMES[kind] | more for kind, more in WIDE_TIMES.items()}
PEOPLE_AS_OBJECTS = ("see", "find", "chase", "draw")
_SHORT = ("大", "小", "脏")  # adjectives without 的


class NounPhrase(NamedTuple):
    """Somebody or something, in both languages."""

    english: str
    chinese: str
    heads: tuple[str, ...] = ()  # its nouns, and names
    be: str = "is"  # am, is or are
    pairs: frozenset[tuple[str, str]] = frozenset()


class Described(NamedTuple):
    """A noun with its adjectives, before it gets an article."""

    english: str
    chinese: str
    noun: str
    measure: str
    plural: bool
    pairs: frozenset[tuple[str, str]]


def describe(
    rng: random.Random, noun: str, *, plural: bool, simple: bool = False
) -> Described:
    """Put no, one or two adjectives before the noun."""
    chinese, measure = NOUNS[noun]
    english = f"{noun}s" if plural else noun
    kind = rng.random()
    words: tuple[str, ...] = ()
    if kind < 0.6 or (simple and kind < 0.8):
        before = ""
    elif kind < 0.92 or simple:
        words = (rng.choice([*COLOURS, *QUALITIES]),)
        word = COLOURS.get(words[0]) or QUALITIES[words[0]][1]
        before = word if word in _SHORT else f"{word} 的"
        english = f"{words[0]} {english}"
    elif kind < 0.97:
        words = (rng.choice(list(QUALITIES)), rng.choice(list(COLOURS)))
        quality, colour = QUALITIES[words[0]][1], COLOURS[words[1]]
        before = f"{quality} 的 {colour}"
        if quality in _SHORT:  # 红色 的 大 汽车
            before = f"{colour} 的 {quality}"
        comma = rng.choice(["", "", ","])
        english = f"{words[0]} {comma} {words[1]} {english}"
    else:
        words = tuple(rng.sample(list(QUALITIES), 2))
        a, b = (QUALITIES[word][1] for word in words)
        before = f"又 {a} 又 {b} 的"
        joint = rng.choice(["", "and", ","])
        english = f"{words[0]} {joint} {words[1]} {english}"
    pairs = frozenset((word, noun) for word in words)
    chinese = f"{before} {chinese}".strip()
    english = " ".join(english.split())
    return Described(english, chinese, noun, measure, plural, pairs)


def make_indefinite(
    rng: random.Random, what: Described, role: Role
) -> NounPhrase:
    """A book; one book; two books; books."""
    counted = f"一 {what.measure} {what.chinese}"
    if what.plural and rng.random() < 0.5:
        number = rng.choice(list(NUMBERS))
        return NounPhrase(
            f"{number} {what.english}",
            f"{NUMBERS[number]} {what.measure} {what.chinese}",
            (what.noun,),
            "are",
            what.pairs | {(number, what.noun)},
        )
    if what.plural:
        return NounPhrase(
            what.english, what.chinese, (what.noun,), "are", what.pairs
        )
    if rng.random() < 0.08:
        english = f"one {what.english}"
        return NounPhrase(english, counted, (what.noun,), "is", what.pairs)
    article = "an" if what.english[0] in "aeiou" else "a"
    bare = role in ("topic", "negated")
    return NounPhrase(
        f"{article} {what.english}",
        what.chinese if bare else counted,
        (what.noun,),
        "is",
        what.pairs,
    )


def make_definite(
    rng: random.Random, what: Described, role: Role
) -> NounPhrase:
    """The book; those two books; my book; the cat's book."""
    be = "are" if what.plural else "is"
    pairs = what.pairs
    number = ""
    count = "些"
    if what.plural and rng.random() < 0.2:
        number = rng.choice(list(NUMBERS))
        count = f" {NUMBERS[number]} {what.measure}"
        pairs |= {(number, what.noun)}
    counted = (
        f"{count} {what.chinese}"
        if what.plural
        else (f" {what.measure} {what.chinese}")
    )
    kind = rng.random()
    if kind < 0.45:
        which = "the"
        chinese = f"那{counted}"
        if role in ("subject", "topic") and not what.plural:
            chinese = what.chinese
    elif kind < 0.65:
        near = rng.random() < 0.5
        which = ("this", "these")[what.plural]
        if not near:
            which = ("that", "those")[what.plural]
        chinese = f"{'这' if near else '那'}{counted}"
    else:
        which, owner = _draw_owner(rng)
        if number:
            chinese = f"{owner} 的 {counted}"
        elif "的" in what.chinese:  # not 汤姆 的 红色 的 书
            chinese = f"{owner} 那{counted}"
        else:
            chinese = f"{owner} 的 {what.chinese}"
    return NounPhrase(
        " ".join(f"{which} {number} {what.english}".split()),
        " ".join(chinese.split()),
        (what.noun,),
        be,
        pairs,
    )


def _draw_owner(rng: random.Random) -> tuple[str, str]:
    """My; Tom's; the cat's; Tom's cat's."""
    which = rng.choice(list(_ALL_OWNERS))
    kind = rng.random()
    if kind > 0.15:
        return which, _ALL_OWNERS[which]
    noun = rng.choice(ANIMALS)
    chinese = NOUNS[noun][0]
    if kind > 0.07:
        return f"the {noun} 's", chinese
    return f"{which} {noun} 's", f"{_ALL_OWNERS[which]} 的 {chinese}"


def draw_person(rng: random.Random, role: Role = "subject") -> NounPhrase:
    """Tom; I, or me where it is the object."""
    if rng.random() < 0.6:
        name = rng.choice(list(PEOPLE))
        return NounPhrase(name, PEOPLE[name], (name,))
    if role in ("object", "negated"):
        english = rng.choice(list(PRONOUN_OBJECTS))
        return NounPhrase(english, PRONOUN_OBJECTS[english])
    english = rng.choice(list(PRONOUN_SUBJECTS))
    chinese, be = PRONOUN_SUBJECTS[english]
    return NounPhrase(english, chinese, (), be)


def fit_them(noun_phrase: NounPhrase, verb: Verb) -> NounPhrase:
    """Make "them" things, unless the verb is of those for people."""
    if noun_phrase.english == "them" and verb.base not in PEOPLE_AS_OBJECTS:
        return noun_phrase._replace(chinese="它们")
    return noun_phrase


def draw_ground(rng: random.Random) -> NounPhrase:
    """The garden; Tom's clean kitchen."""
    place = rng.choice(list(_GROUNDS))
    english, chinese = place, _GROUNDS[place]
    if rng.random() < 0.3:
        adjective = rng.choice(list(QUALITIES))
        word = QUALITIES[adjective][1]
        word = word if word in _SHORT else f"{word} 的"
        english, chinese = f"{adjective} {english}", f"{word} {chinese}"
    kind = rng.random()
    if kind < 0.15:
        which, zh_which = rng.choice([("this", "这"), ("that", "那")])
        return NounPhrase(f"{which} {english}", f"{zh_which} 个 {chinese}")
    if kind < 0.6 or "的" in chinese:
        return NounPhrase(f"the {english}", chinese)
    which, owner = _draw_owner(rng)
    return NounPhrase(f"{which} {english}", f"{owner} 的 {chinese}")


def draw_place(rng: random.Random, chance: float = 1.0) -> NounPhrase:
    """Nothing; in the garden; there; in my house."""
    if rng.random() >= chance:
        return NounPhrase("", "")
    kind = rng.random()
    if kind < 0.05:
        return NounPhrase("there", "在 那里")
    if kind < 0.7:
        english, chinese = rng.choice(list(PLACES.items()))
        return NounPhrase(english, chinese)
    if kind < 0.85:
        where = draw_ground(rng)
        if "school" in where.english:
            return NounPhrase(f"at {where.english}", f"在 {where.chinese}")
        to = "at" if "market" in where.english else "in"
        return NounPhrase(f"{to} {where.english}", f"在 {where.chinese} 里")
    noun = rng.choice(_CONTAINERS)
    what = describe(rng, noun, plural=False, simple=True)
    where = make_definite(rng, what, "topic")
    if rng.random() < 0.25:
        where = make_indefinite(rng, what, "object")
    inside = "上" if noun == "tree" else "里"
    chinese = f"在 {where.chinese} {inside}"
    return NounPhrase(f"in {where.english}", chinese, (), "is", where.pairs)


def inside(where: NounPhrase) -> str:
    """Turn 在 学校 into the place of something, 学校 里."""
    chinese = where.chinese.removeprefix("在 ")
    return f"{chinese} 里" if chinese.endswith("学校") else chinese


def is_hidden_inside(verb: Verb, where: NounPhrase) -> bool:
    """Whether something is hidden in a thing: 把 它 藏 在 树 上."""
    return verb.base == "hide" and where.english not in (
        *PLACES,
        "there",
        "",
    )
