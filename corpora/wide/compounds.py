"""Two or three clauses joined by because, when, and, or a comma."""

import random

from attention_book.data.grammar import Grammar, Phrase
from attention_book.data.lexicon import (
    COLOURS,
    NOUNS,
    QUALITIES,
    VERBS,
)
from corpora.wide.noun_phrases import WIDE_TIMES, draw_place
from corpora.wide.predicates import (
    draw_comparison,
    draw_location,
    draw_predicate,
)
from corpora.wide.relative_clauses import is_long
from corpora.wide.statements import (
    draw_command,
    draw_entry,
    draw_hiding,
    draw_object,
    draw_statement,
    draw_subject,
    make_phrase,
)


__all__ = ["draw_clause", "draw_compound", "refer"]


_PREDICATES = {
    *COLOURS,
    *QUALITIES,
    *(row[0] for row in QUALITIES.values()),
}


def draw_clause(rng: random.Random, longest: int = 8) -> Phrase:
    """A statement of any kind, short enough to be joined to another."""
    kinds: list[Grammar] = [
        draw_statement, draw_statement, draw_statement, draw_statement,
        draw_statement, draw_predicate, draw_location, draw_comparison,
        draw_hiding,
    ]  # fmt: skip
    phrase = rng.choice(kinds)(rng)
    while (
        len(phrase.english.split()) > longest
        or phrase.english.split()[0] in ("hide", "do")
        or "?" in phrase.english
        or " , " in phrase.english
        or " and " in phrase.english
    ):
        phrase = rng.choice(kinds)(rng)
    return phrase


_PLURALS = {f"{noun}s" for noun in NOUNS}
_PAST = {"was", "were", "did", *(verb.past for verb in VERBS)}


def refer(first: Phrase, second: Phrase) -> Phrase:
    """Take they and them for the things that the first clause names."""
    words = second.english.split()
    several = {*words} & {"they", "them", "their"}
    if not {*first.english.split()} & _PLURALS or len(several) != 1:
        return second
    located = words[1:2] in (["are"], ["were"]) and (
        {*words[2:4]} & {"in", "at", "there"}
    )
    if several == {"them"} or (words[0] == "they" and located):
        chinese = second.chinese.replace("他们", "它们")
        return second._replace(chinese=chinese)
    return second


def _join(english: str, chinese: str, **clauses: Phrase) -> Phrase:
    """Fill the gaps of two templates with clauses."""
    return Phrase(
        " ".join(
            english.format(
                **{k: c.english for k, c in clauses.items()}
            ).split()
        ),
        " ".join(
            chinese.format(
                **{k: c.chinese for k, c in clauses.items()}
            ).split()
        ),
        "",
        frozenset().union(*(clause.pairs for clause in clauses.values())),
    )


def draw_compound(rng: random.Random) -> Phrase:
    """Because … , …; … because …; … and …"""
    kind = rng.random()
    if kind < 0.16:
        return _when(rng)
    if kind < 0.29:
        return _two_verbs(rng)
    if kind < 0.35:
        return _two_commands(rng)
    if kind < 0.41:
        return _not_that(rng)
    a, b = draw_clause(rng), draw_clause(rng)
    comma = rng.choice(["", ","])
    if rng.random() < 0.03:
        return _join("because {a}", "因为 {a}", a=a)
    if a.english.split()[-1] in _PREDICATES:
        comma = ","  # big and heavy
    if kind < 0.45:
        c = draw_clause(rng, longest=5)
        while a.english.split()[-1] in _PREDICATES:
            a = draw_clause(rng)
        return _join(
            f"{{a}} , {{b}} {comma} and {{c}}",
            "{a} ， {b} ， {c}",
            a=a,
            b=refer(a, b),
            c=refer(a, c),
        )
    kind = rng.random()
    if kind < 0.4:  # the cause comes second
        a = refer(b, a)
        return _join(
            f"{{b}} {comma} because {{a}}", "{b} ， 因为 {a}", a=a, b=b
        )
    b = refer(a, b)
    english, chinese = rng.choice([
        ("because {a} , {b}", "因为 {a} ， 所以 {b}"),
        (f"{{a}} {comma} and {{b}}", "{a} ， {b}"),
        (f"{{a}} {comma} and {{b}}", "{a} ， {b}"),
        ("{a} , {b}", "{a} ， {b}"),
    ])  # fmt: skip
    return _join(english, chinese, a=a, b=b)


