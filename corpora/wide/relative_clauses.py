"""Noun phrases with relative clauses.

A time at the end of a sentence belongs to the nearest clause, so the main
clause of an object with a clause has its time and place at the beginning.
"""

import random

from attention_book.data.lexicon import (
    COLOURS,
    NOUNS,
    NUMBERS,
    PEOPLE,
    QUALITIES,
    VERBS,
    Verb,
)
from corpora.wide.noun_phrases import (
    ANIMALS,
    PRONOUN_OBJECTS,
    PRONOUN_SUBJECTS,
    WIDE_TIMES,
    Described,
    NounPhrase,
    Role,
    describe,
    draw_ground,
    draw_person,
    draw_place,
    fit_them,
    inside,
    is_hidden_inside,
    make_definite,
    make_indefinite,
)


__all__ = ["draw_noun_phrase", "draw_thing", "is_long"]


_VERB = {verb.base: verb for verb in VERBS}
_HIDE, _BREAK = _VERB["hide"], _VERB["break"]
_CLAUSE_WORDS = {form for verb in VERBS for form in verb[:4]}


def _which(
    rng: random.Random, what: Described
) -> tuple[str, str, frozenset[tuple[str, str]]]:
    """The article of a noun with a clause, in both languages; its pair."""
    kind = rng.random()
    none = frozenset[tuple[str, str]]()
    if what.plural and kind < 0.2:
        number = rng.choice(list(NUMBERS))
        count = f"{NUMBERS[number]} {what.measure}"
        article, chinese = rng.choice([("", ""), ("the ", "那 ")])
        pair = frozenset({(number, what.noun)})
        return f"{article}{number}", f"{chinese}{count}", pair
    if what.plural and kind < 0.3:
        return (*rng.choice([("these", "这些"), ("those", "那些")]), none)
    if what.plural:
        return "the", "那些", none
    if kind < 0.15:
        article = "an" if what.english[0] in "aeiou" else "a"
        return article, f"一 {what.measure}", none
    if kind < 0.22:
        return "this", f"这 {what.measure}", none
    if kind < 0.26:
        return "that", f"那 {what.measure}", none
    return "the", f"那 {what.measure}", none


def _draw_animal(rng: random.Random) -> NounPhrase:
    """The cat; my small bird."""
    what = describe(rng, rng.choice(ANIMALS), plural=False, simple=True)
    who = make_definite(rng, what, "subject")
    while who.english.split()[0] in ("this", "that"):
        who = make_definite(rng, what, "subject")
    return who


_Clause = tuple[str, str, frozenset[tuple[str, str]]]


def _clause_of_object(rng: random.Random, noun: str) -> _Clause:
    """The book that Tom bought in the garden."""
    verb = rng.choice([*VERBS, _HIDE])
    who = draw_person(rng)
    that = rng.choice(["that ", "that ", ""])
    if that and rng.random() < 0.2:  # the book that my cat found
        who = _draw_animal(rng)
    where = draw_place(rng, 0.5 if verb is _HIDE else 0.25)
    nowhere = NounPhrase("", "")
    when, time = "", ""
    does, chinese = verb.past, verb.chinese
    kind = rng.random()
    if kind < 0.3:
        when, time = rng.choice(list(WIDE_TIMES["past"].items()))
    elif kind < 0.38 and verb.participle != "-":
        where = nowhere
        does, chinese = f"{who.be} {verb.participle}", f"正在 {verb.chinese}"
    elif kind < 0.46:
        where = nowhere
        does, chinese = f"did not {verb.base}", f"没有 {verb.chinese}"
    elif kind < 0.52:
        does, time = f"will {verb.base}", "会"
    elif kind < 0.6 and verb.participle != "-":
        does = verb.third_person if who.be == "is" else verb.base
    clause = f"{that}{who.english} {does} {where.english} {when}"
    place = f"{where.chinese} {chinese}"
    if is_hidden_inside(verb, where):
        place = f"{chinese} {where.chinese}"
    pairs = who.pairs | where.pairs | {(verb.base, noun)}
    return clause, f"{who.chinese} {time} {place}", pairs


def _clause_of_subject(rng: random.Random, be: str, verb: Verb) -> _Clause:
    """The cat that chased Tom; the cat that is hiding in the garden."""
    if verb.base == "hide" and rng.random() < 0.6:
        where = draw_place(rng)
        does, chinese = rng.choice([
            ("hid", "藏"),
            (f"{be} hiding", "正 藏"),
            ("hides" if be == "is" else "hide", "藏"),
        ])  # fmt: skip
        clause = f"that {does} {where.english}"
        return clause, f"{chinese} 在 {inside(where)}", where.pairs
    whom = fit_them(draw_person(rng, "object"), verb)
    if verb.base == "break" or rng.random() < 0.6:
        thing = describe(
            rng,
            rng.choice(list(NOUNS)),
            plural=rng.random() < 0.2,
            simple=True,
        )
        whom = make_definite(rng, thing, "object")
        if rng.random() < 0.3:
            whom = make_indefinite(rng, thing, "object")
    where = draw_place(rng, 0.2)
    does, chinese = verb.past, f"{where.chinese} {verb.chinese}"
    kind = rng.random()
    if verb.participle != "-" and kind < 0.3:
        does, where = f"{be} {verb.participle}", NounPhrase("", "")
        chinese = f"正在 {verb.chinese}"
    elif verb.participle != "-" and kind < 0.4:
        does = verb.third_person if be == "is" else verb.base
    chinese = f"{chinese} {whom.chinese}"
    if is_hidden_inside(verb, where):
        chinese = f"把 {whom.chinese} {verb.chinese} {where.chinese}"
    pairs = {(verb.base, head) for head in whom.heads}
    return (
        f"that {does} {whom.english} {where.english}",
        chinese,
        whom.pairs | where.pairs | pairs,
    )


