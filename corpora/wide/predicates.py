"""Sentences with "is", of which Chinese has six kinds.

A colour takes 是…的, a quality 很, a thing 是, a place 在, "there is" is 有, and
a comparison takes 比.
"""

import random

from attention_book.data.grammar import Phrase
from attention_book.data.lexicon import (
    COLOURS,
    NUMBERS,
    PEOPLE,
    QUALITIES,
)
from corpora.wide.noun_phrases import (
    PRONOUN_SUBJECTS,
    WIDE_TIMES,
    NounPhrase,
    draw_person,
    draw_place,
    inside,
)
from corpora.wide.relative_clauses import (
    draw_noun_phrase,
    draw_thing,
    is_long,
)
from corpora.wide.statements import (
    draw_entry,
    make_phrase,
    note,
    place_adverbs,
)


__all__ = [
    "DEMONSTRATIVES",
    "draw_comparison",
    "draw_existence",
    "draw_identity",
    "draw_location",
    "draw_predicate",
    "draw_tense",
    "make_thing",
]


_IT = NounPhrase("it", "它")
DEMONSTRATIVES = [
    NounPhrase("this", "这"),
    NounPhrase("that", "那"),
    NounPhrase("these", "这些", (), "are"),
    NounPhrase("those", "那些", (), "are"),
]


_ONES = [NounPhrase("this one", "这个"), NounPhrase("that one", "那个")]


def make_thing(noun_phrase: NounPhrase) -> NounPhrase:
    """Take "they" for things."""
    if noun_phrase.english == "they":
        return noun_phrase._replace(chinese="它们")
    return noun_phrase


def draw_tense(rng: random.Random, be: str) -> tuple[str, str, str]:
    """Is or was, and perhaps a time in both languages."""
    kind = rng.random()
    if kind < 0.15:
        past = "were" if be == "are" else "was"
        return (past, *draw_entry(rng, WIDE_TIMES["past"], 0.4))
    return (be, *draw_entry(rng, WIDE_TIMES["now"], float(kind < 0.23)))


def draw_predicate(rng: random.Random) -> Phrase:
    """The apple is red; the hat is dirtier now; the key is Tom's."""
    who = make_thing(draw_noun_phrase(rng, "topic"))
    if rng.random() < 0.08:
        who = rng.choice([*DEMONSTRATIVES, *_ONES])
    be, when, time = draw_tense(rng, who.be)
    no, zh_no = ("not", "不") if rng.random() < 0.2 else ("", "")
    colours = rng.sample(list(COLOURS), 2)
    qualities = rng.sample(list(QUALITIES), 2)
    colour, other = (COLOURS[word] for word in colours)
    quality, second = (QUALITIES[word][1] for word in qualities)
    kind = rng.random()
    if kind < 0.3:
        words, english = colours[:1], f"{no} {colours[0]}"
        chinese = f"{zh_no} 是 {colour} 的"
    elif kind < 0.76:
        words, english = qualities[:1], f"{no} {qualities[0]}"
        chinese = f"{zh_no or '很'} {quality}"
    elif kind < 0.82:
        words, english = qualities[:1], QUALITIES[qualities[0]][0]
        chinese = f"更 {quality}"
    elif kind < 0.86:
        words, english = colours, " and ".join(colours)
        chinese = f"是 {colour} 和 {other} 的"
    elif kind < 0.91:
        words, english = qualities, " and ".join(qualities)
        chinese = f"又 {quality} 又 {second}"
    elif kind < 0.93:
        words = [colours[0], qualities[0]]
        chinese = f"是 {colour} 的 ， 很 {quality}"
        if rng.random() < 0.5:
            words = words[::-1]
            chinese = f"很 {quality} ， 是 {colour} 的"
        english = " and ".join(words)
    elif kind < 0.95:  # big , clean and pretty
        words = rng.sample(list(QUALITIES), rng.choice([3, 3, 4]))
        comma = rng.choice(["", ","])
        english = f"{' , '.join(words[:-1])} {comma} and {words[-1]}"
        chinese = " ".join(f"又 {QUALITIES[word][1]}" for word in words)
    else:
        return _draw_owner_predicate(rng)
    phrase = make_phrase(
        place_adverbs(rng, f"{who.english} {be} {english}", when, ""),
        f"{who.chinese} {time} {chinese}",
        who,
    )
    for word in words:
        phrase = note(phrase, word, who)
    return phrase


