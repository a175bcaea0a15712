import random
from collections.abc import Callable

from attention_book.corpus.grammar import Phrase, sentence
from attention_book.corpus.lexicon import (
    _COLOURS,
    _NUMBERS,
    _QUALITIES,
    _TIMES,
    _VERBS,
    PEOPLE,
    _Verb,
)
from attention_book.corpus.noun_phrases import (
    NounPhrase,
    draw_noun_phrase,
    draw_person,
    draw_place,
    draw_thing,
)


__all__ = ["make_wide_split", "wide_sentence"]

from attention_book.corpus.split import Split, make_split


_PREDICATES = {*_COLOURS, *_QUALITIES, *(row[0] for row in _QUALITIES.values())}
_PEOPLE_AS_OBJECTS = ("see", "find", "chase", "draw")


def _fill(english: str, chinese: str, *parts: NounPhrase) -> Phrase:
    """Tidy the spaces and gather the pairs of the parts."""
    pairs = frozenset[tuple[str, str]]().union(*(p.pairs for p in parts))
    return Phrase(
        " ".join(english.split()), " ".join(chinese.split()), "", pairs
    )


def _inside(where: NounPhrase) -> str:
    """在 学校 as the place of something: 学校 里."""
    chinese = where.chinese.removeprefix("在 ")
    return f"{chinese} 里" if chinese.endswith("学校") else chinese


def _also(phrase: Phrase, word: str, noun_phrase: NounPhrase) -> Phrase:
    """Note that a word belongs to every noun of a noun phrase."""
    pairs = {(word, head) for head in noun_phrase.heads}
    return phrase._replace(pairs=phrase.pairs | pairs)


def _draw_object(
    rng: random.Random, verb: _Verb, subject: str, *, negated: bool = False
) -> NounPhrase:
    """Somebody other than the subject, or a thing."""
    people = 0.45 if verb.base in _PEOPLE_AS_OBJECTS else 0.15
    role = "negated" if negated else "object"
    names = set(subject.split()) & set(PEOPLE)
    what = draw_noun_phrase(rng, role, people=people)
    while names & set(what.english.split()):
        what = draw_noun_phrase(rng, role, people=people)
    return what


def _draw_subject(rng: random.Random) -> NounPhrase:
    return draw_noun_phrase(rng, "subject", people=0.7)


def _draw_verb(rng: random.Random, *, action: bool = False) -> _Verb:
    verbs = [v for v in _VERBS if not action or v.participle != "-"]
    return rng.choice(verbs)


def _draw_from(
    rng: random.Random, table: dict[str, str], chance: float
) -> tuple[str, str]:
    """One of a table, or nothing."""
    if not table or rng.random() > chance:
        return "", ""
    return rng.choice(list(table.items()))


def _place_adverbs(
    rng: random.Random, clause: str, when: str, where: str
) -> str:
    """Put time and place after the English clause, or before it."""
    after = [when, where]
    rng.shuffle(after)
    kind = rng.random()
    comma = rng.choice(["", ","])
    if kind < 0.25 and when:
        return f"{when} {comma} {clause} {where}"
    if kind < 0.45 and where:
        return f"{where} {comma} {clause} {when}"
    if kind < 0.5 and when and where:
        return f"{' '.join(after)} {comma} {clause}"
    return f"{clause} {' '.join(after)}"


def _statement(rng: random.Random) -> Phrase:
    """Who did what, where and when; or did not."""
    tense = rng.choice(["past", "past", "future", "present", "now"])
    negated = rng.random() < 0.25
    verb = _draw_verb(rng, action=tense == "now")
    who = _draw_subject(rng)
    what = _draw_object(rng, verb, who.english, negated=negated)
    result = verb.participle == "-"
    does = "does" if who.be == "is" else "do"
    when, time = _draw_from(rng, _TIMES[tense], 0.35)
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
    phrase = _fill(
        _place_adverbs(rng, clause, when, where.english),
        f"{who.chinese} {time} {before} {place} {verb.chinese} {after} "
        f"{what.chinese}",
        who,
        what,
        where,
    )
    return _also(phrase, verb.base, what)