def _clause_of_quality(rng: random.Random, noun: str, be: str) -> _Clause:
    """The hat that is red; the hat that was bigger than my cat."""
    past = "was" if be == "is" else "were"
    be = past if rng.random() < 0.2 else be
    if rng.random() < 0.5:
        word = rng.choice([*COLOURS, *QUALITIES])
        chinese = COLOURS.get(word) or QUALITIES[word][1]
        return f"that {be} {word}", chinese, frozenset({(word, noun)})
    word = rng.choice(list(QUALITIES))
    comparative, quality = QUALITIES[word]
    than = draw_person(rng, "object")
    if rng.random() < 0.6:
        thing = describe(
            rng,
            rng.choice(list(NOUNS)),
            plural=rng.random() < 0.2,
            simple=True,
        )
        make = rng.choice([make_definite, make_definite, make_indefinite])
        than = make(rng, thing, "topic")
    pairs = {(word, head) for head in (noun, *than.heads)}
    return (
        f"that {be} {comparative} than {than.english}",
        f"比 {than.chinese} 更 {quality}",
        than.pairs | pairs,
    )


def _relative_clause(rng: random.Random, role: Role) -> NounPhrase:
    """The book that Tom bought; the cat that chased Tom."""
    plural = rng.random() < 0.2
    kind = rng.random()
    animal = 0.5 <= kind < 0.7
    noun = rng.choice(ANIMALS if animal else list(NOUNS))
    verb = rng.choice([*VERBS, _HIDE])
    if animal and rng.random() < 0.15:  # the stone that broke the lamp
        noun = rng.choice(list(NOUNS))
        verb = _BREAK
    what = describe(rng, noun, plural=plural, simple=True)
    be = "are" if plural else "is"
    which, zh_which, pairs = _which(rng, what)
    if kind < 0.5:
        clause, chinese, more = _clause_of_object(rng, noun)
    elif animal:
        clause, chinese, more = _clause_of_subject(rng, be, verb)
    elif kind < 0.85:
        clause, chinese, more = _clause_of_quality(rng, noun, be)
    else:  # where it is
        place = draw_place(rng)
        past = "were" if plural else "was"
        clause = f"that {past if rng.random() < 0.2 else be} {place.english}"
        chinese, more = place.chinese, place.pairs
        if which == "the" and (
            role in ("subject", "topic") and rng.random() < 0.6
        ):
            clause = place.english
            chinese = chinese.removeprefix("在 ")
            zh_which = "那些" if plural else ""
    if kind > 0.7 and which in ("a", "an"):  # 一 只 比 猫 更 大 的 鸟
        chinese, zh_which = f"{zh_which} {chinese}", ""
    return NounPhrase(
        " ".join(f"{which} {what.english} {clause}".split()),
        " ".join(f"{chinese} 的 {zh_which} {what.chinese}".split()),
        (noun,),
        be,
        pairs | what.pairs | more,
    )


def draw_thing(
    rng: random.Random, role: Role, *, definite: bool = False
) -> NounPhrase:
    """A book, the book, the book that Tom bought."""
    kind = rng.random()
    if kind < 0.13:
        return _relative_clause(rng, role)
    if kind < 0.17:
        return draw_ground(rng)
    if kind < 0.185:  # the black one
        word = rng.choice([*COLOURS, *QUALITIES])
        chinese = COLOURS.get(word) or QUALITIES[word][1]
        which, count = rng.choice([("the", "那 个"), ("a", "一 个")])
        is_object = role in ("object", "negated")
        if which == "the" or (is_object and not definite):
            return NounPhrase(f"{which} {word} one", f"{count} {chinese} 的")
    animal = role == "subject" and rng.random() < 0.7
    noun = rng.choice(ANIMALS if animal else list(NOUNS))
    what = describe(rng, noun, plural=rng.random() < 0.25)
    if definite or rng.random() < 0.55:
        return make_definite(rng, what, role)
    return make_indefinite(rng, what, role)


def is_long(noun_phrase: NounPhrase) -> bool:
    """Whether it may end in a clause or a place of its own."""
    words = {*noun_phrase.english.split()[1:]}
    return bool(words & {"that", "in", "at", "there", *_CLAUSE_WORDS})


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
        *PRONOUN_SUBJECTS,
        *PRONOUN_OBJECTS,
    } or (
        is_long(first)
        or first.english in PRONOUN_SUBJECTS
        or first.english in PRONOUN_OBJECTS
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
