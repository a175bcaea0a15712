"""Pairs of sentences, where the second follows or does not, with shortcuts."""

import random
from collections.abc import Sequence
from typing import NamedTuple

from attention_book.data.lexicon import PEOPLE, VERBS


__all__ = ["HEURISTICS", "Inference", "make_inferences"]


ANIMALS = ("cat", "horse", "cow", "snake", "bird")
PEOPLE_AS_OBJECTS = ("see", "find", "chase", "draw")  # what is done to them
HEURISTICS = ("lexical overlap", "subsequence", "constituent")
_Template = tuple[str, str]  # a premise and a hypothesis
_PAST = [verb.past for verb in VERBS if verb.base in PEOPLE_AS_OBJECTS]
_NONE = "no overlap"
# In a premise: whoever is A, B …, what they did (V, W, X), an animal N.
_AND = "A and B V C ."
_OBJECTS = "A V B and C ."
_THAT = "the N that V A W B ."
_WHICH = "B V the N that A W ."
_BECAUSE = "because A V B , C W D ."
_IF = "E X F , and if A V B , C W D ."
_FOLLOWS: dict[str, list[_Template]] = {  # the heuristic holds
    "lexical overlap": [
        (_AND, "A V C ."),
        (_OBJECTS, "A V C ."),
        (_THAT, "the N W B ."),
        (_THAT, "the N V A ."),
        (_WHICH, "A W the N ."),
    ],
    "subsequence": [
        (_AND, "B V C ."),
        (_OBJECTS, "A V B ."),
        (_WHICH, "B V the N ."),
    ],
    "constituent": [
        (_BECAUSE, "A V B ."),
        (_BECAUSE, "C W D ."),
        (_IF, "E X F ."),
    ],
}
_DOES_NOT: dict[str, list[_Template]] = {  # the heuristic fails
    "lexical overlap": [
        (_AND, "C V A ."),
        (_AND, "A V B ."),
        (_OBJECTS, "C V A ."),
        (_THAT, "A V the N ."),
        (_WHICH, "the N W A ."),
    ],
    "subsequence": [(_THAT, "A W B .")],
    "constituent": [(_IF, "A V B ."), (_IF, "C W D .")],
}


class Inference(NamedTuple):
    """Two sentences, and whether the second follows from the first."""

    premise: str
    hypothesis: str
    follows: bool
    heuristic: str  # one of HEURISTICS, or "no overlap"

    @property
    def group(self) -> tuple[str, bool]:
        """The heuristic, and whether it holds."""
        return self.heuristic, self.follows


def _fill_in(template: str, words: dict[str, str]) -> str:
    """Replace the letters of a template by words."""
    return " ".join(words.get(token, token) for token in template.split())


def _draw(rng: random.Random, template: _Template) -> tuple[str, str]:
    """Fill a premise and a hypothesis with the same words."""
    words = dict(zip("ABCDEF", rng.sample(list(PEOPLE), 6), strict=True))
    words |= dict(zip("VWX", rng.sample(_PAST, 3), strict=True))
    words["N"] = rng.choice(ANIMALS)
    premise, hypothesis = template
    return _fill_in(premise, words), _fill_in(hypothesis, words)


def _with_new_words(rng: random.Random, premise: str, hypothesis: str) -> str:
    """Replace names, verbs and animals by others that the premise lacks."""
    used = premise.split()
    words = hypothesis.split()
    for kind in (list(PEOPLE), _PAST, ANIMALS):
        places = [i for i, word in enumerate(words) if word in kind]
        new = rng.sample([w for w in kind if w not in used], len(places))
        for i, word in zip(places, new, strict=True):
            words[i] = word
    return " ".join(words)


def make_inferences(
    n: int,
    n_counterexamples: int = 0,
    *,
    seed: int = 0,
    heuristics: Sequence[str] = HEURISTICS,
) -> list[Inference]:
    """Draw pairs of sentences, of which half follow.

    Where a hypothesis has only words of its premise, it follows; where it
    does not follow, its names, verbs and animals are others. So overlap
    gives the label away, but for the counterexamples. Each pattern of a
    premise occurs as often with either label.

    Args:
        n: How many pairs, an even number.
        n_counterexamples: How many of those that do not follow overlap.
            Heuristics, and patterns against one of them, have equal shares.
        seed: Of the random generator.
        heuristics: Which heuristics the counterexamples are against.
    """
    rng = random.Random(seed)
    found: list[Inference] = []
    for i in range(n_counterexamples):
        heuristic, template = _next(_DOES_NOT, heuristics, i)
        found.append(Inference(*_draw(rng, template), False, heuristic))
        heuristic, template = rng.choice(_follows_from(template[0]))
        found.append(Inference(*_draw(rng, template), True, heuristic))
    for i in range(n // 2 - n_counterexamples):
        heuristic, template = _next(_FOLLOWS, HEURISTICS, i)
        found.append(Inference(*_draw(rng, template), True, heuristic))
        premise, hypothesis = _draw(rng, template)
        hypothesis = _with_new_words(rng, premise, hypothesis)
        found.append(Inference(premise, hypothesis, False, _NONE))
    rng.shuffle(found)
    return found


def _next(
    tables: dict[str, list[_Template]], heuristics: Sequence[str], i: int
) -> tuple[str, _Template]:
    """Take heuristics in turn, and the templates of each in turn."""
    heuristic = heuristics[i % len(heuristics)]
    templates = tables[heuristic]
    return heuristic, templates[i // len(heuristics) % len(templates)]


def _follows_from(premise: str) -> list[tuple[str, _Template]]:
    """Return all templates with this premise that follow."""
    return [
        (heuristic, template)
        for heuristic, templates in _FOLLOWS.items()
        for template in templates
        if template[0] == premise
    ]