def _draw_owner_predicate(rng: random.Random) -> Phrase:
    """The umbrella is Tom's; is this Tom's?"""
    who = draw_thing(rng, "topic", definite=True)
    if rng.random() < 0.35:
        who = rng.choice([*DEMONSTRATIVES, _IT])
    name, chinese = rng.choice(list(PEOPLE.items()))
    if rng.random() < 0.2:
        english = f"{who.be} {who.english} {name} 's ?"
        return make_phrase(
            english, f"{who.chinese} 是 {chinese} 的 吗 ？", who
        )
    no, zh_no = ("not", "不") if rng.random() < 0.2 else ("", "")
    return make_phrase(
        f"{who.english} {who.be} {no} {name} 's",
        f"{who.chinese} {zh_no} 是 {chinese} 的",
        who,
    )


def draw_location(rng: random.Random) -> Phrase:
    """Tom is in the garden."""
    who = draw_noun_phrase(rng, "topic", people=0.5, definite=True)
    be, when, time = draw_tense(rng, who.be)
    where = draw_place(rng)
    no, zh_no = ("not", "不") if rng.random() < 0.2 else ("", "")
    if be == who.be and not no and rng.random() < 0.06:
        when, time = rng.choice(list(WIDE_TIMES["present"].items()))
    return make_phrase(
        place_adverbs(
            rng, f"{who.english} {be} {no} {where.english}", when, ""
        ),
        f"{who.chinese} {time} {zh_no} {where.chinese}",
        who,
        where,
    )


def draw_identity(rng: random.Random) -> Phrase:
    """This is a book; those are not my books; he is Tom."""
    plural = rng.random() < 0.25
    it, they, we = _IT, NounPhrase("they", "它们"), NounPhrase("we", "我们")
    who = rng.choice([*DEMONSTRATIVES[:2], DEMONSTRATIVES[0], it])
    if plural:
        who = rng.choice([*DEMONSTRATIVES[2:], they, we])
    what = draw_thing(rng, "object")
    while (what.be == "are") != plural:
        what = draw_thing(rng, "object")
    kind = rng.random()
    if not plural and kind < 0.25:
        who = rng.choice([
            *DEMONSTRATIVES[:2], NounPhrase("I", "我", (), "am"),
            NounPhrase("you", "你", (), "are"), NounPhrase("he", "他"),
            NounPhrase("she", "她"),
        ])  # fmt: skip
        if who in DEMONSTRATIVES or rng.random() < 0.6:
            name = rng.choice(list(PEOPLE))
            what = NounPhrase(name, PEOPLE[name], (name,))
    elif not plural and kind < 0.36:
        who = draw_noun_phrase(rng, "topic", people=0.6, definite=True)
        while who.be != "is" or who.english in ("he", "she", "it"):
            who = draw_noun_phrase(rng, "topic", people=0.6, definite=True)
        if rng.random() < 0.15:
            name = rng.choice(list(PEOPLE))
            what = NounPhrase(name, PEOPLE[name], (name,))
    be = "are" if plural else who.be
    if rng.random() < 0.15:
        be = "were" if be == "are" else "was"
    kind = rng.random()
    if kind < 0.15:
        english = f"{be} {who.english} {what.english} ?"
        return make_phrase(
            english, f"{who.chinese} 是 {what.chinese} 吗 ？", who, what
        )
    no, zh_no = ("not", "不") if kind < 0.35 else ("", "")
    return make_phrase(
        f"{who.english} {be} {no} {what.english}",
        f"{who.chinese} {zh_no} 是 {what.chinese}",
        who,
        what,
    )


