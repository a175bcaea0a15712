"""A grammar that can make a sentence again with one decision changed."""

import random
from typing import Any, NamedTuple

from attention_book.data.grammar import Grammar, Phrase, sentence


__all__ = ["Decision", "ReplayableGrammar"]


class Decision(NamedTuple):
    """What was drawn, and from what; a number is drawn from no list."""

    value: Any
    options: tuple[Any, ...] = ()


class _Recorder(random.Random):
    """Draws as another generator does, and notes each decision."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(0)
        self.rng = rng
        self.decisions: list[Decision] = []

    def random(self) -> float:
        self.decisions.append(Decision(self.rng.random()))
        value: float = self.decisions[-1].value
        return value

    def choice(self, seq: Any) -> Any:
        self.decisions.append(Decision(self.rng.choice(seq), tuple(seq)))
        return self.decisions[-1].value


class _Replayer(random.Random):
    """Decides as was noted, as far as that fits.

    Where a change makes a grammar ask for something else, what does not fit
    is skipped, and what is missing is left out or drawn.
    """

    def __init__(self, decisions: list[Decision]) -> None:
        super().__init__(0)
        self.left = decisions
        self.rng = random.Random(0)

    def random(self) -> float:
        if not self.left or not isinstance(self.left[0].value, float):
            return 1.0
        value: float = self.left[0].value
        self.left = self.left[1:]
        return value

    def choice(self, seq: Any) -> Any:
        for i, (value, _) in enumerate(self.left):
            if value in seq:
                self.left = self.left[i + 1 :]
                return value
        return "" if "" in seq else self.rng.choice(seq)


class ReplayableGrammar:
    """A grammar that remembers how it drew each sentence.

    It is a Grammar itself, so make_split takes it.

    Args:
        grammar: Draws with random and choice only, as `sentence` does.
    """

    def __init__(self, grammar: Grammar = sentence) -> None:
        self.grammar = grammar
        self.traces: dict[str, list[Decision]] = {}

    def __call__(self, rng: random.Random) -> Phrase:
        recorder = _Recorder(rng)
        phrase = self.grammar(recorder)
        self.traces[phrase.english] = recorder.decisions
        return phrase

    def neighbours(self, english: str) -> list[Phrase]:
        """Return all sentences that differ in one decision and one word.

        Each decision is replaced by each of its other options, and the rest
        is decided as before. Kept are the sentences as long as the first
        with exactly one other token. Each comes with its translation.
        """
        trace = self.traces[english]
        words = english.split()
        found: dict[str, Phrase] = {}
        for i, decision in enumerate(trace):
            for option in dict.fromkeys(decision.options):
                changed = [*trace[:i], Decision(option), *trace[i + 1 :]]
                phrase = self.grammar(_Replayer(changed))
                if _differ_once(words, phrase.english.split()):
                    found[phrase.english] = phrase
        return list(found.values())


def _differ_once(words: list[str], others: list[str]) -> bool:
    """Whether sentences are equally long and differ in one word."""
    return (
        len(words) == len(others)
        and sum(a != b for a, b in zip(words, others, strict=True)) == 1
    )