def _gift(rng: random.Random) -> Phrase:
    """She bought me a hat; draw him a cat."""
    verb = rng.choice([v for v in _VERBS if v.base in ("buy", "draw", "find")])
    who = draw_person(rng)
    to = draw_person(rng, "object")
    while who.chinese == to.chinese:
        to = draw_person(rng, "object")
    first = "a an one the this that these those my your his our".split()
    what = draw_thing(rng, "object")
    while what.english.split()[0] not in [*first, *_NUMBERS]:
        what = draw_thing(rng, "object")
    tense = rng.choice(["past", "past", "future", "now", "command"])
    if tense == "now" and verb.participle == "-":
        tense = "past"
    when, time = _draw_from(rng, _TIMES.get(tense, {}), 0.25)
    subject, chinese = who.english, who.chinese
    if tense == "command":
        when, time = "", ""
        subject = rng.choice(["", "please"])
        chinese = "请" if subject else ""
    english, before, after = {
        "past": (verb.past, "", "了"),
        "future": (f"will {verb.base}", "会", ""),
        "now": (f"{who.be} {verb.participle}", "正在", ""),
        "command": (verb.base, "", ""),
    }[tense]
    clause = f"{subject} {english} {to.english} {what.english}"
    phrase = _fill(
        _place_adverbs(rng, clause, when, ""),
        f"{chinese} {time} {before} 给 {to.chinese} {verb.chinese} {after} "
        f"{what.chinese}",
        what,
    )
    return _also(phrase, verb.base, what)


def _predicate(rng: random.Random) -> Phrase:
    """The apple is red; the book is big and heavy; Tom is in the garden."""
    who = draw_noun_phrase(rng, "topic", people=0.3)
    be, when, time = who.be, "", ""
    if rng.random() < 0.15:
        be = "were" if be == "are" else "was"
        when, time = _draw_from(rng, _TIMES["past"], 0.4)
    elif rng.random() < 0.08:
        when, time = _draw_from(rng, _TIMES["now"], 1)
    negated = rng.random() < 0.2
    no = "not" if negated else ""
    kind = rng.random()
    if kind < 0.25:
        word = rng.choice(list(_COLOURS))
        says = f"{'不' if negated else ''} 是 {_COLOURS[word]} 的"
        english = f"{who.english} {be} {no} {word}"
        phrase = _fill(
            _place_adverbs(rng, english, when, ""),
            f"{who.chinese} {time} {says}",
            who,
        )
        return _also(phrase, word, who)
    if kind < 0.65:
        word = rng.choice(list(_QUALITIES))
        says = f"{'不' if negated else '很'} {_QUALITIES[word][1]}"
        english = f"{who.english} {be} {no} {word}"
        phrase = _fill(
            _place_adverbs(rng, english, when, ""),
            f"{who.chinese} {time} {says}",
            who,
        )
        return _also(phrase, word, who)
    if kind < 0.7:  # the hat is dirtier now
        word = rng.choice(list(_QUALITIES))
        comparative, chinese = _QUALITIES[word]
        phrase = _fill(
            f"{who.english} {be} {comparative} {when}",
            f"{who.chinese} {time} 更 {chinese}",
            who,
        )
        return _also(phrase, word, who)
    if kind < 0.75:  # the umbrella is Tom's
        who = draw_thing(rng, "topic", definite=True)
        name, chinese = rng.choice(list(PEOPLE.items()))
        return _fill(
            f"{who.english} {who.be} {no} {name} 's",
            f"{who.chinese} {'不' if negated else ''} 是 {chinese} 的",
            who,
        )
    if kind < 0.78:
        a, b = rng.sample(list(_COLOURS), 2)
        phrase = _fill(
            f"{who.english} {be} {a} and {b}",
            f"{who.chinese} 是 {_COLOURS[a]} 和 {_COLOURS[b]} 的",
            who,
        )
        return _also(_also(phrase, a, who), b, who)
    if kind < 0.86:
        a, b = rng.sample(list(_QUALITIES), 2)
        phrase = _fill(
            f"{who.english} {who.be} {a} and {b}",
            f"{who.chinese} 又 {_QUALITIES[a][1]} 又 {_QUALITIES[b][1]}",
            who,
        )
        return _also(_also(phrase, a, who), b, who)
    who = draw_noun_phrase(rng, "topic", people=0.5, definite=True)
    be = who.be
    if time:
        be = "were" if be == "are" else "was"
        time = _TIMES["past"].get(when, "")
        when = when if time else ""
    where = draw_place(rng)
    return _fill(
        f"{who.english} {be} {no} {where.english} {when}",
        f"{who.chinese} {time} {'不' if negated else ''} {where.chinese}",
        who,
        where,
    )


