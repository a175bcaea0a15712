"""Broken sentences, for which a translator learns to say that it does not know."""

import random
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

from attention_book.data.lexicon import (
    COLOURS,
    NOUNS,
    NUMBERS,
    PEOPLE,
    QUALITIES,
    VERBS,
)
from attention_book.data.split import is_held_out
from corpora.wide.shapes import CLASSES, shape, split_shape


__all__ = ["draw_outliers"]


_EXTRA = """
    was were did does do will not is am are who what where when because
    and than there in at please yes no the a an this that these those it
    its they them their you me him us her he she we I my your our his 's
    garden school kitchen market week day year moment one . , ? !
""".split()


def _forms() -> dict[str, list[str]]:
    """The other forms of each word."""
    groups = [[form for form in verb[:4] if form != "-"] for verb in VERBS]
    groups += [[noun, f"{noun}s"] for noun in NOUNS]
    groups += [[word, row[0]] for word, row in QUALITIES.items()]
    for line in (
        "am is are was were", "do does did will", "I me my", "we us our",
        "he him his", "she her", "they them their", "it its", "a an the",
        "this these that those", "who what where when", "because and when",
        "in at", "there it that", "yesterday tomorrow now tonight",
    ):  # fmt: skip
        groups.append(line.split())
    found = defaultdict[str, list[str]](list)
    for group in groups:
        for word in group:
            found[word] += [other for other in group if other != word]
    return dict(found)


_FORMS = _forms()


@cache
def _is_kept(word: str, noun: str) -> bool:
    return not is_held_out((word, noun))


_BASE = {form: verb.base for verb in VERBS for form in verb[:4]}
_BASE.pop("-")
_BASE |= {row[0]: word for word, row in QUALITIES.items()}
_BASE |= {word: word for word in (*COLOURS, *QUALITIES, *NUMBERS)}
_HEAD = {form: noun for noun in NOUNS for form in (noun, f"{noun}s")}
_HEAD |= {name: name for name in PEOPLE}


def _has_no_held_out_pair(words: Sequence[str]) -> bool:
    """Whether no word of it is held out with any noun of it."""
    nouns = {_HEAD[word] for word in words if word in _HEAD}
    bases = {_BASE[word] for word in words if word in _BASE}
    return all(_is_kept(base, noun) for base in bases for noun in nouns)


