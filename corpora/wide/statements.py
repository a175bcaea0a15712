"""Sentences with verbs: statements, gifts, hiding, commands.

Time and place come first or last in English; in Chinese the order is fixed:
who, when, where, what.
"""

import random

from attention_book.data.grammar import Phrase
from attention_book.data.lexicon import (
    NOUNS,
    NUMBERS,
    PEOPLE,
    VERBS,
    Verb,
)
from corpora.wide.noun_phrases import (
    PEOPLE_AS_OBJECTS,
    WIDE_TIMES,
    NounPhrase,
    Role,
    draw_person,
    draw_place,
    fit_them,
    inside,
    is_hidden_inside,
)
from corpora.wide.relative_clauses import (
    draw_noun_phrase,
    draw_thing,
    is_long,
)


__all__ = [
    "draw_command",
    "draw_entry",
    "draw_gift",
    "draw_hiding",
    "draw_object",
    "draw_statement",
    "draw_subject",
    "draw_verb",
    "make_phrase",
    "note",
    "place_adverbs",
]


_THESE = {
    "this one": "这个",
    "that one": "那个",
    "this": "这个",
    "that": "那个",
    "these": "这些",
    "those": "那些",
}


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
    rng: random.Random, verb: Verb, subject: str, *, negated: bool = False
) -> NounPhrase:
    """Somebody other than the subject, a thing, or this and that."""
    if rng.random() < 0.03:
        return NounPhrase(*rng.choice(list(_THESE.items())))
    people = 0.45 if verb.base in PEOPLE_AS_OBJECTS else 0.15
    role: Role = "negated" if negated else "object"
    names = set(subject.split()) & set(PEOPLE)
    what = draw_noun_phrase(rng, role, people=people)
    while names & set(what.english.split()):
        what = draw_noun_phrase(rng, role, people=people)
    return fit_them(what, verb)


def draw_subject(rng: random.Random) -> NounPhrase:
    """Somebody, less often something, that acts."""
    return draw_noun_phrase(rng, "subject", people=0.7)


def draw_verb(rng: random.Random, *, action: bool = False) -> Verb:
    """Any verb, or one that can be in progress."""
    verbs = [v for v in VERBS if not action or v.participle != "-"]
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
    tenses = ["past", "past", "past", "future", "future", "present"]
    tense = rng.choice([*tenses, "present", "now", "now", "then"])
    negated = rng.random() < 0.25
    verb = draw_verb(rng, action=tense in ("now", "then"))
    who = draw_subject(rng)
    what = draw_object(rng, verb, who.english, negated=negated)
    result = verb.participle == "-"
    does = "does" if who.be == "is" else "do"
    was = "were" if who.be == "are" else "was"
    times = WIDE_TIMES["past" if tense == "then" else tense]
    if tense == "present" and rng.random() < 0.15:
        times = WIDE_TIMES["now"]
    when, time = draw_entry(rng, times, 0.35)
    where = draw_place(rng, 0.5 if verb.base == "hide" else 0.3)
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
        ("then", False): (f"{was} {verb.participle}", "在", ""),
        ("then", True): (f"{was} not {verb.participle}", "没有 在", ""),
    }[tense, negated]
    if tense in ("now", "then"):  # 正在 花园 里
        place = place.removeprefix("在 ")
    clause = f"{who.english} {english} {what.english}"
    does = f"{place} {verb.chinese} {after} {what.chinese}"
    if is_hidden_inside(verb, where):
        does = f"把 {what.chinese} {verb.chinese} 在 {after} {inside(where)}"
    phrase = make_phrase(
        place_adverbs(rng, clause, when, where.english, what),
        f"{who.chinese} {time} {before} {does}",
        who,
        what,
        where,
    )
    return note(phrase, verb.base, what)


_HIDING = [  # English, Chinese, kind of time
    ("{who} {be} hiding {where} {when}", "{who} {time} 正 藏 {there}", "now"),
    ("{who} {be} hiding {where} {when}", "{who} {time} 正 藏 {there}", "now"),
    ("{who} {be} not hiding {where}", "{who} 没有 藏 {there}", ""),
    ("{who} {hides} {where} {when}", "{who} {time} 藏 {there}", "present"),
    ("{who} hid {where} {when}", "{who} {time} 藏 {hid}", "past"),
    ("{who} did not hide {where} {when}",
     "{who} {time} 没有 藏 {there}", "past"),
    ("{who} will hide {where} {when}", "{who} {time} 会 藏 {there}", "future"),
    ("{who} will not hide {where}", "{who} 不 会 藏 {there}", ""),
    ("{be} {who} hiding {where} ?", "{who} 正 藏 {there} 吗 ？", ""),
    ("did {who} hide {where} ?", "{who} 藏 {hid} 吗 ？", ""),
    ("where {be} {who} hiding ?", "{who} 藏 在 哪里 ？", ""),
    ("where did {who} hide {when} ?", "{who} {time} 藏 在 了 哪里 ？", "past"),
    ("where {do} {who} hide ?", "{who} 藏 在 哪里 ？", ""),
    ("who is hiding {where} ?", "谁 正 藏 {there} ？", ""),
    ("what is hiding {where} ?", "什么 正 藏 {there} ？", ""),
    ("who hid {where} ?", "谁 藏 {hid} ？", ""),
    ("hide {where}", "藏 {there}", ""),
    ("do not hide {where}", "不 要 藏 {there}", ""),
]  # fmt: skip