def _identity(rng: random.Random) -> Phrase:
    """This is a book; those are not my books; he is Tom."""
    plural = rng.random() < 0.25
    if plural:
        subject, chinese = rng.choice(
            [("these", "这些"), ("those", "那些"), ("they", "他们")]
        )
    else:
        subject, chinese = rng.choice(
            [("this", "这"), ("that", "那"), ("it", "它"), ("this", "这")]
        )
    what = draw_thing(rng, "object")
    while (what.be == "are") != plural:
        what = draw_thing(rng, "object")
    if not plural and rng.random() < 0.25:
        subject, chinese, _ = rng.choice(
            [("he", "他", ""), ("she", "她", ""), ("I", "我", ""), ("you", "你", "")]
            + [("this", "这", ""), ("that", "那", "")]
        )
        name = rng.choice(list(PEOPLE))
        what = NounPhrase(name, PEOPLE[name], (name,))
    elif not plural and rng.random() < 0.15:
        who = draw_noun_phrase(rng, "topic", people=0.6, definite=True)
        while who.be != "is" or who.english in ("he", "she", "it"):
            who = draw_noun_phrase(rng, "topic", people=0.6, definite=True)
        subject, chinese, pairs = who.english, who.chinese, who.pairs
        what = what._replace(pairs=what.pairs | pairs)
    be = "are" if plural or subject == "you" else "is"
    be = "am" if subject == "I" else be
    kind = rng.random()
    if kind < 0.15:
        return _fill(
            f"{be} {subject} {what.english} ?",
            f"{chinese} 是 {what.chinese} 吗 ？",
            what,
        )
    no, zh_no = ("not", "不") if kind < 0.35 else ("", "")
    return _fill(
        f"{subject} {be} {no} {what.english}",
        f"{chinese} {zh_no} 是 {what.chinese}",
        what,
    )


def _existence(rng: random.Random) -> Phrase:
    """There is a cat in the garden; there are no cats at school."""
    definite = {"the", "this", "that", "these", "those", "my", "your", "his"}
    definite |= {"her", "our", "their", "its"}
    what = draw_thing(rng, "object")
    while definite & {what.english.split()[0]} or "'s" in what.english:
        what = draw_thing(rng, "object")
    where = draw_place(rng, 0.85)
    inside, place = _inside(where), where.english
    kind = rng.random()
    if kind < 0.15:
        return _fill(
            f"{what.be} there {what.english} {place} ?",
            f"{inside} 有 {what.chinese} 吗 ？",
            what,
            where,
        )
    first, rest = what.english.split(" ", 1) if " " in what.english else ("", "")
    no, has = "", "有"
    if kind < 0.4 and first in ("a", "an"):
        bare = what._replace(chinese=what.chinese.split(" ", 2)[2])
        no, has = "not", "没有"
        what = bare
        if rng.random() < 0.6:
            no = ""
            what = bare._replace(english=f"no {rest}")
    elif kind < 0.4 and first not in {"one", *_NUMBERS}:
        has = "没有"
        what = what._replace(english=f"no {what.english}")
    english = f"there {what.be} {no} {what.english}"
    if place and rng.random() < 0.25:
        english = f"{place} {rng.choice(['', ','])} {english}"
    else:
        english = f"{english} {place}"
    return _fill(english, f"{inside} {has} {what.chinese}", what, where)


def _comparison(rng: random.Random) -> Phrase:
    """The horse is not bigger than Tom."""
    a = draw_noun_phrase(rng, "topic", people=0.3)
    b = draw_noun_phrase(rng, "topic", people=0.0)
    if rng.random() < 0.35:
        b = draw_person(rng, "object")
    while {*a.english.split()} & {*b.english.split()} & {*PEOPLE} or (
        a.chinese == b.chinese
    ):
        b = draw_noun_phrase(rng, "topic", people=0.3, definite=True)
        if not b.heads or set(b.heads) & set(PEOPLE):
            b = draw_person(rng, "object")
    word = rng.choice(list(_QUALITIES))
    comparative, chinese = _QUALITIES[word]
    kind = rng.random()
    if kind < 0.06:
        asks, chinese_asks = rng.choice([("who", "谁"), ("what", "什么")])
        phrase = _fill(
            f"{asks} is {comparative} than {b.english} ?",
            f"{chinese_asks} 比 {b.chinese} {chinese} ？",
            b,
        )
        return _also(phrase, word, b)
    if kind < 0.2:
        phrase = _fill(
            f"{a.be} {a.english} {comparative} than {b.english} ?",
            f"{a.chinese} 比 {b.chinese} {chinese} 吗 ？",
            a,
            b,
        )
    else:
        no, zh_no = ("not", "不") if kind < 0.35 else ("", "")
        phrase = _fill(
            f"{a.english} {a.be} {no} {comparative} than {b.english}",
            f"{a.chinese} {zh_no} 比 {b.chinese} {chinese}",
            a,
            b,
        )
    return _also(_also(phrase, word, a), word, b)