class _Corruptor:
    """Makes sentences wrong in many ways."""

    def __init__(self, rng: random.Random, sentences: Sequence[str]) -> None:
        self.rng = rng
        self.sentences = [sentence.split() for sentence in sentences]
        words = {word for sentence in self.sentences for word in sentence}
        self.words = sorted(words)
        self.forms = sorted(_BASE)
        self.of_kind = defaultdict[str, list[str]](list)
        for word in self.words:
            if word in CLASSES:
                self.of_kind[CLASSES[word]].append(word)
        self.tails = [
            words[words.index("that", 1) :]
            for words in self.sentences
            if "that" in words[1:-3]
        ]
        self.tails += [
            words[words.index("in", 1) :]
            for words in self.sentences[: len(self.sentences) // 10]
            if "in" in words[1:-2]
        ]
        self.rewrites = [
            (0.08, self.splice), (0.03, self.shuffle), (0.1, self.slice),
            (0.08, self.append), (0.08, self.nest), (0.08, self.coordinate),
            (0.05, self.rotate),
        ]  # fmt: skip
        self.after = defaultdict[str, list[str]](list)
        for sentence in self.sentences[:10_000]:
            for a, b in zip(["", *sentence], [*sentence, ""], strict=True):
                self.after[a].append(b)

    def word(self) -> str:
        """Any word, most often one that carries the grammar."""
        pools = [self.words, self.forms, _EXTRA, _EXTRA]
        return self.rng.choice(self.rng.choice(pools))

    def babble(self) -> list[str]:
        """A walk in which each two neighbours occur somewhere."""
        words: list[str] = []
        word = self.rng.choice(self.after[""])
        while word and len(words) < 16:
            words.append(word)
            word = self.rng.choice(self.after[word])
        return words

    def splice(self, words: list[str]) -> list[str]:
        """The beginning of one sentence and the end of another."""
        other = self.rng.choice(self.sentences)
        i = self.rng.randint(1, len(words))
        return words[:i] + other[self.rng.randrange(len(other)) :]

    def slice(self, words: list[str]) -> list[str]:
        """A few words of a sentence, and perhaps of others, in a list."""
        rng = self.rng
        found: list[str] = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            i = rng.randrange(len(words))
            if found:
                found.append(rng.choice([",", ",", "and", "than", "that"]))
            found += words[i : i + rng.randint(1, 5)]
            words = rng.choice([words, rng.choice(self.sentences)])
        return found

    def append(self, words: list[str]) -> list[str]:
        """One clause too many."""
        other = self.rng.choice(self.sentences)
        joints = ", and because when that not than ,".split()
        if words[-1] in ".?!":
            words = words[:-1]
        return [*words, self.rng.choice(joints), *other][:18]

    def nest(self, words: list[str]) -> list[str]:
        """A relative clause, or a place, behind any noun."""
        places = [i for i, word in enumerate(words) if word in _HEAD]
        if not places:
            return self.coordinate(words)
        i = self.rng.choice(places) + 1
        more = self.rng.choice(self.tails)[: self.rng.randint(3, 6)]
        return [*words[:i], *more, *words[i:]]

    def coordinate(self, words: list[str]) -> list[str]:
        """And with another word of the same kind: found and lost."""
        i = self.rng.randrange(len(words))
        kind = CLASSES.get(words[i], "")
        joint = self.rng.choice(["and", ",", ", and", "and not", ", not"])
        same = self.of_kind[kind] if kind else [words[i]]
        more = [*joint.split(), self.rng.choice(same)]
        return [*words[: i + 1], *more, *words[i + 1 :]]

    def shuffle(self, words: list[str]) -> list[str]:
        """The words in any order."""
        return self.rng.sample(words, len(words))

    def rotate(self, words: list[str]) -> list[str]:
        """The end of a sentence before its beginning."""
        words = [word for word in words if word not in ".?!"]
        i = self.rng.randint(0, len(words))
        return words[i:] + words[:i]

    def move(self, words: list[str]) -> list[str]:
        """One to three words somewhere else."""
        n = self.rng.randint(1, 3)
        i = self.rng.randrange(len(words))
        taken, rest = words[i : i + n], words[:i] + words[i + n :]
        j = self.rng.randint(0, len(rest))
        return rest[:j] + taken + rest[j:]

    def swap(self, words: list[str]) -> list[str]:
        """Two neighbours the other way round."""
        i = self.rng.randrange(len(words))
        return words[:i] + words[i : i + 2][::-1] + words[i + 2 :]

    def drop(self, words: list[str]) -> list[str]:
        """One to three words less."""
        i = self.rng.randrange(len(words))
        return words[:i] + words[i + self.rng.choice([1, 1, 2, 3]) :]

    def insert(self, words: list[str]) -> list[str]:
        """One word more, or some of another sentence."""
        i = self.rng.randint(0, len(words))
        more = [self.word()]
        if self.rng.random() < 0.4:
            other = self.rng.choice(self.sentences)
            start = self.rng.randrange(len(other))
            more = other[start : start + self.rng.randint(1, 5)]
        return [*words[:i], *more, *words[i:]]

    def confuse(self, words: list[str]) -> list[str]:
        """A word in another form: we for us, chases for chase."""
        places = [i for i, word in enumerate(words) if word in _FORMS]
        if not places:
            return self.replace(words)
        i = self.rng.choice(places)
        return [*words[:i], self.rng.choice(_FORMS[words[i]]), *words[i + 1 :]]

    def replace(self, words: list[str]) -> list[str]:
        """Another word."""
        i = self.rng.randrange(len(words))
        return [*words[:i], self.word(), *words[i + 1 :]]

    def corrupt(self) -> list[str]:
        """Return a sentence with one mistake or more."""
        rng = self.rng
        if rng.random() < 0.08:
            return self.babble()
        words = rng.choice(self.sentences)
        kind = rng.random()
        for chance, way in self.rewrites:
            kind -= chance
            if kind < 0:
                return way(words)
        ways = [self.move, self.swap, self.drop, self.insert, self.replace]
        ways += [self.drop, self.replace, self.confuse, self.confuse]
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
            if words:
                words = rng.choice(ways)(words)
        return words


def draw_outliers(
    sentences: Sequence[str], n: int, seed: int = 0
) -> list[str]:
    """Return n sentences of the same words that are in no known shape.

    None has a held-out pair, so that it can be trained on.

    Source: Hendrycks et al. (2019), outlier exposure.
    """
    rng = random.Random(seed)
    known = set[str]()
    skeletons = set[str]()
    for sentence in sentences:
        pieces, skeleton = split_shape(shape(sentence))
        known |= pieces
        skeletons.add(skeleton)
    corruptor = _Corruptor(rng, sentences)
    found: dict[str, None] = {}
    while len(found) < n:
        words = corruptor.corrupt()
        text = " ".join(words)
        if not words or text in found or not _has_no_held_out_pair(words):
            continue
        pieces, skeleton = split_shape(shape(text))
        if not pieces <= known or skeleton not in skeletons:
            found[text] = None
    return list(found)
