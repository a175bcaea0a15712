"""Typos and new names through subwords, with and without typos in training.

The source is cut into subwords, so no word is unknown. The corpus are the
statements of the narrow grammar. Both models take as many steps. Typos of the
training set exchange letters. In the last test a letter is missing instead.
"""

import random
from typing import Any

from attention_book import TrainingConfig, expected_calibration_error
from attention_book.data.grammar import Phrase, statement
from attention_book.data.split import make_split
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.words import WordTokenizer
from corpora.biased.sentences import (
    NEW_NAMES,
    add_typos,
    is_right_but_for_name,
    with_new_name,
)
from experiments.fitting import Pair, fit, judge
from experiments.record import percent


SEEDS = range(3)
N_TRAIN = 20_000
N_TEST = 200
VOCAB_SIZE = 600
STEPS = 800
SIZES: dict[str, Any] = {
    "d_model": 96,
    "n_heads": 4,
    "d_ff": 256,
    "n_layers": 2,
    "norm": "pre",
}
TYPOS = (0, 1, 2, 3)


def draw(rng: random.Random) -> Phrase:
    """A statement with its full stop."""
    phrase = statement(rng)
    return phrase._replace(
        english=f"{phrase.english} .", chinese=f"{phrase.chinese} 。"
    )


def with_typos(pairs: list[Pair], seed: int) -> list[Pair]:
    """Half of the sentences with one, two or three typos."""
    rng = random.Random(seed)
    return [
        (add_typos(text, rng.choice((0, 0, 0, 1, 2, 3)), rng), chinese)
        for text, chinese in pairs
    ]


def without_a_letter(text: str, rng: random.Random) -> str:
    """Leave out a letter inside one word of four letters or more."""
    words = text.split()
    i = rng.choice([i for i, word in enumerate(words) if len(word) > 3])
    j = rng.randrange(1, len(words[i]) - 1)
    words[i] = words[i][:j] + words[i][j + 1 :]
    return " ".join(words)


def share_of_known(
    before: list[Pair], after: list[Pair], training: list[Pair]
) -> float:
    """How many of the misspelt words of a test were in training."""
    known = {word for text, _ in training for word in text.split()}
    misspelt = [
        new
        for (old_text, _), (new_text, _) in zip(before, after, strict=True)
        for old, new in zip(old_text.split(), new_text.split(), strict=True)
        if old != new
    ]
    return sum(word in known for word in misspelt) / len(misspelt)


def run(seed: int) -> dict[str, float]:
    split = make_split(N_TRAIN, N_TEST, seed=seed, grammar=draw)
    tokenizers = (
        BPETokenizer.train([text for text, _ in split.train], VOCAB_SIZE),
        WordTokenizer.train([zh for _, zh in split.train]),
    )
    config = TrainingConfig(
        max_steps=STEPS, batch_tokens=1200, learning_rate=2e-3, seed=seed
    )
    rng = random.Random(seed + 1000)
    tests = {
        str(n): [(add_typos(text, n, rng), zh) for text, zh in split.sentences]
        for n in TYPOS
    }
    named = [
        changed
        for pair in split.sentences
        if (changed := with_new_name(pair, rng.choice(NEW_NAMES)))
    ]
    tests["missing"] = [
        (without_a_letter(text, rng), zh) for text, zh in split.sentences
    ]
    taught = with_typos(split.train, seed)
    results = {
        f"known, {n}": share_of_known(split.sentences, tests[n], taught)
        for n in ("1", "missing")
    }
    for name, pairs in {"clean": split.train, "typos": taught}.items():
        model = fit(pairs, tokenizers, SIZES, config, STEPS)
        for n, test in tests.items():
            confidence, right = judge(model, test)
            results |= {
                f"{name}, {n}: accuracy": right.double().mean().item(),
                f"{name}, {n}: confidence": confidence.double().mean().item(),
                f"{name}, {n}: error": expected_calibration_error(
                    confidence, right
                ),
            }
        outputs = model.translate([text for text, _ in named])
        results[f"{name}, names: accuracy"] = sum(
            is_right_but_for_name(text, zh.replace(" ", ""))
            for text, (_, zh) in zip(outputs, named, strict=True)
        ) / len(named)
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "错字 | typos",
        "正确率 | accuracy",
        "置信度 | confidence",
        "学过错字 | trained with typos",
        "置信度 | confidence",
    ]
    cases = {str(n): str(n) for n in TYPOS}
    cases["missing"] = "漏一个字母 | a letter missing"
    rows = [
        [
            title,
            *(
                cell
                for name in ("clean", "typos")
                for cell in (
                    percent(results[f"{name}, {n}: accuracy"]),
                    percent(results[f"{name}, {n}: confidence"], 0),
                )
            ),
        ]
        for n, title in cases.items()
    ]
    clean, typos = (
        percent(results[f"{name}, names: accuracy"])
        for name in ("clean", "typos")
    )
    rows.append(["新名字 | new name", clean, "–", typos, "–"])
    return {"typos": [head, *rows]}
