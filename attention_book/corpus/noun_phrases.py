import random
from typing import Literal, NamedTuple

from attention_book.corpus.lexicon import (
    _COLOURS,
    _NOUNS,
    _NUMBERS,
    _OWNERS,
    _PLACES,
    _QUALITIES,
    _TIMES,
    _VERBS,
    PEOPLE,
)


__all__ = ["NounPhrase", "Role", "draw_noun_phrase", "draw_person", "draw_place", "draw_thing"]


Role = Literal["subject", "topic", "object", "negated"]
_OBJECTS = {"me": "我", "you": "你", "him": "他", "her": "她", "it": "它"}
_OBJECTS |= {"us": "我们", "them": "他们"}
_SUBJECTS = {  # English: Chinese, am / is / are
    "I": ("我", "am"),
    "you": ("你", "are"),
    "he": ("他", "is"),
    "she": ("她", "is"),
    "it": ("它", "is"),
    "we": ("我们", "are"),
    "they": ("他们", "are"),
}
_ALL_OWNERS = _OWNERS | {"their": "他们", "its": "它"}
_ANIMALS = ("cat", "horse", "cow", "snake", "bird")
_CONTAINERS = "house car boat hat letter mirror picture book tree".split()
_GROUNDS = {"garden": "花园", "kitchen": "厨房", "market": "市场"}
_GROUNDS |= {"school": "学校"}
_SHORT = ("大", "小", "脏")  # adjectives without 的


class NounPhrase(NamedTuple):
    """Somebody or something, in both languages."""

    english: str
    chinese: str
    heads: tuple[str, ...] = ()  # its nouns, and names
    be: str = "is"  # am, is or are
    pairs: frozenset[tuple[str, str]] = frozenset()


class _Described(NamedTuple):
    """A noun with its adjectives, before it gets an article."""

    english: str
    chinese: str
    noun: str
    measure: str
    plural: bool
    pairs: frozenset[tuple[str, str]]


def _describe(
    rng: random.Random, noun: str, *, plural: bool, simple: bool = False
) -> _Described:
    """Put no, one or two adjectives before the noun."""
    chinese, measure = _NOUNS[noun]
    english = f"{noun}s" if plural else noun
    kind = rng.random()
    words: tuple[str, ...] = ()
    if kind < 0.6 or (simple and kind < 0.8):
        before = ""
    elif kind < 0.92 or simple:
        words = (rng.choice([*_COLOURS, *_QUALITIES]),)
        word = _COLOURS.get(words[0]) or _QUALITIES[words[0]][1]
        before = word if word in _SHORT else f"{word} 的"
        english = f"{words[0]} {english}"
    elif kind < 0.97:
        words = (rng.choice(list(_QUALITIES)), rng.choice(list(_COLOURS)))
        quality, colour = _QUALITIES[words[0]][1], _COLOURS[words[1]]
        before = f"{quality} 的 {colour}"
        if quality in _SHORT:  # 红色 的 大 汽车
            before = f"{colour} 的 {quality}"
        comma = rng.choice(["", "", ","])
        english = f"{words[0]} {comma} {words[1]} {english}"
    else:
        words = tuple(rng.sample(list(_QUALITIES), 2))
        a, b = (_QUALITIES[word][1] for word in words)
        before = f"又 {a} 又 {b} 的"
        joint = rng.choice(["", "and", ","])
        english = f"{words[0]} {joint} {words[1]} {english}"
    pairs = frozenset((word, noun) for word in words)
    chinese = f"{before} {chinese}".strip()
    english = " ".join(english.split())
    return _Described(english, chinese, noun, measure, plural, pairs)