def _command(rng: random.Random) -> Phrase:
    """Please wash the car; do not buy a book."""
    verb = _draw_verb(rng)
    negated = rng.random() < 0.3
    what = _draw_object(rng, verb, "", negated=negated)
    when, time = _draw_from(rng, _TIMES["future"] | {"now": "现在"}, 0.15)
    where = draw_place(rng, 0.2)
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
    return _also(_fill(english, chinese, what, where), verb.base, what)


_QUESTIONS = [  # English, Chinese, only verbs of actions, kind of time
    ("did {who} {base} {what} {where} {when}",
     "{who} {time} {place} {verb} 了 {what} 吗", False, "past"),
    ("did {who} {base} {what} {where} {when}",
     "{who} {time} {place} {verb} 了 {what} 吗", False, "past"),
    ("did not {who} {base} {what} {where} {when}",
     "{who} {time} 没有 {place} {verb} {what} 吗", False, "past"),
    ("what did {who} {base} {where} {when}",
     "{who} {time} {place} {verb} 了 什么", False, "past"),
    ("who did {who} {people} {where} {when}",
     "{who} {time} {place} {verb} 了 谁", False, "past"),
    ("who {past} {what} {where} {when}",
     "谁 {time} {place} {verb} 了 {what}", False, "past"),
    ("who will {base} {what} {where} {when}",
     "谁 {time} 会 {place} {verb} {what}", False, "future"),
    ("who is {participle} {what} {where}",
     "谁 正在 {inside} {verb} {what}", True, "now"),
    ("who {third} {what} {when}",
     "谁 {time} {verb} {what}", True, "present"),
    ("where did {who} {base} {what} {when}",
     "{who} {time} 是 在 哪里 {verb} {what} 的", False, "past"),
    ("when did {who} {base} {what}",
     "{who} 是 什么 时候 {verb} {what} 的", False, ""),
    ("when will {who} {base} {what}",
     "{who} 什么 时候 会 {verb} {what}", False, ""),
    ("where will {who} {base} {what} {when}",
     "{who} {time} 会 在 哪里 {verb} {what}", False, "future"),
    ("will {who} {base} {what} {where} {when}",
     "{who} {time} 会 {place} {verb} {what} 吗", False, "future"),
    ("what will {who} {base} {where} {when}",
     "{who} {time} 会 {place} {verb} 什么", False, "future"),
    ("{does} {who} {base} {what} {when}",
     "{who} {time} {verb} {what} 吗", True, "present"),
    ("what {does} {who} {base} {where} {when}",
     "{who} {time} {place} {verb} 什么", True, "present"),
    ("where {does} {who} {base} {what}",
     "{who} 在 哪里 {verb} {what}", True, ""),
    ("{be} {who} {participle} {what} {where}",
     "{who} 正在 {inside} {verb} {what} 吗", True, "now"),
    ("what {be} {who} {participle} {where}",
     "{who} 正在 {inside} {verb} 什么", True, "now"),
    ("who {be} {who} {peopling}",
     "{who} 正在 {verb} 谁", True, ""),
]  # fmt: skip


def _question(rng: random.Random) -> Phrase:
    """Who, what, where, when, or yes or no, with a verb."""
    english, chinese, action, tense = rng.choice(_QUESTIONS)
    verb = _draw_verb(rng, action=action)
    if "{people}" in english or "{peopling}" in english:
        bases = ("chase", "draw") if action else _PEOPLE_AS_OBJECTS
        verb = rng.choice([v for v in _VERBS if v.base in bases])
    who = NounPhrase("", "")
    if "{who}" in english:
        who = _draw_subject(rng)
    what = NounPhrase("", "")
    if "{what}" in english:
        what = _draw_object(rng, verb, who.english)
    when, time = _draw_from(rng, _TIMES.get(tense, {"": ""}), 0.2)
    where = draw_place(rng, 0.2 if "{where}" in english else 0)
    place = where.chinese
    if "{when}" not in english:
        when, time = "", ""
    forms = {
        "base": verb.base,
        "people": verb.base,
        "peopling": verb.participle,
        "past": verb.past,
        "third": verb.third_person,
        "participle": verb.participle,
        "be": who.be,
        "does": "does" if who.be == "is" else "do",
        "what": what.english,
        "who": who.english,
        "when": when,
        "where": where.english,
    }
    chinese = chinese.format(
        who=who.chinese,
        what=what.chinese,
        verb=verb.chinese,
        time=time,
        place=place,
        inside=place.removeprefix("在 "),
    )
    phrase = _fill(
        f"{english.format(**forms)} ?", f"{chinese} ？", who, what, where
    )
    return _also(phrase, verb.base, what)


