"""Is a combination hard because it is new? A test in pairs of sentences.

The two tests of the chapter "A corpus" differ in more than novelty: sentences
with a held-out pair have more pairs, and other constructions. Here each of
them is compared with itself, its held-out adjective replaced by one that
training has seen before the same noun: "my green key" by "my red key". If
novelty costs nothing, equally many of both are right. The model is that of
the chapter "Training", and is tested while it learns.
"""

import random
from typing import Any, NamedTuple

import torch

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    WordTokenizer,
    encode_pairs,
)
from attention_book.data.batches import pad
from attention_book.data.grammar import sentence
from attention_book.data.lexicon import COLOURS, NOUNS, QUALITIES
from attention_book.data.split import is_held_out, make_split
from attention_book.generation.generate import generate
from experiments.fitting import small_model
from experiments.record import percent, spread


SEEDS = range(3)
STEPS = (250, 300, 350, 500)
N_PAIRS = 500
ADJECTIVES = (
    COLOURS
    | {  # those that 的 follows
        word: chinese
        for word, (_, chinese) in QUALITIES.items()
        if chinese[1:]
    }
)


class Twins(NamedTuple):
    """A sentence with a held-out pair, and itself with a seen one."""

    new: tuple[str, str]
    seen: tuple[str, str]


def make_twins(known: set[str]) -> list[Twins]:
    """Draw sentences with one held-out pair, adjective and noun."""
    rng = random.Random(1)
    found: list[Twins] = []
    while len(found) < N_PAIRS:
        phrase = sentence(rng)
        held_out = [pair for pair in phrase.pairs if is_held_out(pair)]
        if len(held_out) != 1:
            continue
        adjective, noun = held_out[0]
        if adjective not in ADJECTIVES or noun not in NOUNS:
            continue
        other = rng.choice(
            [x for x in ADJECTIVES if not is_held_out((x, noun))]
        )
        texts = []
        for text, words in (
            (phrase.english, (adjective, other)),
            (phrase.chinese, (ADJECTIVES[adjective], ADJECTIVES[other])),
        ):
            if text.split().count(words[0]) == 1 and words[1] not in text:
                texts.append(text.replace(*words))
        beside = f"{adjective} {noun}" in phrase.english
        if len(texts) == 2 and beside and texts[0] not in known:
            new = phrase.english, phrase.chinese
            found.append(Twins(new, (texts[0], texts[1])))
    return found


def run(seed: int) -> dict[str, float]:
    split = make_split(n_train=20_000, n_test=200)
    english, chinese = map(WordTokenizer.train, zip(*split.train, strict=True))
    twins = make_twins({text for text, _ in split.train})
    torch.manual_seed(seed)
    model = small_model(english, chinese)
    config = TrainingConfig(
        max_steps=STEPS[-1],
        batch_tokens=1000,
        learning_rate=5e-3,
        warmup_steps=100,
        schedule="inverse_sqrt",
        seed=seed,
    )
    examples = encode_pairs(split.train, english, chinese)
    trainer = Trainer(model, TranslationBatches(examples, config), config)
    found: dict[str, float] = {}
    for step in range(1, STEPS[-1] + 1):
        trainer.step()
        if step not in STEPS:
            continue
        right: dict[str, list[bool]] = {}
        columns = zip(*twins, strict=True)
        for kind, pairs in zip(Twins._fields, columns, strict=True):
            source = pad([english.encode(text) for text, _ in pairs])
            rows = generate(model.eval(), *source, max_length=40)
            texts = zip(rows, pairs, strict=True)
            right[kind] = [
                chinese.decode(row) == chinese.decode(chinese.encode(text))
                for row, (_, text) in texts
            ]
            found[f"{step}: {kind}"] = sum(right[kind]) / N_PAIRS
        for kind, other in (("new", "seen"), ("seen", "new")):
            both = zip(right[kind], right[other], strict=True)
            alone = sum(a and not b for a, b in both)
            found[f"{step}: only {kind}"] = alone / N_PAIRS
    return found


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    rows = [
        [
            "训练步数 | steps of training",
            "见过的搭配 | seen pair",
            "没见过的搭配 | unseen pair",
            "差，百分点 | difference, points",
            "只对见过的 | only seen right",
            "只对没见过的 | only unseen right",
        ]
    ]
    for step in STEPS:
        seen, new = (results[f"{step}: {kind}"] for kind in ("seen", "new"))
        gaps = [100 * (a - b) for a, b in zip(seen, new, strict=True)]
        alone = [results[f"{step}: only {kind}"] for kind in ("seen", "new")]
        rows.append(
            [
                f"{step:,}",
                percent(seen),
                percent(new),
                spread(gaps, 1),
                *map(percent, alone),
            ]
        )
    return {"pairs": rows}
