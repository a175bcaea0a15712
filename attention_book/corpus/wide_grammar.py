# Made from docs/chapters/53-wide-grammar.md (a306b1ed4ff8). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import random

from attention_book.corpus.grammar import Grammar, Phrase, sentence
from attention_book.corpus.lexicon import (
    _COLOURS,
    _QUALITIES,
    _TIMES,
    _VERBS,
)
from attention_book.corpus.noun_phrases import draw_place
from attention_book.corpus.predicates import (
    draw_comparison,
    draw_existence,
    draw_identity,
    draw_location,
    draw_predicate,
)
from attention_book.corpus.questions import draw_question, draw_short_question
from attention_book.corpus.relative_clauses import draw_noun_phrase, is_long
from attention_book.corpus.split import Split, make_split
from attention_book.corpus.statements import (
    draw_command,
    draw_entry,
    draw_gift,
    draw_object,
    draw_statement,
    draw_subject,
    make_phrase,
)


__all__ = ["make_wide_split", "wide_sentence"]


_PREDICATES = {
    *_COLOURS,
    *_QUALITIES,
    *(row[0] for row in _QUALITIES.values()),
}


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
        times = _TIMES["past"] | _TIMES["future"] | _TIMES["now"]
        return make_phrase(*rng.choice(list(times.items())))
    what = draw_noun_phrase(rng, "object", people=0.1)
    return make_phrase(what.english, what.chinese, what)


def _clause(rng: random.Random) -> Phrase:
    """A statement of any kind, short enough to be joined to another."""
    kinds: list[Grammar] = [
        draw_statement, draw_statement, draw_statement,
        draw_predicate, draw_location, draw_comparison,
    ]  # fmt: skip
    phrase = rng.choice(kinds)(rng)
    while (
        len(phrase.english.split()) > 8
        or "?" in phrase.english
        or " , " in phrase.english
        or " and " in phrase.english
    ):
        phrase = rng.choice(kinds)(rng)
    return phrase


def _two_clauses(rng: random.Random) -> Phrase:
    """Because … , …; … because …; … and …"""
    a, b = _clause(rng), _clause(rng)
    comma = rng.choice(["", ","])
    kind = rng.random()
    if kind < 0.12:
        return _when(rng)
    if kind < 0.25:
        return _two_verbs(rng)
    if rng.random() < 0.03:
        return a._replace(
            english=f"because {a.english}", chinese=f"因为 {a.chinese}"
        )
    if a.english.split()[-1] in _PREDICATES:
        comma = ","  # big and heavy
    english, chinese = rng.choice([
        ("because {a} , {b}", "因为 {a} ， 所以 {b}"),
        (f"{{b}} {comma} because {{a}}", "{b} ， 因为 {a}"),
        (f"{{a}} {comma} and {{b}}", "{a} ， {b}"),
        (f"{{a}} {comma} and {{b}}", "{a} ， {b}"),
        ("{a} , {b}", "{a} ， {b}"),
    ])  # fmt: skip
    return Phrase(
        " ".join(english.format(a=a.english, b=b.english).split()),
        " ".join(chinese.format(a=a.chinese, b=b.chinese).split()),
        "",
        a.pairs | b.pairs,
    )


def _two_verbs(rng: random.Random) -> Phrase:
    """Tom bought a book and sold a pen."""
    who = draw_subject(rng)
    while is_long(who):
        who = draw_subject(rng)
    past = rng.random() < 0.75
    when, time = draw_entry(rng, _TIMES["past" if past else "present"], 0.3)
    english, chinese = [], []
    phrase = make_phrase("", "", who)
    for verb in rng.sample(
        [v for v in _VERBS if past or v.participle != "-"], 2
    ):
        what = draw_object(rng, verb, who.english)
        while " and " in what.english or is_long(what):
            what = draw_object(rng, verb, who.english)
        present = verb.third_person if who.be == "is" else verb.base
        does = verb.past if past else present
        english.append(f"{does} {what.english}")
        chinese.append(f"{verb.chinese} {'了' if past else ''} {what.chinese}")
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
    a, b = _clause(rng), _clause(rng)
    while " 了 " not in a.chinese:
        a = _clause(rng)
    while " 了 " not in b.chinese:
        b = _clause(rng)
    first = a.chinese.replace(" 了 ", " ")
    comma = rng.choice(["", ","])
    english = f"when {a.english} , {b.english}"
    if rng.random() < 0.4:
        english = f"{b.english} {comma} when {a.english}"
    return Phrase(
        " ".join(english.split()),
        f"当 {first} 时 ， {b.chinese}",
        "",
        a.pairs | b.pairs,
    )


def _answer(rng: random.Random) -> Phrase:
    """Yes, Tom bought a book."""
    phrase = _clause(rng)
    english, chinese = rng.choice([("yes ,", "是 的 ，"), ("no ,", "不 ，")])
    return phrase._replace(
        english=f"{english} {phrase.english}",
        chinese=f"{chinese} {phrase.chinese}",
    )


_KINDS: list[tuple[float, Grammar]] = [
    (0.27, draw_statement), (0.12, draw_predicate), (0.03, draw_location),
    (0.05, draw_identity), (0.05, draw_existence), (0.06, draw_comparison),
    (0.07, draw_command),
    (0.13, draw_question), (0.04, draw_short_question), (0.03, _fragment),
    (0.12, _two_clauses), (0.01, _answer), (0.04, draw_gift),
]  # fmt: skip


def wide_sentence(rng: random.Random) -> Phrase:
    """Draw one sentence of the wide grammar, perhaps without its full stop."""
    if rng.random() < 0.2:
        phrase = sentence(rng)
    else:
        weights, kinds = zip(*_KINDS, strict=True)
        kind = rng.choices(kinds, weights)[0]
        phrase = kind(rng)
        if not phrase.english.endswith("?"):
            loud = rng.random() < (0.3 if kind is draw_command else 0.04)
            end, zh_end = ("!", "！") if loud else (".", "。")
            phrase = phrase._replace(
                english=f"{phrase.english} {end}",
                chinese=f"{phrase.chinese} {zh_end}",
            )
    if rng.random() < 0.08 and phrase.english[-1] != "!":
        phrase = phrase._replace(english=phrase.english[:-2])
    return phrase


def make_wide_split(n_train: int, n_test: int, seed: int = 0) -> Split:
    """Split the wide grammar without the sentences of chapter 11's tests."""
    narrow = make_split(n_train=1, n_test=1000)
    tests = {english for part in narrow[1:] for english, _ in part}

    def draw(rng: random.Random) -> Phrase:
        phrase = wide_sentence(rng)
        while phrase.english in tests:
            phrase = wide_sentence(rng)
        return phrase

    return make_split(n_train, n_test, seed, draw)
