"""The wide grammar as a whole, and its split into training and tests.

It contains the narrow grammar of the package, a fifth of its sentences; each
English sentence has one translation only.
"""

import random

from attention_book.data.grammar import Grammar, Phrase, sentence
from attention_book.data.lexicon import PEOPLE
from attention_book.data.split import Split, make_split
from corpora.wide.compounds import draw_clause, draw_compound
from corpora.wide.noun_phrases import WIDE_TIMES, draw_place
from corpora.wide.predicates import (
    draw_comparison,
    draw_existence,
    draw_identity,
    draw_location,
    draw_predicate,
)
from corpora.wide.questions import draw_question, draw_short_question
from corpora.wide.relative_clauses import draw_noun_phrase, is_long
from corpora.wide.statements import (
    draw_command,
    draw_gift,
    draw_hiding,
    draw_statement,
    make_phrase,
)


__all__ = [
    "CONSTRUCTIONS",
    "draw_construction",
    "make_wide_split",
    "wide_sentence",
]


def _fragment(rng: random.Random) -> Phrase:
    """A red book; in the garden; yes."""
    kind = rng.random()
    if kind < 0.1:
        return make_phrase("yes", "是 的")
    if kind < 0.2:
        return make_phrase("no", "不")
    if kind < 0.32:
        if rng.random() < 0.5:
            where = draw_place(rng)
            return make_phrase(where.english, where.chinese, where)
        times = WIDE_TIMES["past"] | WIDE_TIMES["future"] | WIDE_TIMES["now"]
        return make_phrase(*rng.choice(list(times.items())))
    what = draw_noun_phrase(rng, "object", people=0.1)
    if kind < 0.4 and not is_long(what):
        return make_phrase(
            f"{what.english} , please", f"请 给 我 {what.chinese}", what
        )
    return make_phrase(what.english, what.chinese, what)


def _answer(rng: random.Random) -> Phrase:
    """Yes, Tom bought a book."""
    phrase = draw_clause(rng)
    english, chinese = rng.choice([("yes ,", "是 的 ，"), ("no ,", "不 ，")])
    return phrase._replace(
        english=f"{english} {phrase.english}",
        chinese=f"{chinese} {phrase.chinese}",
    )


def _address(rng: random.Random, phrase: Phrase) -> Phrase:
    """Perhaps call somebody by name: where is the key, Tom?"""
    name = rng.choice(list(PEOPLE))
    words = phrase.english.split()
    if rng.random() > 0.07 or len(words) < 3 or {*words} & {"and", ",", name}:
        return phrase
    if rng.random() < 0.5:
        return phrase._replace(
            english=f"{name} , {phrase.english}",
            chinese=f"{PEOPLE[name]} ， {phrase.chinese}",
        )
    english, chinese = phrase.english, phrase.chinese
    end = zh_end = ""
    if words[-1] == "?":
        english, chinese, end, zh_end = english[:-2], chinese[:-2], "?", "？"
    return phrase._replace(
        english=f"{english} , {name} {end}".strip(),
        chinese=f"{chinese} ， {PEOPLE[name]} {zh_end}".strip(),
    )


_KINDS: dict[str, tuple[float, Grammar]] = {
    "statement": (0.27, draw_statement),
    "predicate": (0.12, draw_predicate),
    "location": (0.03, draw_location),
    "identity": (0.05, draw_identity),
    "existence": (0.05, draw_existence),
    "comparison": (0.06, draw_comparison),
    "command": (0.07, draw_command),
    "question": (0.13, draw_question),
    "short question": (0.04, draw_short_question),
    "fragment": (0.03, _fragment),
    "compound": (0.14, draw_compound),
    "answer": (0.01, _answer),
    "gift": (0.05, draw_gift),
    "hiding": (0.035, draw_hiding),
}
CONSTRUCTIONS = tuple(_KINDS)


def draw_construction(rng: random.Random) -> tuple[str, Phrase]:
    """Draw one of the fourteen constructions, and a sentence of it."""
    weights = [weight for weight, _ in _KINDS.values()]
    kind = rng.choices(CONSTRUCTIONS, weights)[0]
    phrase = _address(rng, _KINDS[kind][1](rng))
    if not phrase.english.endswith("?"):
        loud = rng.random() < (0.3 if kind == "command" else 0.04)
        end, zh_end = ("!", "！") if loud else (".", "。")
        phrase = phrase._replace(
            english=f"{phrase.english} {end}",
            chinese=f"{phrase.chinese} {zh_end}",
        )
    return kind, phrase


def wide_sentence(rng: random.Random) -> Phrase:
    """Draw one sentence of the wide grammar, perhaps without its full stop."""
    if rng.random() < 0.2:
        phrase = sentence(rng)
    else:
        _, phrase = draw_construction(rng)
    if rng.random() < 0.08 and phrase.english[-1] != "!":
        phrase = phrase._replace(english=phrase.english[:-2])
    return phrase


def make_wide_split(n_train: int, n_test: int, seed: int = 0) -> Split:
    """Split the wide grammar, without the sentences of the narrow one's tests."""
    narrow = make_split(n_train=1, n_test=1000)
    tests = {english for part in narrow[1:] for english, _ in part}

    def draw(rng: random.Random) -> Phrase:
        phrase = wide_sentence(rng)
        while phrase.english in tests:
            phrase = wide_sentence(rng)
        return phrase

    return make_split(n_train, n_test, seed, draw)
