# Made from docs/chapters/53-wide-grammar.md (042455f40d0b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import random

from attention_book.corpus.grammar import Phrase
from attention_book.corpus.lexicon import (
    _NUMBERS,
    _TIMES,
    _VERBS,
    PEOPLE,
    _Verb,
)
from attention_book.corpus.noun_phrases import (
    NounPhrase,
    Role,
    draw_person,
    draw_place,
)
from attention_book.corpus.relative_clauses import (
    draw_noun_phrase,
    draw_thing,
    is_long,
)


__all__ = [
    "PEOPLE_AS_OBJECTS",
    "draw_command",
    "draw_entry",
    "draw_gift",
    "draw_object",
    "draw_statement",
    "draw_subject",
    "draw_verb",
    "make_phrase",
    "note",
    "place_adverbs",
]


PEOPLE_AS_OBJECTS = ("see", "find", "chase", "draw")


def make_phrase(english: str, chinese: str, *parts: NounPhrase) -> Phrase:
    """Tidy the spaces and gather the pairs of the parts."""
    pairs = frozenset[tuple[str, str]]().union(*(p.pairs for p in parts))
    return Phrase(
        " ".join(english.split()), " ".join(chinese.split()), "", pairs
    )


def note(phrase: Phrase, word: str, noun_phrase: NounPhrase) -> Phrase:
    """Note that a word belongs to every noun of a noun phrase."""
    pairs = {(word, head) for head in noun_phrase.heads}
    return phrase._replace(pairs=phrase.pairs | pairs)


def draw_object(
    rng: random.Random, verb: _Verb, subject: str, *, negated: bool = False
) -> NounPhrase:
    """Somebody other than the subject, or a thing."""
    people = 0.45 if verb.base in PEOPLE_AS_OBJECTS else 0.15
    role: Role = "negated" if negated else "object"
    names = set(subject.split()) & set(PEOPLE)
    what = draw_noun_phrase(rng, role, people=people)
    while names & set(what.english.split()):
        what = draw_noun_phrase(rng, role, people=people)
    return what


def draw_subject(rng: random.Random) -> NounPhrase:
    """Somebody, less often something, that acts."""
    return draw_noun_phrase(rng, "subject", people=0.7)


def draw_verb(rng: random.Random, *, action: bool = False) -> _Verb:
    """Any verb, or one that can be in progress."""
    verbs = [v for v in _VERBS if not action or v.participle != "-"]
    return rng.choice(verbs)


def draw_entry(
    rng: random.Random, table: dict[str, str], chance: float
) -> tuple[str, str]:
    """One of a table, or nothing."""
    if not table or rng.random() > chance:
        return "", ""
    return rng.choice(list(table.items()))


def place_adverbs(
    rng: random.Random,
    clause: str,
    when: str,
    where: str,
    what: NounPhrase | None = None,
) -> str:
    """Put time and place after the English clause, or before it.

    Before it if it ends in a clause, to which they would belong.
    """
    after = [when, where]
    rng.shuffle(after)
    kind = rng.random()
    if what and is_long(what):
        after = [adverb for adverb in after if adverb]
        if not after:
            return clause
        return f"{' '.join(after)} {rng.choice(['', ','])} {clause}"
    comma = rng.choice(["", ","])
    if kind < 0.25 and when:
        return f"{when} {comma} {clause} {where}"
    if kind < 0.45 and where:
        return f"{where} {comma} {clause} {when}"
    if kind < 0.5 and when and where:
        return f"{' '.join(after)} {comma} {clause}"
    return f"{clause} {' '.join(after)}"