def _indefinite(rng: random.Random, what: _Described, role: Role) -> NounPhrase:
    """A book; one book; two books; books."""
    counted = f"一 {what.measure} {what.chinese}"
    if what.plural and rng.random() < 0.5:
        number = rng.choice(list(_NUMBERS))
        return NounPhrase(
            f"{number} {what.english}",
            f"{_NUMBERS[number]} {what.measure} {what.chinese}",
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


def _definite(rng: random.Random, what: _Described, role: Role) -> NounPhrase:
    """The book; those two books; my book; the cat's book."""
    be = "are" if what.plural else "is"
    pairs = what.pairs
    number = ""
    count = "些"
    if what.plural and rng.random() < 0.2:
        number = rng.choice(list(_NUMBERS))
        count = f" {_NUMBERS[number]} {what.measure}"
        pairs |= {(number, what.noun)}
    counted = f"{count} {what.chinese}" if what.plural else (
        f" {what.measure} {what.chinese}"
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
    """My; Tom's; the cat's."""
    if rng.random() < 0.1:
        noun = rng.choice(_ANIMALS)
        return f"the {noun} 's", _NOUNS[noun][0]
    which = rng.choice(list(_ALL_OWNERS))
    return which, _ALL_OWNERS[which]


def _relative_clause(rng: random.Random, role: Role) -> NounPhrase:
    """The book that Tom bought; the cat that chased Tom."""
    plural = rng.random() < 0.2
    kind = rng.random()
    animal = 0.6 <= kind < 0.85
    noun = rng.choice(_ANIMALS if animal else list(_NOUNS))
    what = _describe(rng, noun, plural=plural, simple=True)
    which = "那些" if plural else f"那 {what.measure}"
    be = "are" if plural else "is"
    pairs = what.pairs
    verb = rng.choice(_VERBS)
    if kind < 0.6:  # its object
        who = draw_person(rng)
        when = rng.choice(["", "", "", *_TIMES["past"]])
        does, chinese = verb.past, verb.chinese
        if verb.participle != "-" and rng.random() < 0.15:
            when = ""
            does = f"{who.be} {verb.participle}"
            chinese = f"正在 {verb.chinese}"
        that = rng.choice(["that ", "that ", ""])
        clause = f"{that}{who.english} {does} {when}"
        chinese = f"{who.chinese} {_TIMES['past'].get(when, '')} {chinese}"
        pairs |= {(verb.base, noun)}
    elif animal:  # its subject
        whom = draw_person(rng, "object")
        if rng.random() < 0.5:
            thing = _describe(
                rng, rng.choice(list(_NOUNS)), plural=False, simple=True
            )
            whom = _definite(rng, thing, "object")
        does, chinese = verb.past, verb.chinese
        if verb.participle != "-" and rng.random() < 0.3:
            does = f"{be} {verb.participle}"
            chinese = f"正在 {verb.chinese}"
        clause = f"that {does} {whom.english}"
        chinese = f"{chinese} {whom.chinese}"
        pairs |= whom.pairs | {(verb.base, head) for head in whom.heads}
    else:  # where it is
        place = draw_place(rng)
        chinese = place.chinese
        pairs |= place.pairs
        clause = f"that {be} {place.english}"
        if role in ("subject", "topic") and rng.random() < 0.6:
            clause = place.english
            chinese = chinese.removeprefix("在 ")
            which = "那些" if plural else ""
    return NounPhrase(
        " ".join(f"the {what.english} {clause}".split()),
        " ".join(f"{chinese} 的 {which} {what.chinese}".split()),
        (noun,),
        be,
        pairs,
    )


def draw_person(rng: random.Random, role: Role = "subject") -> NounPhrase:
    """Tom; I, or me where it is the object."""
    if rng.random() < 0.6:
        name = rng.choice(list(PEOPLE))
        return NounPhrase(name, PEOPLE[name], (name,))
    if role in ("object", "negated"):
        english = rng.choice(list(_OBJECTS))
        return NounPhrase(english, _OBJECTS[english])
    english = rng.choice(list(_SUBJECTS))
    chinese, be = _SUBJECTS[english]
    return NounPhrase(english, chinese, (), be)


def _draw_ground(rng: random.Random) -> NounPhrase:
    """The garden; Tom's clean kitchen."""
    place = rng.choice(list(_GROUNDS))
    english, chinese = place, _GROUNDS[place]
    if rng.random() < 0.3:
        adjective = rng.choice(list(_QUALITIES))
        word = _QUALITIES[adjective][1]
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


def draw_place(rng: random.Random, chance: float = 1) -> NounPhrase:
    """Nothing; in the garden; in my house."""
    if rng.random() >= chance:
        return NounPhrase("", "")
    kind = rng.random()
    if kind < 0.75:
        english, chinese = rng.choice(list(_PLACES.items()))
        return NounPhrase(english, chinese)
    if kind < 0.85:
        where = _draw_ground(rng)
        if "school" in where.english:
            return NounPhrase(f"at {where.english}", f"在 {where.chinese}")
        to = "at" if "market" in where.english else "in"
        return NounPhrase(f"{to} {where.english}", f"在 {where.chinese} 里")
    noun = rng.choice(_CONTAINERS)
    what = _describe(rng, noun, plural=False, simple=True)
    where = _definite(rng, what, "topic")
    if rng.random() < 0.25:
        where = _indefinite(rng, what, "object")
    inside = "上" if noun == "tree" else "里"
    chinese = f"在 {where.chinese} {inside}"
    return NounPhrase(f"in {where.english}", chinese, (), "is", where.pairs)


def draw_thing(
    rng: random.Random, role: Role, *, definite: bool = False
) -> NounPhrase:
    """A book, the book, the book that Tom bought."""
    kind = rng.random()
    if kind < 0.1:
        return _relative_clause(rng, role)
    if kind < 0.14:
        return _draw_ground(rng)
    animal = role == "subject" and rng.random() < 0.7
    noun = rng.choice(_ANIMALS if animal else list(_NOUNS))
    what = _describe(rng, noun, plural=rng.random() < 0.25)
    if definite or rng.random() < 0.55:
        return _definite(rng, what, role)
    return _indefinite(rng, what, role)


def draw_noun_phrase(
    rng: random.Random,
    role: Role,
    *,
    people: float = 0.3,
    definite: bool = False,
) -> NounPhrase:
    """A person or a thing, or two with "and" between them."""

    def one() -> NounPhrase:
        if rng.random() < people:
            return draw_person(rng, role)
        return draw_thing(rng, role, definite=definite)

    first = one()
    if rng.random() > 0.07 or " that " in first.english:
        return first
    second = one()
    while set(first.english.split()) & set(second.english.split()) & {
        *PEOPLE,
        *_SUBJECTS,
        *_OBJECTS,
    } or (first.english in _SUBJECTS or first.english in _OBJECTS):
        first, second = one(), one()
    english, chinese = "and", "和"
    heads, pairs = first.heads, first.pairs
    if rng.random() < 0.15:
        third = draw_thing(rng, role, definite=definite)
        comma = rng.choice(["", ","])
        english = f", {third.english} {comma} and"
        chinese = f"、 {third.chinese} 和"
        heads, pairs = heads + third.heads, pairs | third.pairs
    return NounPhrase(
        " ".join(f"{first.english} {english} {second.english}".split()),
        f"{first.chinese} {chinese} {second.chinese}",
        heads + second.heads,
        "are",
        pairs | second.pairs,
    )
