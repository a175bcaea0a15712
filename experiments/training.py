"""A small model, warm-up, and averaged checkpoints, for "Training".

The model of that chapter is trained as it trains it. Warm-up, for "A training
recipe", is tried on models of four layers a side, with normalisation after the
residual connection (post) and before the sublayer (pre). Averages are of the
last five checkpoints of the small model, ten steps apart.
"""

import copy
import math
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import torch

from attention_book import Transformer, TransformerConfig, WordTokenizer
from attention_book.data.batches import pad
from attention_book.data.split import Split, make_split
from attention_book.generation.generate import generate
from attention_book.tokenizers.punctuation import detokenize
from attention_book.training import (
    Example,
    Trainer,
    TrainingConfig,
    TranslationBatches,
    encode_pairs,
    validation_loss,
)
from experiments.record import percent, spread


SEEDS = range(3)
RATES = (1e-3, 3e-3, 1e-2)
N_SHOWN = 4
N_AVERAGED = 5
EVERY = 10  # steps from checkpoint to checkpoint

CONFIG = TrainingConfig(  # of the chapter
    max_steps=350,
    batch_tokens=1000,
    learning_rate=5e-3,
    warmup_steps=100,
    schedule="inverse_sqrt",
)


class Texts(NamedTuple):
    """The sentences, and the vocabularies of their training part."""

    split: Split
    english: WordTokenizer
    chinese: WordTokenizer

    def encode(self, pairs: Any) -> list[Example]:
        return encode_pairs(pairs, self.english, self.chinese)


@cache
def make_texts() -> Texts:
    split = make_split(n_train=20_000, n_test=200)
    return Texts(
        split,
        WordTokenizer.train(source for source, _ in split.train),
        WordTokenizer.train(target for _, target in split.train),
    )


def make_trainer(config: TrainingConfig, **shape: Any) -> Trainer:
    """A new model from the config's seed, and its trainer."""
    texts = make_texts()
    torch.manual_seed(config.seed)
    model = Transformer(
        TransformerConfig(
            source_vocab_size=len(texts.english),
            target_vocab_size=len(texts.chinese),
            d_model=64,
            n_heads=4,
            d_ff=256,
            **shape,
        )
    )
    batches = TranslationBatches(texts.encode(texts.split.train), config)
    return Trainer(model, batches, config)


def translate(model: Transformer) -> list[str]:
    """Translate the unseen sentences."""
    texts = make_texts()
    source, lengths = pad(
        [texts.english.encode(text) for text, _ in texts.split.sentences]
    )
    rows = generate(model.eval(), source, lengths, max_length=40)
    return [texts.chinese.decode(row) for row in rows]


def held_out() -> list[Example]:
    """The unseen sentences as token ids."""
    texts = make_texts()
    return texts.encode(texts.split.sentences)


def loss_of(trainer: Trainer) -> float:
    """The loss of the trainer's model on the unseen sentences."""
    batches = TranslationBatches(held_out(), trainer.config)
    return validation_loss(trainer, batches)


def right(outputs: list[str]) -> list[bool]:
    """Whether each translation of an unseen sentence is exact."""
    pairs = make_texts().split.sentences
    wanted = [detokenize(target) for _, target in pairs]
    return [a == b for a, b in zip(outputs, wanted, strict=True)]


def frequency_loss() -> float:
    """The loss of a model that knows how frequent each token is."""
    texts = make_texts()
    train = texts.encode(texts.split.train)
    counts = Counter(x for _, ids in train for x in ids[1:])
    total = counts.total() + len(texts.chinese)  # each token once more
    targets = [x for _, ids in held_out() for x in ids[1:]]
    return -sum(math.log((counts[x] + 1) / total) for x in targets) / len(
        targets
    )


def chapter(seed: int) -> dict[str, Any]:
    """Train as the chapter does; its loss, and some translations."""
    config = replace(CONFIG, seed=seed)
    trainer = make_trainer(config, n_layers=1, norm="pre")
    while len(trainer.losses) < config.max_steps:
        trainer.step()
    outputs = translate(trainer.model)
    exact = right(outputs)
    found: dict[str, Any] = {
        "exact": sum(exact) / len(exact),
        "loss": loss_of(trainer),
    }
    for name, good in {"right": True, "wrong": False}.items():
        rows = [i for i, ok in enumerate(exact) if ok is good]
        for n, i in enumerate(rows[:N_SHOWN]):
            source, target = make_texts().split.sentences[i]
            found[f"{name} {n} source"] = detokenize(source)
            found[f"{name} {n} target"] = detokenize(target)
            found[f"{name} {n} output"] = outputs[i]
    return found


