"""Parts of speech of the sentences of the wide grammar.

The lexicon decides for most words; twelve have two tags, and rules look at
their neighbours. The tests check the rules against the Chinese side.
"""

import re

from attention_book.data.lexicon import (
    COLOURS,
    NOUNS,
    NUMBERS,
    PEOPLE,
    QUALITIES,
    VERBS,
)


__all__ = ["UPOS", "tag_words"]


_WORDS = {
    "ADJ": "last next",
    "ADP": "in at than",
    "ADV": "now there where",
    "AUX": "am is are was were do does did will",
    "CCONJ": "and",
    "DET": "a an the every no",
    "INTJ": "yes please",
    "NOUN": "day moment morning week year yesterday tomorrow tonight "
    "garden kitchen market school one",
    "PART": "not 's",
    "PRON": "I me my you your he him his she her it its we us our they them "
    "their who what this that these those",
    "PUNCT": ". , ? !",
    "SCONJ": "because when",
}


def _make_lexicon() -> dict[str, str]:
    """Return the tag that each word has outside the rules below."""
    found = {w: name for name, words in _WORDS.items() for w in words.split()}
    comparatives = [comparative for comparative, _ in QUALITIES.values()]
    found |= dict.fromkeys([*COLOURS, *QUALITIES, *comparatives], "ADJ")
    found |= dict.fromkeys(NUMBERS, "NUM")
    found |= dict.fromkeys(PEOPLE, "PROPN")
    found |= {form: "NOUN" for noun in NOUNS for form in (noun, f"{noun}s")}
    found |= {form: "VERB" for v in VERBS for form in v[:4] if form != "-"}
    return found


_LEXICON = _make_lexicon()
UPOS = tuple(sorted({*_LEXICON.values()}))


_BE = "(?:is|are|was|were)"
_NAME = rf"(?:{'|'.join(PEOPLE)})"
_NUMBER = rf"(?:{'|'.join(NUMBERS)}|one)"
_ADJECTIVE = rf"(?:{'|'.join([*COLOURS, *QUALITIES])})"
_THING = rf"(?:(?:{'|'.join(NOUNS)})s?|garden|kitchen|market|school)\b"
_NOUN = rf"(?:{_ADJECTIVE} (?:(?:and|,) )?)*{_THING}"  # big and red cats
_THIS = "(this|that|these|those)"
_WHO = rf"(?:{_NAME}|I|you|he|she|it|we|they) (?!'s)"
_OWNER = rf"(?:my|your|his|her|its|our|their|{_NAME} 's)"
_ARTICLE = rf"(?:a|an|one|the|this|that|{_OWNER})"
_PLACE = rf"(?:there|at school|(?:in|at) {_ARTICLE} (?:\w+ 's )?{_NOUN})"
_OPENING = rf"^(?:{_NAME} , )?"
_RULES = [  # a context, and the tag of each of its groups
    (rf"\b(one) {_NOUN}", ["NUM"]),
    (rf"\b{_THIS} (?:{_NUMBER} )?{_NOUN}", ["DET"]),
    (rf"\b{_THIS} one\b(?! {_NOUN})", ["DET"]),
    (r"\b(this) (?:morning|moment)\b", ["DET"]),
    (rf"{_OPENING}{_BE} {_THIS} (?:{_NUMBER} )?{_NOUN}(?: \?| , {_NAME} \?|$)",
     ["PRON"]),
    (rf"{_OPENING}{_BE} {_THIS} {_NUMBER} {_NOUN} (?:that |{_WHO})", ["PRON"]),
    (rf"{_OPENING}(?:{_PLACE} (?:, )?)?(there) ({_BE})\b", ["PRON", "VERB"]),
    (rf"{_OPENING}({_BE}) (there)\b", ["VERB", "PRON"]),
    (r"\b(no)(?: ,| [.!]|$)", ["INTJ"]),
    (r"\b(when) (?:did|do|does|will)\b", ["ADV"]),
]  # fmt: skip


def tag_words(english: str) -> list[str]:
    """Return the part of speech of each word of the wide grammar's sentence.

    Words have the tag of the lexicon, unless a rule knows better.

    Args:
        english: Tokens, with spaces between them.

    Raises:
        ValueError: A word is not in the lexicon; names it.

    Source: universaldependencies.org/en/pos, where "her" is PRON in both its
        uses, and universaldependencies.org/v2/copula.html for "there is".
    """
    words = english.split()
    unknown = [word for word in words if word not in _LEXICON]
    if unknown:
        raise ValueError(
            f"english must be in words of the grammar, got {unknown[0]!r}"
        )
    tags = [_LEXICON[word] for word in words]
    for context, names in _RULES:
        for found in re.finditer(context, english):
            for group, name in enumerate(names, 1):
                before = english[: found.start(group)]
                tags[len(before.split())] = name
    return tags
