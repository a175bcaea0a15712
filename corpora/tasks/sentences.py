"""Sentences of the small grammar, with who does what to whom in them."""

import random
import re
from typing import NamedTuple

from attention_book.data.grammar import sentence
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
)


__all__ = [
    "AGENTS",
    "ROLES",
    "LabelledSentence",
    "draw_sentences",
    "label_roles",
    "swap_names",
]


AGENTS = (*PEOPLE, "he", "she", "I", "you", "we", "they")
ROLES = ("agent", "verb", "patient", "owner", "place", "time", "other")


def _either(*words: str) -> str:
    return rf"\b(?:{'|'.join(words)})\b"


_VERB = _either(*(form for verb in VERBS for form in verb[:4] if form != "-"))
_NOUN = (
    rf"(?:{_either(*COLOURS, *QUALITIES)} )?"
    rf"{_either(*NOUNS, *(f'{noun}s' for noun in NOUNS))}"
)
_BEFORE = _either("a", "an", "this", "that", *NUMBERS, *OWNERS)
_PATIENT = rf"{_BEFORE} {_NOUN}|{_either(*PEOPLE)}"
_CLAUSE = re.compile(  # what did Tom see; the cat that Tom saw; Tom saw a cat
    rf"(?:(?P<asked>what) \w+ |(?P<relative>the {_NOUN}) that )?"
    rf"(?P<agent>{_either(*AGENTS)}) "
    rf"(?:{_either('will', 'did', 'do', 'does', 'am', 'is', 'are')} )?"
    rf"(?:not )?(?P<verb>{_VERB})(?: (?P<patient>{_PATIENT}))?"
)
_ADJUNCTS = re.compile(
    rf"(?P<owner>{_either(*OWNERS)})"
    rf"|(?P<place>{_either('where', *PLACES)})"
    rf"|(?P<time>{_either('when', *(t for x in TIMES.values() for t in x))})"
)
_ROLE_OF = {"asked": "patient", "relative": "patient"}


class LabelledSentence(NamedTuple):
    """A sentence of the small grammar and what there is to predict of it."""

    english: str  # tokens, with spaces between them
    roles: list[str]  # one for each token
    agent: str
    chinese: str


def label_roles(english: str) -> list[str]:
    """Return the role of each token in a sentence of the small grammar.

    An owner keeps that role in front of a patient. What "who" does is not
    labelled, as none of AGENTS does it.
    """
    roles = ["other"] * len(english.split())
    for pattern in (_CLAUSE, _ADJUNCTS):
        for found in pattern.finditer(english):
            for group, text in found.groupdict().items():
                if text:
                    start = len(english[: found.start(group)].split())
                    end = start + len(text.split())
                    role = _ROLE_OF.get(group, group)
                    roles[start:end] = [role] * (end - start)
    return roles


def draw_sentences(n: int, seed: int = 0) -> list[LabelledSentence]:
    """Draw n sentences, no two of them the same, each with one agent."""
    rng = random.Random(seed)
    found: dict[str, LabelledSentence] = {}
    while len(found) < n:
        english, chinese, *_ = sentence(rng)
        roles = label_roles(english)
        if roles.count("agent") == 1:
            agent = english.split()[roles.index("agent")]
            found[english] = LabelledSentence(english, roles, agent, chinese)
    return list(found.values())


def swap_names(drawn: LabelledSentence) -> LabelledSentence | None:
    """The same sentence with its two names exchanged; None if it has not two.

    The words are the same, and the agent is the other of the two.
    """
    names = sorted({*drawn.english.split()} & {*PEOPLE})
    if len(names) != 2:
        return None
    a, b = names
    other = {a: b, b: a, PEOPLE[a]: PEOPLE[b], PEOPLE[b]: PEOPLE[a]}
    english, chinese = (
        " ".join(other.get(word, word) for word in text.split())
        for text in (drawn.english, drawn.chinese)
    )
    return LabelledSentence(english, drawn.roles, other[drawn.agent], chinese)
