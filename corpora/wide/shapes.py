"""The shape of a sentence: its words replaced by their classes."""

import re

from attention_book.data.lexicon import (
    COLOURS,
    NOUNS,
    NUMBERS,
    PEOPLE,
    PLACES,
    QUALITIES,
    VERBS,
)
from corpora.wide.noun_phrases import WIDE_TIMES


__all__ = ["CLASSES", "shape", "split_shape"]


def _classes() -> dict[str, str]:
    """The class of each word whose form matters, but not itself."""
    found = dict.fromkeys(PEOPLE, "NAME")
    for noun in NOUNS:
        found[noun] = "vowel" if noun[0] in "aeiou" else "noun"
        found[f"{noun}s"] = "nouns"
    found |= dict.fromkeys(COLOURS, "colour")
    found |= dict.fromkeys(QUALITIES, "quality")
    found |= {row[0]: "comparative" for row in QUALITIES.values()}
    found |= dict.fromkeys(NUMBERS, "number")
    found |= dict.fromkeys(("garden", "kitchen", "market", "school"), "ground")
    kinds = dict.fromkeys(("buy", "draw", "find", "sell"), "give")
    for verb in VERBS:
        kind = kinds.get(verb.base, "hide" if verb.base == "hide" else "act")
        for name, word in zip(verb._fields[:4], verb[:4], strict=True):
            found[word] = f"{kind}_{name}"
    found |= dict.fromkeys(("your", "his", "our", "their", "its"), "my")
    found |= {"my": "my", "she": "he", "they": "we", "him": "me"}
    return found | {"us": "me", "them": "me", "those": "these"}


CLASSES = _classes()
_ADJECTIVE = r"(?:(?:quality (?:(?:and|,) )?)?(?:quality|colour) )?"
_FORM = r"\w+_(?:past|base|third_person|participle)"
_OTHER = "(?:NAME|me|her|you|THE|THOSE)"
_ONE = "(?:NAME|you|THE|THOSE)"
_ACTS = r"\w+_past|did not \w+_base|will \w+_base"
_IS_LIKE = (
    rf"(?:colour|quality|PLACE|comparative than {_OTHER})"
    r"(?! (?:and|,) (?:quality|colour))"
)
_CHUNKS = [
    (r"\b(?:NAME 's|the (?:noun|vowel) 's)", "my"),
    (r"\bmy (?:noun|vowel) 's", "my"),
    (r"\bit\b", "NAME"),
    (r"\b(?:this|that) one\b(?! (?:noun|vowel|quality|colour))", "NAME"),
    (r"\bat (?:the|this|that|my) (?:quality )?ground\b", "PLACE"),
    (r"\b(?:a|the) (?:quality|colour) one\b", "THE"),
    (rf"\b(?:a {_ADJECTIVE}noun|an vowel|(?:one|the|this|that|my|her) "
     rf"{_ADJECTIVE}(?:noun|vowel|ground))\b", "THE"),
    (rf"\b(?:the|these|my|her) (?:number )?{_ADJECTIVE}nouns\b", "THOSE"),
    (rf"\b(?:number )?{_ADJECTIVE}nouns\b", "THOSE"),
    (r"\bin THE\b", "PLACE"),
    (rf"({_FORM}) (?:this|that|these)\b"
     r"(?! (?:THE|THOSE|NAME|you|we|I|he)\b)", r"\1 NAME"),
    *(  # the book that Tom bought; the cat that chased Tom; that is red
        (rf"\b(THE|THOSE) (?:that )?{clause}\b", r"\1")
        for clause in (
            rf"(?:NAME|he|THE) (?:{_ACTS}|\w+_third_person|is \w+_participle)",
            rf"(?:we|you|THOSE) (?:{_ACTS}|\w+_base|are \w+_participle)",
            rf"I (?:{_ACTS}|\w+_base|am \w+_participle)",
        )
    ),
    (r"\bTHE that (?:\w+_past|\w+_third_person|is \w+_participle) "
     rf"{_OTHER}\b", "THE"),
    (r"\bTHOSE that (?:\w+_past|\w+_base|are \w+_participle) "
     rf"{_OTHER}\b", "THOSE"),
    (r"\bTHE that (?:hide_past|hide_third_person|is hide_participle) PLACE",
     "THE"),
    (r"\bTHOSE that (?:hide_past|hide_base|are hide_participle) PLACE",
     "THOSE"),
    (rf"\bTHE that (?:is|was) {_IS_LIKE}\b", "THE"),
    (rf"\bTHOSE that (?:are|were) {_IS_LIKE}\b", "THOSE"),
    (rf"(^|because |when |, |and ){_ONE} and (?:I|he|we|{_ONE})"
     r"(?= (?:are|were|do|did|will|\w+_base|\w+_past)\b)", r"\1we"),
    (rf"({_FORM}|than) {_OTHER} and {_OTHER}"
     r"(?= (?:PLACE|PAST|FUTURE|PRESENT|NOW|because|when|[.?!,])|$)",
     r"\1 NAME"),
    (rf"({_FORM}|than) {_OTHER}\b", r"\1 NAME"),
    (rf"(give_\w+ NAME) {_OTHER}\b", r"\1 NAME"),
]  # fmt: skip
_PHRASES = dict.fromkeys(PLACES, "PLACE")
_PHRASES |= {
    time: kind.upper() for kind, table in WIDE_TIMES.items() for time in table
}
_ANY_PHRASE = re.compile(rf"\b(?:{'|'.join(_PHRASES)})\b")
_PATTERNS = [(re.compile(pattern), name) for pattern, name in _CHUNKS]


def shape(english: str) -> str:
    """Return a sentence with its words and noun phrases made anonymous.

    Sentences of one shape are nearly always all in the grammar or all
    outside.
    """
    english = _ANY_PHRASE.sub(lambda found: _PHRASES[found[0]], english)
    text = " ".join(CLASSES.get(word, word) for word in english.split())
    for pattern, name in _PATTERNS:
        text = pattern.sub(name, text)
    return text


_VERBAL = re.compile(rf"{_FORM}|\b(?:am|is|are|was|were)\b")


def split_shape(text: str) -> tuple[set[str], str]:
    """Cut a shape into its clauses, and what holds them together.

    What is no clause, such as a name or "please", holds them together too.
    """
    text = re.sub(r" [.?!]$", "", text)
    parts = re.split(r"\b(because|when|and)\b|([,.?!])", text)
    pieces = [part.strip() for part in parts[::3]]
    joints = [a or b for a, b in zip(parts[1::3], parts[2::3], strict=True)]
    whole = ["S" if _VERBAL.search(piece) else piece for piece in pieces]
    rest = zip(joints, whole[1:], strict=True)
    return {*pieces}, " ".join([whole[0], *(" ".join(pair) for pair in rest)])
