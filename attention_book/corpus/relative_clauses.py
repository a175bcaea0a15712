# Made from docs/chapters/53-wide-grammar.md (d6fb6666cc53). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import random

from attention_book.corpus.lexicon import (
    _COLOURS,
    _NOUNS,
    _NUMBERS,
    _QUALITIES,
    _TIMES,
    _VERBS,
    PEOPLE,
)
from attention_book.corpus.noun_phrases import (
    ANIMALS,
    OBJECTS,
    SUBJECTS,
    Described,
    NounPhrase,
    Role,
    describe,
    draw_ground,
    draw_person,
    draw_place,
    make_definite,
    make_indefinite,
)


__all__ = ["draw_noun_phrase", "draw_thing", "is_long"]


_CLAUSE_WORDS = {verb.past for verb in _VERBS} | {"is", "are", "am", "did"}


def _which(
    rng: random.Random, what: Described
) -> tuple[str, str, frozenset[tuple[str, str]]]:
    """The article of a noun with a clause, in both languages; its pair."""
    kind = rng.random()
    none = frozenset[tuple[str, str]]()
    if what.plural and kind < 0.2:
        number = rng.choice(list(_NUMBERS))
        count = f"{_NUMBERS[number]} {what.measure}"
        article, chinese = rng.choice([("", ""), ("the ", "那 ")])
        pair = frozenset({(number, what.noun)})
        return f"{article}{number}", f"{chinese}{count}", pair
    if what.plural:
        return "the", "那些", none
    if kind < 0.15:
        article = "an" if what.english[0] in "aeiou" else "a"
        return article, f"一 {what.measure}", none
    if kind < 0.22:
        return "this", f"这 {what.measure}", none
    return "the", f"那 {what.measure}", none


def _draw_animal(rng: random.Random) -> NounPhrase:
    """The cat; my small bird."""
    what = describe(rng, rng.choice(ANIMALS), plural=False, simple=True)
    who = make_definite(rng, what, "subject")
    while who.english.split()[0] in ("this", "that"):
        who = make_definite(rng, what, "subject")
    return who


def _relative_clause(rng: random.Random, role: Role) -> NounPhrase:
    """The book that Tom bought; the cat that chased Tom."""
    plural = rng.random() < 0.2
    kind = rng.random()
    animal = 0.6 <= kind < 0.8
    noun = rng.choice(ANIMALS if animal else list(_NOUNS))
    what = describe(rng, noun, plural=plural, simple=True)
    be = "are" if plural else "is"
    which, zh_which, pairs = _which(rng, what)
    pairs |= what.pairs
    verb = rng.choice(_VERBS)
    if kind < 0.6:  # its object
        who = draw_person(rng)
        that = rng.choice(["that ", "that ", ""])
        if that and rng.random() < 0.2:  # the book that my cat found
            who = _draw_animal(rng)
            pairs |= who.pairs
        where = draw_place(rng, 0.25)
        when, time = rng.choice([("", ""), *_TIMES["past"].items()])
        when, time = (when, time) if rng.random() < 0.3 else ("", "")
        does, chinese = verb.past, verb.chinese
        if verb.participle != "-" and rng.random() < 0.15:
            when, time, where = "", "", NounPhrase("", "")
            does = f"{who.be} {verb.participle}"
            chinese = f"正在 {verb.chinese}"
        elif rng.random() < 0.1:
            when, time, where = "", "", NounPhrase("", "")
            does = f"did not {verb.base}"
            chinese = f"没有 {verb.chinese}"
        clause = f"{that}{who.english} {does} {where.english} {when}"
        chinese = f"{who.chinese} {time} {where.chinese} {chinese}"
        pairs |= where.pairs | {(verb.base, noun)}
    elif animal:  # its subject
        whom = draw_person(rng, "object")
        if rng.random() < 0.5:
            thing = describe(
                rng, rng.choice(list(_NOUNS)), plural=False, simple=True
            )
            whom = make_definite(rng, thing, "object")
        does, chinese = verb.past, verb.chinese
        if verb.participle != "-" and rng.random() < 0.3:
            does = f"{be} {verb.participle}"
            chinese = f"正在 {verb.chinese}"
        clause = f"that {does} {whom.english}"
        chinese = f"{chinese} {whom.chinese}"
        pairs |= whom.pairs | {(verb.base, head) for head in whom.heads}
    elif kind < 0.88:  # what it is like
        adjective = rng.choice([*_COLOURS, *_QUALITIES])
        chinese = _COLOURS.get(adjective) or _QUALITIES[adjective][1]
        clause = f"that {be} {adjective}"
        pairs |= {(adjective, noun)}
    else:  # where it is
        place = draw_place(rng)
        chinese = place.chinese
        pairs |= place.pairs
        clause = f"that {be} {place.english}"
        if which == "the" and (
            role in ("subject", "topic") and rng.random() < 0.6
        ):
            clause = place.english
            chinese = chinese.removeprefix("在 ")
            zh_which = "那些" if plural else ""
    return NounPhrase(
        " ".join(f"{which} {what.english} {clause}".split()),
        " ".join(f"{chinese} 的 {zh_which} {what.chinese}".split()),
        (noun,),
        be,
        pairs,
    )


def draw_thing(
    rng: random.Random, role: Role, *, definite: bool = False
) -> NounPhrase:
    """A book, the book, the book that Tom bought."""
    kind = rng.random()
    if kind < 0.1:
        return _relative_clause(rng, role)
    if kind < 0.14:
        return draw_ground(rng)
    animal = role == "subject" and rng.random() < 0.7
    noun = rng.choice(ANIMALS if animal else list(_NOUNS))
    what = describe(rng, noun, plural=rng.random() < 0.25)
    if definite or rng.random() < 0.55:
        return make_definite(rng, what, role)
    return make_indefinite(rng, what, role)


def is_long(noun_phrase: NounPhrase) -> bool:
    """Whether it may end in a clause or a place of its own."""
    words = {*noun_phrase.english.split()[1:]}
    return bool(words & {"that", "in", "at", *_CLAUSE_WORDS})


def _draw_one(
    rng: random.Random, role: Role, people: float, definite: bool
) -> NounPhrase:
    """A person, with this probability, or a thing."""
    if rng.random() < people:
        return draw_person(rng, role)
    return draw_thing(rng, role, definite=definite)


def draw_noun_phrase(
    rng: random.Random,
    role: Role,
    *,
    people: float = 0.3,
    definite: bool = False,
) -> NounPhrase:
    """A person or a thing, or two with "and" between them."""
    first = _draw_one(rng, role, people, definite)
    if rng.random() > 0.07 or is_long(first):
        return first
    second = _draw_one(rng, role, people, definite)
    while set(first.english.split()) & set(second.english.split()) & {
        *PEOPLE,
        *SUBJECTS,
        *OBJECTS,
    } or (
        is_long(first) or first.english in SUBJECTS or first.english in OBJECTS
    ):
        first = _draw_one(rng, role, people, definite)
        second = _draw_one(rng, role, people, definite)
    english, chinese = "and", "和"
    heads, pairs = first.heads, first.pairs
    if rng.random() < 0.15:
        third = draw_thing(rng, role, definite=definite)
        while is_long(third):
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
