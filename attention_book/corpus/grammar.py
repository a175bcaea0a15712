# Made from docs/chapters/11-corpus.md (fa0573bb2ade). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import random

from attention_book.corpus.lexicon import (
    COLOURS,
    NOUNS,
    NUMBERS,
    OWNERS,
    PEOPLE,
    PLACES,
    QUALITIES,
    SUBJECTS,
    TIMES,
    VERBS,
    Verb,
)
from attention_book.corpus.phrases import Phrase, say, tidy


def describe(rng: random.Random, noun: str) -> Phrase:
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
    what = describe(rng, noun)
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


def definite(rng: random.Random) -> Phrase:
    """This red book; Tom's red book."""
    noun = rng.choice(list(NOUNS))
    what = describe(rng, noun)
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


STATEMENTS = {  # tense: English, Chinese; then the same, negated
    "past": (
        ("{who} {past} {what} {where} {when}", "{where} {verb} 了 {what}"),
        (
            "{who} did not {plain} {what} {where} {when}",
            "没有 {where} {verb} {what}",
        ),
    ),
    "future": (
        (
            "{who} will {plain} {what} {where} {when}",
            "会 {where} {verb} {what}",
        ),
        (
            "{who} will not {plain} {what} {where} {when}",
            "不 会 {where} {verb} {what}",
        ),
    ),
    "present": (
        ("{who} {usual} {what} {where} {when}", "{where} {verb} {what}"),
        (
            "{who} {does} not {plain} {what} {where}",
            "不 {where} {verb} {what}",
        ),
    ),
    "now": (
        ("{who} {be} {going} {what} {when}", "正在 {verb} {what}"),
        ("{who} {be} not {going} {what} {when}", "没有 在 {verb} {what}"),
    ),
}


def an_object(
    rng: random.Random, verb: Verb, who: str, *, certain: bool
) -> Phrase:
    """Somebody else, or a thing; this one where "a book" would not do."""
    if verb.plain in ("see", "find", "chase", "draw") and rng.random() < 0.4:
        name = rng.choice([name for name in PEOPLE if name != who])
        return Phrase(name, PEOPLE[name], name)
    if not certain and rng.random() < 0.7:
        return indefinite(rng)
    what = definite(rng)
    while what.english.startswith(f"{who} 's"):  # Tom lost Tom's book
        what = definite(rng)
    return what


def maybe(rng: random.Random, table: dict[str, str]) -> Phrase:
    """Nothing, or one of the table."""
    english = rng.choice(["", "", *table])
    return Phrase(english, table.get(english, ""))


def statement(rng: random.Random, tense: str | None = None) -> Phrase:
    """Who did what, where and when; or did not."""
    tense = tense or rng.choice(list(STATEMENTS))
    negated = rng.random() < 0.3
    english, chinese = STATEMENTS[tense][negated]
    who, subject, be = rng.choice(SUBJECTS)
    verb = rng.choice(
        [v for v in VERBS if tense in ("past", "future") or v.going != "-"]
    )
    third = be == "is"
    what = an_object(rng, verb, who, certain=negated)
    forms = verb._asdict() | {
        "usual": verb.third if third else verb.plain,
        "does": "does" if third else "do",
        "be": be,
        "verb": verb.chinese,
    }
    said = say(
        english,
        "{who} {when} " + chinese,
        who=Phrase(who, subject),
        what=what,
        when=maybe(rng, TIMES[tense] if "{when}" in english else {}),
        where=maybe(rng, PLACES if tense != "now" else {}),
        **{name: Phrase(form, form) for name, form in forms.items()},
    )
    pairs = said.pairs | {(verb.plain, what.head)}
    return Phrase(tidy(said.english), tidy(said.chinese), pairs=pairs)


QUESTIONS = [
    ("what did {who} {plain} {when}", "{who} {when} {verb} 了 什么"),
    ("what will {who} {plain}", "{who} 会 {verb} 什么"),
    ("who {past} {what} {when}", "谁 {when} {verb} 了 {what}"),
    ("did {who} {plain} {what} {when}", "{who} {when} {verb} 了 {what} 吗"),
    ("where did {who} {plain} {what}", "{who} 是 在 哪里 {verb} {what} 的"),
    ("when will {who} {plain} {what}", "{who} 什么 时候 会 {verb} {what}"),
    ("will {who} {plain} {what}", "{who} 会 {verb} {what} 吗"),
]


def question(rng: random.Random) -> Phrase:
    """Who, what, where, when, or yes or no."""
    english, chinese = rng.choice(QUESTIONS)
    who, subject, _ = rng.choice(SUBJECTS)
    verb = rng.choice(VERBS)
    what = an_object(rng, verb, who, certain=True)
    asked = say(
        english,
        chinese,
        who=Phrase(who, subject),
        what=what if "{what}" in english else Phrase("", ""),
        when=maybe(rng, TIMES["past"]),
        plain=Phrase(verb.plain, ""),
        past=Phrase(verb.past, ""),
        verb=Phrase("", verb.chinese),
    )
    pairs = asked.pairs
    if "{what}" in english:
        pairs |= {(verb.plain, what.head)}
    return Phrase(tidy(asked.english), tidy(asked.chinese), pairs=pairs)


def relative_clause(rng: random.Random) -> Phrase:
    """The book that Tom bought: a relative clause in the past."""
    noun = rng.choice(list(NOUNS))
    verb = rng.choice(VERBS)
    (name, subject) = rng.choice(list(PEOPLE.items()))
    (chinese, measure) = NOUNS[noun]
    return Phrase(
        f"the {noun} that {name} {verb.past}",
        f"{subject} {verb.chinese} 的 那 {measure} {chinese}",
        noun,
        frozenset({(verb.plain, noun)}),
    )


def quality(rng: random.Random) -> Phrase:
    """This book is heavy; this book is heavier than that one is."""
    a, b = (
        relative_clause(rng) if rng.random() < 0.4 else definite(rng)
        for _ in "ab"
    )
    said_already = {first for first, _ in a.pairs}  # no dirty book is dirty
    adjective = rng.choice([q for q in QUALITIES if q not in said_already])
    comparative, chinese = QUALITIES[adjective]
    word = Phrase(adjective, chinese)
    if rng.random() < 0.4 or a == b:
        said = say("{a} is {q}", "{a} 很 {q}", a=a, q=word)
        return said._replace(pairs=said.pairs | {(adjective, a.head)})
    word = word._replace(english=comparative)
    return say("{a} is {q} than {b}", "{a} 比 {b} {q}", a=a, b=b, q=word)


def sentence(rng: random.Random) -> Phrase:
    """One sentence of the grammar, with its stop."""
    kind = rng.random()
    if kind < 0.2:
        return say("{q} ?", "{q} ？", q=question(rng))
    if kind < 0.4:
        return say("{q} .", "{q} 。", q=quality(rng))
    if kind < 0.5:
        a = statement(rng, rng.choice(["past", "present", "now"]))
        b = statement(rng, rng.choice(["present", "now", "future"]))
        return say("because {a} , {b} .", "因为 {a} ， 所以 {b} 。", a=a, b=b)
    return say("{a} .", "{a} 。", a=statement(rng))
