# Made from docs/source/grammar.md (924882e3ac4f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The small grammar: sentences drawn in both languages at once.

Explained on the page "A grammar and its lexicon".
"""

import random
from collections.abc import Callable
from typing import NamedTuple

from attention_book.data.lexicon import (
    COLOURS,
    NOUNS,
    NUMBERS,
    OWNERS,
    PEOPLE,
    PLACES,
    QUALITIES,
    TIMES,
    VERBS,
    Verb,
)


__all__ = ["Grammar", "Phrase", "indefinite", "sentence", "statement"]


class Phrase(NamedTuple):
    """The same in both languages."""

    english: str  # tokens, with spaces between them
    chinese: str
    head: str = ""  # its noun
    pairs: frozenset[tuple[str, str]] = frozenset()  # words it brings together


Grammar = Callable[[random.Random], Phrase]  # draws a sentence


def _fill_template(english: str, chinese: str, /, **parts: Phrase) -> Phrase:
    """Fill the gaps of two templates; an empty part leaves a single space."""
    english = english.format(**{name: x.english for name, x in parts.items()})
    chinese = chinese.format(**{name: x.chinese for name, x in parts.items()})
    return Phrase(
        " ".join(english.split()),
        " ".join(chinese.split()),
        pairs=frozenset().union(*(part.pairs for part in parts.values())),
    )


def _describe(rng: random.Random, noun: str) -> Phrase:
    """Perhaps an adjective before the noun; the pair is noted."""
    chinese, _ = NOUNS[noun]
    adjective = rng.choice(["", "", *COLOURS, *QUALITIES])
    if not adjective:
        return Phrase(noun, chinese, noun)
    word = COLOURS.get(adjective) or QUALITIES[adjective][1]
    if word not in ("大", "小", "脏"):
        word = f"{word} 的"
    pairs = frozenset({(adjective, noun)})
    return Phrase(f"{adjective} {noun}", f"{word} {chinese}", noun, pairs)


def indefinite(rng: random.Random) -> Phrase:
    """A red book; two red books."""
    noun = rng.choice(list(NOUNS))
    what = _describe(rng, noun)
    measure = NOUNS[noun][1]
    if rng.random() < 0.5:
        article = "an" if what.english[0] in "aeiou" else "a"
        english = f"{article} {what.english}"
        chinese = f"一 {measure}"
        return what._replace(
            english=english, chinese=f"{chinese} {what.chinese}"
        )
    number = rng.choice(list(NUMBERS))
    chinese = f"{NUMBERS[number]} {measure} {what.chinese}"
    pairs = what.pairs | {(number, noun)}
    return Phrase(f"{number} {what.english}s", chinese, noun, pairs)


def _definite(rng: random.Random) -> Phrase:
    """This red book; Tom's red book."""
    noun = rng.choice(list(NOUNS))
    what = _describe(rng, noun)
    measure = NOUNS[noun][1]
    which = rng.choice(["this", "that", *OWNERS])
    if which not in OWNERS:
        before = f"{'这' if which == 'this' else '那'} {measure}"
    elif "的" in what.chinese:  # not 汤姆 的 红色 的 书
        before = f"{OWNERS[which]} 那 {measure}"
    else:
        before = f"{OWNERS[which]} 的"
    return what._replace(
        english=f"{which} {what.english}", chinese=f"{before} {what.chinese}"
    )


_SUBJECTS = [  # English, Chinese, am / is / are
    *((name, chinese, "is") for name, chinese in PEOPLE.items()),
    ("he", "他", "is"),
    ("she", "她", "is"),
    ("I", "我", "am"),
    ("you", "你", "are"),
    ("we", "我们", "are"),
    ("they", "他们", "are"),
]
_STATEMENTS = {  # tense: English, Chinese; then the same, negated
    "past": (
        ("{who} {past} {what} {where} {when}", "{where} {verb} 了 {what}"),
        (
            "{who} did not {base} {what} {where} {when}",
            "没有 {where} {verb} {what}",
        ),
    ),
    "future": (
        (
            "{who} will {base} {what} {where} {when}",
            "会 {where} {verb} {what}",
        ),
        (
            "{who} will not {base} {what} {where} {when}",
            "不 会 {where} {verb} {what}",
        ),
    ),
    "present": (
        ("{who} {present} {what} {where} {when}", "{where} {verb} {what}"),
        ("{who} {does} not {base} {what} {where}", "不 {where} {verb} {what}"),
    ),
    "now": (
        ("{who} {be} {participle} {what} {when}", "正在 {verb} {what}"),
        ("{who} {be} not {participle} {what} {when}", "没有 在 {verb} {what}"),
    ),
}


def _object(
    rng: random.Random, verb: Verb, subject: str, *, specific: bool
) -> Phrase:
    """Somebody other than the subject, or a thing, definite if specific."""
    if verb.base in ("see", "find", "chase", "draw") and rng.random() < 0.4:
        name = rng.choice([name for name in PEOPLE if name != subject])
        return Phrase(name, PEOPLE[name], name)
    if not specific and rng.random() < 0.7:
        return indefinite(rng)
    what = _definite(rng)
    while what.english.startswith(f"{subject} 's"):  # Tom lost Tom's book
        what = _definite(rng)
    return what