def draw_hiding(rng: random.Random) -> Phrase:
    """The cat is hiding in the kitchen."""
    english, chinese, tense = rng.choice(_HIDING)
    who = draw_subject(rng)
    while is_long(who):
        who = draw_subject(rng)
    if "{who}" not in english:
        who = NounPhrase("", "")
    where = draw_place(rng, 0.75)
    if "{where}" not in english:
        where = NounPhrase("", "")
    when, time = draw_entry(rng, WIDE_TIMES.get(tense, {}), 0.25)
    there = f"在 {inside(where)}" if where.english else "起来"
    hid = f"在 了 {inside(where)}" if where.english else "起来 了"
    if not where.english and "正" in chinese:
        there = "着"
    one = who.be == "is"
    forms = {
        "who": who.english,
        "be": who.be,
        "do": "does" if one else "do",
        "hides": "hides" if one else "hide",
        "where": where.english,
        "when": when,
    }
    chinese = chinese.format(who=who.chinese, time=time, there=there, hid=hid)
    return make_phrase(english.format(**forms), chinese, who, where)


_GIFTS = {  # English, Chinese before and after the verb, tense
    "past": ("{who} {past}", "", "了", "past"),
    "future": ("{who} will {base}", "会", "", "future"),
    "now": ("{who} {be} {participle}", "正在", "", "now"),
    "command": ("{who} {base}", "", "", ""),
    "not": ("{who} did not {base}", "没有", "", "past"),
    "present": ("{who} {does}", "", "", "present"),
    "does not": ("{who} {do} not {base}", "不", "", ""),
    "will not": ("{who} will not {base}", "不 会", "", "future"),
    "did": ("did {who} {base}", "", "了", "past"),
    "what": ("what did {who} {base}", "", "了", "past"),
    "will": ("will {who} {base}", "会", "", "future"),
    "who": ("who {past}", "", "了", "past"),
}


def draw_gift(rng: random.Random) -> Phrase:
    """She bought me a hat at school; did you sell him the cat?"""
    base = rng.choice(["buy", "buy", "draw", "draw", "find", "sell", "sell"])
    verb = next(v for v in VERBS if v.base == base)
    who = draw_person(rng)
    to = draw_person(rng, "object")
    while who.chinese == to.chinese:
        to = draw_person(rng, "object")
    definite = "the this that these those my your his our".split()
    first = [*definite, "a", "an", "one", *NUMBERS]
    first += [f"{noun}s" for noun in NOUNS]
    kind = rng.choice(["past", *_GIFTS])
    negated: Role = "negated" if "not" in kind else "object"
    what = draw_thing(rng, negated)
    while what.english.split()[0] not in first:
        what = draw_thing(rng, negated)
    if kind == "what":
        what = NounPhrase("", "什么", to.heads)
    if kind == "now" and verb.participle == "-":
        kind = "past"
    english, before, after, tense = _GIFTS[kind]
    when, time = draw_entry(rng, WIDE_TIMES.get(tense, {}), 0.25)
    where = draw_place(rng, 0.0 if is_long(what) else 0.12)
    if kind == "command":
        who = NounPhrase(*rng.choice([("", ""), ("please", "请")]))
    elif kind == "who":
        who = NounPhrase("who", "谁")
    one = who.be == "is"
    forms = verb._asdict() | {
        "who": who.english,
        "be": who.be,
        "do": "does" if one else "do",
        "does": verb.third_person if one else verb.base,
    }
    clause = f"{english.format(**forms)} {to.english} {what.english}"
    end = {"did": "吗 ？", "will": "吗 ？", "who": "？", "what": "？"}.get(
        kind, ""
    )
    if not end:
        clause = place_adverbs(rng, clause, when, where.english, what)
    elif is_long(what):
        clause, time = f"{clause} ?", ""
    else:
        clause = f"{clause} {where.english} {when} ?"
    says = f"给 {to.chinese} {verb.chinese} {after} {what.chinese}"
    if base == "sell":
        says = f"卖 给 {after} {to.chinese} {what.chinese}"
        if kind != "what" and what.english.split()[0] in definite:
            says = f"把 {what.chinese} 卖 给 {after} {to.chinese}"
    place = where.chinese
    if kind == "now":
        place = place.removeprefix("在 ")
    phrase = make_phrase(
        clause,
        f"{who.chinese} {time} {before} {place} {says} {end}",
        what,
        where,
    )
    return note(phrase, verb.base, what)


def draw_command(rng: random.Random) -> Phrase:
    """Please wash the car; do not buy a book."""
    verb = draw_verb(rng)
    negated = rng.random() < 0.3
    what = draw_object(rng, verb, "", negated=negated)
    when, time = draw_entry(rng, WIDE_TIMES["future"] | {"now": "现在"}, 0.15)
    where = draw_place(rng, 0.2)
    if is_long(what):
        when, time, where = "", "", NounPhrase("", "")
    english = f"{verb.base} {what.english} {where.english} {when}"
    chinese = f"{where.chinese} {verb.chinese} {what.chinese}"
    if is_hidden_inside(verb, where):
        chinese = f"把 {what.chinese} 藏 {where.chinese}"
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
