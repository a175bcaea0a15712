"""Typos and new names through subwords, with and without typos in training.

The source is cut into subwords, so no word is unknown. The corpus are the
statements of the narrow grammar. Both models take as many steps.
Each of a hundred sentences is also changed by one word in every way.
"""

import random

import torch

from attention_book.corpus import WordTokenizer, detokenize, make_split
from attention_book.corpus.grammar import Phrase, statement
from attention_book.fast_decoding import Translator
from attention_book.robust import (
    NEW_NAMES,
    TracedGrammar,
    add_typos,
    expected_calibration_error,
    is_right_but_for_name,
    with_new_name,
)
from attention_book.texts import BPETokenizer
from attention_book.training import (
    BatchLoader,
    Trainer,
    TrainingConfig,
    encode_pairs,
)
from attention_book.transformer import Transformer, TransformerConfig
from experiments.one_word import search
from experiments.record import percent, spread


SEEDS = range(3)
N_TRAIN = 20_000
N_TEST = 200
N_SEARCHED = 100
VOCAB_SIZE = 600
STEPS = 800
TYPOS = (0, 1, 2, 3)
Pair = tuple[str, str]


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


def train(
    pairs: list[Pair],
    tokenizers: tuple[BPETokenizer, WordTokenizer],
    seed: int,
) -> Translator:
    source, target = tokenizers
    torch.manual_seed(seed)
    model = Transformer(
        TransformerConfig(
            source_vocab_size=len(source),
            target_vocab_size=len(target),
            d_model=96,
            n_heads=4,
            d_ff=256,
            n_layers=2,
            norm="pre",
        )
    )
    config = TrainingConfig(
        max_steps=STEPS,
        batch_tokens=1200,
        learning_rate=2e-3,
        seed=seed,
    )
    examples = encode_pairs(pairs, source, target)
    trainer = Trainer(model, BatchLoader(examples, config), config)
    for _ in range(STEPS):
        trainer.step()
    return Translator(model.eval(), source, target)


def run(seed: int) -> dict[str, float]:
    grammar = TracedGrammar(draw)
    split = make_split(N_TRAIN, N_TEST, seed=seed, grammar=grammar)
    tokenizers = (
        BPETokenizer.train([text for text, _ in split.train], VOCAB_SIZE),
        WordTokenizer.train([zh for _, zh in split.train]),
    )
    results: dict[str, float] = {}
    rng = random.Random(seed + 1000)
    tests = {
        n: [(add_typos(text, n, rng), zh) for text, zh in split.sentences]
        for n in TYPOS
    }
    named = [
        changed
        for pair in split.sentences
        if (changed := with_new_name(pair, rng.choice(NEW_NAMES)))
    ]
    for name, pairs in {
        "clean": split.train,
        "typos": with_typos(split.train, seed),
    }.items():
        model = train(pairs, tokenizers, seed)
        for n, test in tests.items():
            found = model.translate_with_confidence([x for x, _ in test])
            right = torch.tensor(
                [
                    each.text == detokenize(zh)
                    for each, (_, zh) in zip(found, test, strict=True)
                ]
            )
            confidence = torch.tensor([each.confidence for each in found])
            results |= {
                f"{name}, {n}: accuracy": right.double().mean().item(),
                f"{name}, {n}: confidence": confidence.double().mean().item(),
                f"{name}, {n}: error": expected_calibration_error(
                    confidence, right
                ),
            }
        if name == "clean":
            results |= search(
                model, split.sentences[:N_SEARCHED], grammar, seed
            )
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

    def confidence(name: str, n: int) -> str:
        values = results[f"{name}, {n}: confidence"]
        return spread([100 * value for value in values], 0, "%")

    rows = []
    for n in TYPOS:
        row = [str(n)]
        for name in ("clean", "typos"):
            accuracy = percent(results[f"{name}, {n}: accuracy"])
            row += [accuracy, confidence(name, n)]
        rows.append(row)
    rows.append(
        [
            "新名字 | new name",
            percent(results["clean, names: accuracy"]),
            "–",
            percent(results["typos, names: accuracy"]),
            "–",
        ]
    )
    return {"typos": [head, *rows]}