def _short_question(rng: random.Random) -> Phrase:
    """What is this? Where is Tom? Is the book heavy?"""
    who = draw_noun_phrase(rng, "topic", people=0.35, definite=True)
    be = who.be
    where = draw_place(rng)
    place = where.chinese
    no, zh_no = ("not", "不") if rng.random() < 0.12 else ("", "")
    kind = rng.randrange(8)
    if kind == 0:
        subject, chinese = rng.choice(
            [("this", "这"), ("that", "那"), ("it", "它"), ("these", "这些")]
            + [("those", "那些")]
        )
        be = "are" if subject in ("these", "those") else "is"
        return _fill(f"what {be} {subject} ?", f"{chinese} 是 什么 ？")
    if kind == 1:
        return _fill(
            f"where {be} {who.english} ?", f"{who.chinese} 在 哪里 ？", who
        )
    if kind == 2:
        who = draw_person(rng)
        return _fill(
            f"who {who.be} {who.english} ?", f"{who.chinese} 是 谁 ？", who
        )
    if kind == 3:
        if rng.random() < 0.5:
            return _fill(f"who is {where.english} ?", f"谁 {place} ？", where)
        return _fill(
            f"what is {where.english} ?", f"{_inside(where)} 有 什么 ？", where
        )
    if kind == 4:
        return _fill(
            f"{be} {no} {who.english} {where.english} ?",
            f"{who.chinese} {zh_no} {place} 吗 ？",
            who,
            where,
        )
    if kind == 5:
        word = rng.choice(list(_COLOURS))
        phrase = _fill(
            f"{be} {no} {who.english} {word} ?",
            f"{who.chinese} {zh_no} 是 {_COLOURS[word]} 的 吗 ？",
            who,
        )
        return _also(phrase, word, who)
    word = rng.choice(list(_QUALITIES))
    phrase = _fill(
        f"{be} {no} {who.english} {word} ?",
        f"{who.chinese} {zh_no} {_QUALITIES[word][1]} 吗 ？",
        who,
    )
    return _also(phrase, word, who)


def _fragment(rng: random.Random) -> Phrase:
    """A red book; in the garden; yes."""
    kind = rng.random()
    if kind < 0.08:
        return _fill("yes", "是 的")
    if kind < 0.16:
        return _fill("no", "不")
    if kind < 0.3:
        if rng.random() < 0.5:
            where = draw_place(rng)
            return _fill(where.english, where.chinese, where)
        times = _TIMES["past"] | _TIMES["future"] | _TIMES["now"]
        return _fill(*rng.choice(list(times.items())))
    what = draw_noun_phrase(rng, "object", people=0.1)
    return _fill(what.english, what.chinese, what)


def _clause(rng: random.Random) -> Phrase:
    """A statement of any kind, short enough to be joined to another."""
    kinds: list[Callable[[random.Random], Phrase]] = [
        _statement, _statement, _statement, _predicate, _comparison,
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
    if rng.random() < 0.15:
        return _when(rng)
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


_KINDS: list[tuple[float, Callable[[random.Random], Phrase]]] = [
    (0.28, _statement), (0.14, _predicate), (0.05, _identity),
    (0.05, _existence), (0.06, _comparison), (0.07, _command),
    (0.13, _question), (0.04, _short_question), (0.03, _fragment),
    (0.12, _two_clauses), (0.01, _answer), (0.03, _gift),
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
            loud = rng.random() < (0.3 if kind is _command else 0.04)
            end, zh_end = ("!", "！") if loud else (".", "。")
            phrase = phrase._replace(
                english=f"{phrase.english} {end}",
                chinese=f"{phrase.chinese} {zh_end}",
            )
    if rng.random() < 0.08 and phrase.english[-1] != "!":
        phrase = phrase._replace(english=phrase.english[:-2])
    return phrase


def make_wide_split(n_train: int, n_test: int, seed: int = 0) -> Split:
    """Split the wide grammar; training has no sentence of chapter 11's tests."""
    narrow = make_split(n_train=1, n_test=1000)
    tests = [english for part in narrow[1:] for english, _ in part]
    return make_split(n_train, n_test, seed, draw=wide_sentence, exclude=tests)