def draw_statement(rng: random.Random) -> Phrase:
    """Who did what, where and when; or did not."""
    tense = rng.choice(["past", "past", "future", "present", "now"])
    negated = rng.random() < 0.25
    verb = draw_verb(rng, action=tense == "now")
    who = draw_subject(rng)
    what = draw_object(rng, verb, who.english, negated=negated)
    result = verb.participle == "-"
    does = "does" if who.be == "is" else "do"
    when, time = draw_entry(rng, _TIMES[tense], 0.35)
    where = draw_place(rng, 0.3)
    place = where.chinese
    if tense == "present" and negated:
        when, time = "", ""
    english, before, after = {
        ("past", False): (verb.past, "", "了"),
        ("past", True): (f"did not {verb.base}", "没有", ""),
        ("future", False): (f"will {verb.base}", "会", ""),
        ("future", True): (f"will not {verb.base}", "不 会", ""),
        ("present", False): (
            verb.third_person if who.be == "is" else verb.base,
            "",
            "",
        ),
        ("present", True): (
            f"{does} not {verb.base}",
            "没有" if result else "不",
            "",
        ),
        ("now", False): (f"{who.be} {verb.participle}", "正在", ""),
        ("now", True): (f"{who.be} not {verb.participle}", "没有 在", ""),
    }[tense, negated]
    if tense == "now":  # 正在 花园 里
        place = place.removeprefix("在 ")
    clause = f"{who.english} {english} {what.english}"
    phrase = make_phrase(
        place_adverbs(rng, clause, when, where.english, what),
        f"{who.chinese} {time} {before} {place} {verb.chinese} {after} "
        f"{what.chinese}",
        who,
        what,
        where,
    )
    return note(phrase, verb.base, what)


_GIFTS = {  # English, Chinese before and after the verb, tense
    "past": ("{who} {past}", "", "了", "past"),
    "future": ("{who} will {base}", "会", "", "future"),
    "now": ("{who} {be} {participle}", "正在", "", "now"),
    "command": ("{who} {base}", "", "", ""),
    "not": ("{who} did not {base}", "没有", "", "past"),
    "did": ("did {who} {base}", "", "了", "past"),
    "will": ("will {who} {base}", "会", "", "future"),
    "who": ("who {past}", "", "了", "past"),
}


def draw_gift(rng: random.Random) -> Phrase:
    """She bought me a hat; did you sell him the cat?"""
    base = rng.choice(["buy", "buy", "draw", "find", "sell", "sell"])
    verb = next(v for v in _VERBS if v.base == base)
    who = draw_person(rng)
    to = draw_person(rng, "object")
    while who.chinese == to.chinese:
        to = draw_person(rng, "object")
    first = "a an one the this that these those my your his our"
    what = draw_thing(rng, "object")
    while what.english.split()[0] not in [*first.split(), *_NUMBERS]:
        what = draw_thing(rng, "object")
    kind = rng.choice(["past", *_GIFTS])
    if kind == "now" and verb.participle == "-":
        kind = "past"
    english, before, after, tense = _GIFTS[kind]
    when, time = draw_entry(rng, _TIMES.get(tense, {}), 0.25)
    if kind == "command":
        who = NounPhrase(*rng.choice([("", ""), ("please", "请")]))
    elif kind == "who":
        who = NounPhrase("who", "谁")
    forms = verb._asdict() | {"who": who.english, "be": who.be}
    clause = f"{english.format(**forms)} {to.english} {what.english}"
    end = {"did": "吗 ？", "will": "吗 ？", "who": "？"}.get(kind, "")
    if not end:
        clause = place_adverbs(rng, clause, when, "", what)
    elif is_long(what):
        clause, time = f"{clause} ?", ""
    else:
        clause = f"{clause} {when} ?"
    says = f"给 {to.chinese} {verb.chinese} {after} {what.chinese}"
    if base == "sell":
        says = f"卖 给 {after} {to.chinese} {what.chinese}"
        if what.english.split()[0] not in ("a", "an", "one", *_NUMBERS):
            says = f"把 {what.chinese} 卖 给 {after} {to.chinese}"
    phrase = make_phrase(
        clause, f"{who.chinese} {time} {before} {says} {end}", what
    )
    return note(phrase, verb.base, what)


def draw_command(rng: random.Random) -> Phrase:
    """Please wash the car; do not buy a book."""
    verb = draw_verb(rng)
    negated = rng.random() < 0.3
    what = draw_object(rng, verb, "", negated=negated)
    when, time = draw_entry(rng, _TIMES["future"] | {"now": "现在"}, 0.15)
    where = draw_place(rng, 0.2)
    if is_long(what):
        when, time, where = "", "", NounPhrase("", "")
    english = f"{verb.base} {what.english} {where.english} {when}"
    chinese = f"{where.chinese} {verb.chinese} {what.chinese}"
    if negated:
        english = f"do not {english}"
        chinese = f"不 要 {chinese}"
    chinese = f"{time} {chinese}"
    polite = rng.random()
    if polite < 0.3:
        english, chinese = f"please {english}", f"请 {chinese}"
    elif polite < 0.4:
        english, chinese = f"{english} , please", f"请 {chinese}"
    return note(make_phrase(english, chinese, what, where), verb.base, what)