def _draw_indefinite(rng: random.Random) -> NounPhrase:
    """A cat; two cats; cats; a cat that Tom saw."""
    definite = "the this that these those my your his her our their its"
    while True:
        what = draw_thing(rng, "object")
        first, *rest = what.english.split()
        if first not in definite.split() and "'s" not in rest[:1]:
            return what


def draw_existence(rng: random.Random) -> Phrase:
    """There is a cat in the garden; two cats are at school; in it is a cat."""
    what = _draw_indefinite(rng)
    long = is_long(what)
    first, *rest = what.english.split()
    where = draw_place(rng, 0.85)
    place, there = where.english, inside(where)
    if rng.random() < 0.15 and not long:
        return make_phrase(
            f"{what.be} there {what.english} {place} ?",
            f"{there} 有 {what.chinese} 吗 ？",
            what,
            where,
        )
    be, when, time = draw_tense(rng, what.be)
    if long or be == what.be:
        when, time = "", ""
    has, english, chinese = "有", what.english, what.chinese
    if rng.random() < 0.25 and not long and first not in ("one", *NUMBERS):
        has = "没有"
        if first in ("a", "an"):
            chinese = chinese.split(" ", 2)[2]  # without 一 只
            english = " ".join(rest)
        english = f"no {english}"
        if rng.random() < 0.4:
            english = f"not {what.english}"
    if place and has == "有" and rng.random() < 0.3:
        english = f"{english} {be} {place} {when}"
        if rng.random() < 0.3 and place != "there":
            english = f"{place} {be} {what.english} {when}"
        return make_phrase(
            english, f"{time} {there} 有 {chinese}", what, where
        )
    english = f"there {be} {english}"
    if place and (rng.random() < 0.25 or long):
        english = f"{place} {rng.choice(['', ','])} {english} {when}"
    else:
        english = f"{english} {place} {when}"
    return make_phrase(english, f"{time} {there} {has} {chinese}", what, where)


def draw_comparison(rng: random.Random) -> Phrase:
    """The horse is not bigger than Tom."""
    a = draw_noun_phrase(rng, "topic")
    b = draw_noun_phrase(rng, "topic", people=0.0)
    if rng.random() < 0.35:
        b = draw_person(rng, "object")
    while {*a.english.split()} & {*b.english.split()} & {*PEOPLE} or (
        a.chinese == b.chinese
    ):
        b = draw_person(rng, "object")
    if rng.random() < 0.06 and not set(a.heads) & set(PEOPLE):
        name, zh_name = rng.choice(list(PEOPLE.items()))
        b = NounPhrase(f"{name} 's", f"{zh_name} 的")
    kind = rng.random()
    if kind < 0.06:
        a = rng.choice([NounPhrase("who", "谁"), NounPhrase("what", "什么")])
    people = ("who", *PEOPLE, *PRONOUN_SUBJECTS)
    if b.english == "them" and a.english not in people:
        b = b._replace(chinese="它们")
    a = make_thing(a)
    words = rng.sample(list(QUALITIES), 2 if rng.random() < 0.1 else 1)
    comparative = " and ".join(QUALITIES[word][0] for word in words)
    quality = " 、 ".join(f"更 {QUALITIES[word][1]}" for word in words)
    if len(words) == 1:
        quality = QUALITIES[words[0]][1]
    no, zh_no = ("not", "不") if 0.2 < kind < 0.35 else ("", "")
    be = a.be
    if rng.random() < 0.12:
        be = "were" if a.be == "are" else "was"
    english = f"{a.english} {be} {no} {comparative} than {b.english}"
    chinese = f"{a.chinese} {zh_no} 比 {b.chinese} {quality}"
    if kind < 0.06:
        english, chinese = f"{english} ?", f"{chinese} ？"
    elif kind < 0.2:
        english = f"{be} {a.english} {comparative} than {b.english} ?"
        chinese = f"{chinese} 吗 ？"
    phrase = make_phrase(english, chinese, a, b)
    for word in words:
        phrase = note(note(phrase, word, a), word, b)
    return phrase