def _optional_phrase(rng: random.Random, table: dict[str, str]) -> Phrase:
    """Nothing, or one of the table."""
    english = rng.choice(["", "", *table])
    return Phrase(english, table.get(english, ""))


def statement(rng: random.Random, tense: str | None = None) -> Phrase:
    """Who did what, where and when; or did not."""
    tense = tense or rng.choice(list(_STATEMENTS))
    negated = rng.random() < 0.3
    english, chinese = _STATEMENTS[tense][negated]
    subject, chinese_subject, be = rng.choice(_SUBJECTS)
    verb = rng.choice(
        [
            verb
            for verb in VERBS
            if tense in ("past", "future") or verb.participle != "-"
        ]
    )
    singular = be == "is"
    what = _object(rng, verb, subject, specific=negated)
    times = TIMES[tense] if "{when}" in english else {}
    forms = verb._asdict() | {
        "present": verb.third_person if singular else verb.base,
        "does": "does" if singular else "do",
        "be": be,
        "verb": verb.chinese,
    }
    phrase = _fill_template(
        english,
        "{who} {when} " + chinese,
        who=Phrase(subject, chinese_subject),
        what=what,
        when=_optional_phrase(rng, times),
        where=_optional_phrase(rng, PLACES if tense != "now" else {}),
        **{name: Phrase(form, form) for name, form in forms.items()},
    )
    return phrase._replace(pairs=phrase.pairs | {(verb.base, what.head)})


_QUESTIONS = [
    ("what did {who} {base} {when}", "{who} {when} {verb} 了 什么"),
    ("what will {who} {base}", "{who} 会 {verb} 什么"),
    ("who {past} {what} {when}", "谁 {when} {verb} 了 {what}"),
    ("did {who} {base} {what} {when}", "{who} {when} {verb} 了 {what} 吗"),
    ("where did {who} {base} {what}", "{who} 是 在 哪里 {verb} {what} 的"),
    ("when will {who} {base} {what}", "{who} 什么 时候 会 {verb} {what}"),
    ("will {who} {base} {what}", "{who} 会 {verb} {what} 吗"),
]


def _question(rng: random.Random) -> Phrase:
    """Who, what, where, when, or yes or no."""
    english, chinese = rng.choice(_QUESTIONS)
    subject, chinese_subject, _ = rng.choice(_SUBJECTS)
    verb = rng.choice(VERBS)
    what = _object(rng, verb, subject, specific=True)
    phrase = _fill_template(
        english,
        chinese,
        who=Phrase(subject, chinese_subject),
        what=what if "{what}" in english else Phrase("", ""),
        when=_optional_phrase(rng, TIMES["past"]),
        base=Phrase(verb.base, ""),
        past=Phrase(verb.past, ""),
        verb=Phrase("", verb.chinese),
    )
    if "{what}" not in english:
        return phrase
    return phrase._replace(pairs=phrase.pairs | {(verb.base, what.head)})


def _relative_clause(rng: random.Random) -> Phrase:
    """The book that Tom bought."""
    noun = rng.choice(list(NOUNS))
    verb = rng.choice(VERBS)
    subject = rng.choice(list(PEOPLE))
    chinese, measure = NOUNS[noun]
    return Phrase(
        f"the {noun} that {subject} {verb.past}",
        f"{PEOPLE[subject]} {verb.chinese} 的 那 {measure} {chinese}",
        noun,
        frozenset({(verb.base, noun)}),
    )


def _comparison(rng: random.Random) -> Phrase:
    """This book is heavy; this book is heavier than that one."""
    a, b = (
        _relative_clause(rng) if rng.random() < 0.4 else _definite(rng)
        for _ in "ab"
    )
    used = {first for first, _ in a.pairs}  # no dirty book is dirty
    adjective = rng.choice([q for q in QUALITIES if q not in used])
    comparative, chinese = QUALITIES[adjective]
    if rng.random() < 0.4 or a == b:
        quality = Phrase(adjective, chinese)
        phrase = _fill_template("{a} is {q}", "{a} 很 {q}", a=a, q=quality)
        return phrase._replace(pairs=phrase.pairs | {(adjective, a.head)})
    phrase = _fill_template(
        "{a} is {q} than {b}",
        "{a} 比 {b} {q}",
        a=a,
        b=b,
        q=Phrase(comparative, chinese),
    )
    described = {(adjective, a.head), (adjective, b.head)}
    return phrase._replace(pairs=phrase.pairs | described)


def sentence(rng: random.Random) -> Phrase:
    """Draw one sentence of the grammar, with its full stop."""
    kind = rng.random()
    if kind < 0.2:
        return _fill_template("{q} ?", "{q} ？", q=_question(rng))
    if kind < 0.4:
        return _fill_template("{c} .", "{c} 。", c=_comparison(rng))
    if kind < 0.5:
        return _fill_template(
            "because {a} , {b} .",
            "因为 {a} ， 所以 {b} 。",
            a=statement(rng, rng.choice(["past", "present", "now"])),
            b=statement(rng, rng.choice(["present", "now", "future"])),
        )
    return _fill_template("{s} .", "{s} 。", s=statement(rng))