def warmup(norm: str, steps: int, rate: float, seed: int) -> float:
    """Train a deeper model with that warm-up; its loss in the end."""
    config = TrainingConfig(
        max_steps=300,
        batch_tokens=600,
        learning_rate=rate,
        warmup_steps=steps,
        seed=seed,
    )
    trainer = make_trainer(config, n_layers=4, norm=norm)
    while len(trainer.losses) < config.max_steps:
        trainer.step()
    return loss_of(trainer)


def averaging(schedule: Any, seed: int) -> dict[str, float]:
    """Train the chapter's model; its last checkpoint and the mean of five."""
    config = replace(CONFIG, schedule=schedule, seed=seed)
    trainer = make_trainer(config, n_layers=1, norm="pre")
    model = trainer.model
    kept = []
    while len(trainer.losses) < config.max_steps:
        trainer.step()
        left = config.max_steps - len(trainer.losses)
        if left % EVERY == 0 and left < N_AVERAGED * EVERY:
            kept.append(copy.deepcopy(model.state_dict()))
    mean = {
        name: torch.stack([state[name] for state in kept]).mean(0)
        for name in kept[0]
    }
    found = {}
    for name, state in {"last": kept[-1], "mean": mean}.items():
        model.load_state_dict(state)
        exact = right(translate(model))
        found[f"{schedule}, {name}: exact"] = sum(exact) / len(exact)
        found[f"{schedule}, {name}: loss"] = loss_of(trainer)
    return found


def run(seed: int) -> dict[str, Any]:
    found = chapter(seed)
    found["frequencies: loss"] = frequency_loss()
    for norm in ("post", "pre"):
        for steps in (1, 100):
            for rate in RATES:
                name = f"{norm}, {steps}, {rate:g}"
                found[name] = warmup(norm, steps, rate, seed)
    for schedule in ("inverse_sqrt", "cosine"):
        found |= averaging(schedule, seed)
    return found


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    model = [
        ["没见过的句子 | unseen sentences", "损失 | loss", "全对 | exact"],
        [
            "本章的模型 | this model",
            spread(results["loss"]),
            percent(results["exact"]),
        ],
    ]

    stuck = 0.95 * results["frequencies: loss"][0]
    deep = [["归一化 | normalisation", "预热 | warm-up"]]
    deep[0] += [f"η = {rate:g}" for rate in (1e-3, 3e-3, 1e-2)]
    deep[0] += ["没学会 | stuck"]
    for norm, title in {"post": "后置 | post", "pre": "前置 | pre"}.items():
        for steps, name in {
            1: "没有 | none",
            100: "100 步 | 100 steps",
        }.items():
            losses = [
                results[f"{norm}, {steps}, {rate:g}"]
                for rate in (1e-3, 3e-3, 1e-2)
            ]
            failed = sum(x > stuck for found in losses for x in found)
            row = [spread(found, 2) for found in losses]
            deep.append([title, name, *row, f"{failed} / 9"])

    averages = [
        [
            "学习率 | schedule",
            "最后一个：损失 | last: loss",
            "全对 | exact",
            "五个平均：损失 | mean of five: loss",
            "全对 | exact",
        ]
    ]
    schedules = {
        "inverse_sqrt": "平方根倒数 | inverse square root",
        "cosine": "余弦 | cosine",
    }
    for schedule, title in schedules.items():
        row = [title]
        for name in ("last", "mean"):
            row.append(spread(results[f"{schedule}, {name}: loss"]))
            row.append(percent(results[f"{schedule}, {name}: exact"]))
        averages.append(row)

    glosses = {  # of seed 0's mistakes, for readers of English
        0: "…, Jerry will hide six dirty hats at school",
        1: "that of “the tree” is missing",
        2: "…, prettier than Anna's flower",
        3: "because Tom chooses your dirty car in the kitchen every year, …",
    }
    shown = [["原文 | source", "译文 | translation", "正确的译文 | right"]]
    for name in ("right", "wrong"):
        for n in range(4):
            source, output, target = (
                results[f"{name} {n} {part}"][0]
                for part in ("source", "output", "target")
            )
            if name == "right":
                shown.append([source, output, "✓"])
                continue
            gloss = f"{output} | {output} ({glosses[n]})"
            shown.append([source, gloss, target])
    return {
        "model": model,
        "translations": shown,
        "warmup": deep,
        "averaging": averages,
    }