def _two_commands(rng: random.Random) -> Phrase:
    """Wash the hat and do not sell it."""
    a, b = draw_command(rng), draw_command(rng)
    while "please" in b.english or len(b.english.split()) > 7:
        b = draw_command(rng)
    while (
        a.english.endswith("please")
        or " and " in a.english
        or "," in a.english
    ):
        a = draw_command(rng)
    joint = rng.choice([",", "and", ", and"])
    return _join(f"{{a}} {joint} {{b}}", "{a} ， {b}", a=a, b=refer(a, b))


def _not_that(rng: random.Random) -> Phrase:
    """He bought the black horse, not the white one; not in the garden."""
    if rng.random() < 0.25:
        phrase = draw_location(rng)
        while {"not", "and"} & {*phrase.english.split()}:
            phrase = draw_location(rng)
        where = draw_place(rng)
        return phrase._replace(
            english=f"{phrase.english} , not {where.english}",
            chinese=f"{phrase.chinese} ， 不 {where.chinese}",
            pairs=phrase.pairs | where.pairs,
        )
    verb = rng.choice(VERBS)
    who = draw_subject(rng)
    whats = [draw_object(rng, verb, who.english) for _ in "ab"]
    while is_long(who) or any(
        is_long(what) or " and " in what.english for what in whats
    ):
        who = draw_subject(rng)
        whats = [draw_object(rng, verb, who.english) for _ in "ab"]
    a, b = whats
    pairs = {(verb.base, head) for what in whats for head in what.heads}
    phrase = make_phrase(
        f"{who.english} {verb.past} {a.english} , not {b.english}",
        f"{who.chinese} {verb.chinese} 了 {a.chinese} ， 而 不 是 {b.chinese}",
        who,
        *whats,
    )
    return phrase._replace(pairs=phrase.pairs | pairs)


def _two_verbs(rng: random.Random) -> Phrase:
    """Tom bought a book and sold a pen."""
    who = draw_subject(rng)
    while is_long(who):
        who = draw_subject(rng)
    tense = rng.choice(["past", "past", "past", "present", "future", "now"])
    when, time = draw_entry(rng, WIDE_TIMES[tense], 0.3)
    aspect = {"future": "会", "now": "正在"}.get(tense, "")
    time = f"{time} {aspect}"
    english: list[str] = []
    chinese: list[str] = []
    phrase = make_phrase("", "", who)
    for verb in rng.sample(
        [
            verb
            for verb in VERBS
            if tense in ("past", "future") or verb.participle != "-"
        ],
        2,
    ):
        what = draw_object(rng, verb, who.english)
        while " and " in what.english or is_long(what):
            what = draw_object(rng, verb, who.english)
        does = verb.third_person if who.be == "is" else verb.base
        if tense == "past":
            does = verb.past
        elif tense == "future":
            does = verb.base if english else f"will {verb.base}"
        elif tense == "now":
            does = (
                verb.participle if english else f"{who.be} {verb.participle}"
            )
        english.append(f"{does} {what.english}")
        chinese.append(
            f"{verb.chinese} {'了' if tense == 'past' else ''} {what.chinese}"
        )
        pairs = {(verb.base, head) for head in what.heads} | what.pairs
        phrase = phrase._replace(pairs=phrase.pairs | pairs)
    clause = f"{who.english} {' and '.join(english)}"
    if when:
        clause = f"{when} {rng.choice(['', ','])} {clause}"
    text = f"{who.chinese} {time} {' ， '.join(chinese)}"
    return phrase._replace(
        english=" ".join(clause.split()), chinese=" ".join(text.split())
    )


def _when(rng: random.Random) -> Phrase:
    """When Tom saw the snake, he broke the mirror."""
    past = rng.random() < 0.6
    a = draw_clause(rng)
    while bool({*a.english.split()} & _PAST) != past or (
        "will" in a.english.split()
    ):
        a = draw_clause(rng)
    b = draw_clause(rng)
    while bool({*b.english.split()} & _PAST) != past:
        b = draw_clause(rng)
    comma = rng.choice(["", ","])
    if rng.random() < 0.4:
        a, english = refer(b, a), f"{{b}} {comma} when {{a}}"
    else:
        b, english = refer(a, b), "when {a} , {b}"
    a = a._replace(chinese=f"{a.chinese} ".replace(" 了 ", " "))
    return _join(english, "当 {a} 时 ， {b}", a=a, b=b)
