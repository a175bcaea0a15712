"""Questions: pairs of templates, with the verbs and times that each takes."""

import random

from attention_book.data.grammar import Phrase
from attention_book.data.lexicon import COLOURS, QUALITIES, VERBS
from corpora.wide.noun_phrases import (
    PEOPLE_AS_OBJECTS,
    WIDE_TIMES,
    NounPhrase,
    draw_person,
    draw_place,
    inside,
)
from corpora.wide.predicates import (
    DEMONSTRATIVES,
    draw_tense,
    make_thing,
)
from corpora.wide.relative_clauses import draw_noun_phrase, is_long
from corpora.wide.statements import (
    draw_entry,
    draw_object,
    draw_subject,
    draw_verb,
    make_phrase,
    note,
)


__all__ = ["draw_question", "draw_short_question"]


_QUESTIONS = [  # English, Chinese, only verbs of actions, kind of time
    ("did {who} {base} {what} {where} {when}",
     "{who} {time} {place} {verb} 了 {what} 吗", False, "past"),
    ("did {who} {base} {what} {where} {when}",
     "{who} {time} {place} {verb} 了 {what} 吗", False, "past"),
    ("did not {who} {base} {what} {where} {when}",
     "{who} {time} 没有 {place} {verb} {what} 吗", False, "past"),
    ("did {who} not {base} {what} {where} {when}",
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
    ("{does} {who} {seen} {what}", "{who} {verb} 了 {what} 吗", False, ""),
    ("what {does} {who} {seen} {where}",
     "{who} {place} {verb} 了 什么", False, ""),
    ("when {does} {who} {base} {what}",
     "{who} 什么 时候 {verb} {what}", True, ""),
    ("where {be} {who} {participle} {what}",
     "{who} 正在 哪里 {verb} {what}", True, ""),
    ("who will {who} {people} {where} {when}",
     "{who} {time} 会 {place} {verb} 谁", False, "future"),
    ("who {does} {who} {peoples}", "{who} {verb} 谁", True, ""),
    ("{does} not {who} {base} {what}",
     "{who} 不 {verb} {what} 吗", True, ""),
    ("will not {who} {base} {what} {when}",
     "{who} {time} 不 会 {verb} {what} 吗", False, "future"),
    ("{be} not {who} {participle} {what}",
     "{who} 没有 在 {verb} {what} 吗", True, ""),
    ("where {does} {who} {base} {what}",
     "{who} 在 哪里 {verb} {what}", True, ""),
    ("{be} {who} {participle} {what} {where}",
     "{who} 正在 {inside} {verb} {what} 吗", True, "now"),
    ("what {be} {who} {participle} {where}",
     "{who} 正在 {inside} {verb} 什么", True, "now"),
    ("{was} {who} {participle} {what} {where} {when}",
     "{who} {time} 在 {inside} {verb} {what} 吗", True, "past"),
    ("what {was} {who} {participle} {where}",
     "{who} 在 {inside} {verb} 什么", True, ""),
    ("who was {participle} {what} {where}",
     "谁 在 {inside} {verb} {what}", True, ""),
    ("who {be} {who} {peopling}",
     "{who} 正在 {verb} 谁", True, ""),
]  # fmt: skip


def draw_question(rng: random.Random) -> Phrase:
    """Who, what, where, when, or yes or no, with a verb."""
    english, chinese, action, tense = rng.choice(_QUESTIONS)
    verb = draw_verb(rng, action=action)
    if "{people" in english or "{peopling}" in english:
        bases = ("chase", "draw") if action else PEOPLE_AS_OBJECTS
        verb = rng.choice([v for v in VERBS if v.base in bases])
    if "{seen}" in english:
        verb = rng.choice([v for v in VERBS if v.base in ("see", "find")])
    who = NounPhrase("", "")
    if "{who}" in english:
        who = draw_subject(rng)
    what = NounPhrase("", "")
    if "{what}" in english:
        what = draw_object(rng, verb, who.english)
    when, time = draw_entry(rng, WIDE_TIMES.get(tense, {"": ""}), 0.3)
    where = draw_place(rng, 0.3 if "{where}" in english else 0.0)
    place = where.chinese
    if "{when}" not in english:
        when, time = "", ""
    if is_long(what):
        when, time, where, place = "", "", NounPhrase("", ""), ""
    forms = {
        "base": verb.base,
        "people": verb.base,
        "peoples": verb.base,
        "seen": verb.base,
        "peopling": verb.participle,
        "past": verb.past,
        "third": verb.third_person,
        "participle": verb.participle,
        "be": who.be,
        "was": "were" if who.be == "are" else "was",
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
    phrase = make_phrase(
        f"{english.format(**forms)} ?", f"{chinese} ？", who, what, where
    )
    return note(phrase, verb.base, what)


def draw_short_question(rng: random.Random) -> Phrase:
    """What is this? Where is Tom? Is the book heavy?"""
    who = draw_noun_phrase(rng, "topic", people=0.35, definite=True)
    if rng.random() < 0.06:
        who = rng.choice(DEMONSTRATIVES)
    be, now, zh_now = draw_tense(rng, who.be)
    where = draw_place(rng)
    place = where.chinese
    no, zh_no = ("not", "不") if rng.random() < 0.12 else ("", "")
    kind = rng.randrange(8)
    if kind == 0:
        subject, chinese = rng.choice(
            [
                ("this", "这"),
                ("that", "那"),
                ("it", "它"),
                ("these", "这些"),
                ("those", "那些"),
                ("they", "它们"),
            ]
        )
        be = "are" if subject in ("these", "those", "they") else "is"
        return make_phrase(f"what {be} {subject} ?", f"{chinese} 是 什么 ？")
    if kind == 1:
        return make_phrase(
            f"where {be} {who.english} {now} ?",
            f"{who.chinese} {zh_now} 在 哪里 ？",
            who,
        )
    if kind == 2:
        who = draw_person(rng)
        if rng.random() < 0.2:
            who = rng.choice(DEMONSTRATIVES[:2])
        return make_phrase(
            f"who {who.be} {who.english} ?", f"{who.chinese} 是 谁 ？", who
        )
    if kind == 3:
        be = "was" if be in ("was", "were") else "is"
        english, chinese = "who", f"谁 {zh_now} {place}"
        if rng.random() < 0.5:
            english, chinese = "what", f"{zh_now} {inside(where)} 有 什么"
        return make_phrase(
            f"{english} {be} {where.english} {now} ?", f"{chinese} ？", where
        )
    if kind == 4:
        return make_phrase(
            f"{be} {no} {who.english} {where.english} {now} ?",
            f"{who.chinese} {zh_now} {zh_no} {place} 吗 ？",
            who,
            where,
        )
    who = make_thing(who)
    if kind == 5:
        word = rng.choice(list(COLOURS))
        phrase = make_phrase(
            f"{be} {no} {who.english} {word} {now} ?",
            f"{who.chinese} {zh_now} {zh_no} 是 {COLOURS[word]} 的 吗 ？",
            who,
        )
        return note(phrase, word, who)
    word = rng.choice(list(QUALITIES))
    phrase = make_phrase(
        f"{be} {no} {who.english} {word} {now} ?",
        f"{who.chinese} {zh_now} {zh_no} {QUALITIES[word][1]} 吗 ？",
        who,
    )
    return note(phrase, word, who)
