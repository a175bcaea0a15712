"""A small model, warm-up, and averaged checkpoints, for "Training".

The model of its cells is trained as they train it. Warm-up is tried on models
of four layers a side, with normalisation after the residual connection (post)
and before the sublayer (pre). Averages are of the last five checkpoints of the
same model, ten steps apart.
"""

import copy
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import torch

from attention_book.tokenizers.punctuation import detokenize
from attention_book.training import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    validation_loss,
)
from experiments.record import percent, spread
from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/transformer/training.md"
PARTS = ("torch", "make_model", "translate")
RATES = (1e-3, 3e-3, 1e-2)
N_SHOWN = 4
N_AVERAGED = 5
EVERY = 10  # steps from checkpoint to checkpoint

Cells = dict[str, Any]


def make_trainer(
    cells: Cells, config: TrainingConfig, **shape: Any
) -> Trainer:
    """A new model from the config's seed, and its trainer."""
    model = cells["make_model"](config.seed, **shape)
    return Trainer(
        model, TranslationBatches(cells["examples"], config), config
    )


def held_out(cells: Cells) -> list[tuple[list[int], list[int]]]:
    """The unseen sentences as token ids."""
    pairs = cells["split"].sentences
    found: list[tuple[list[int], list[int]]] = cells["encode_pairs"](
        pairs, cells["english"], cells["chinese"]
    )
    return found


def loss_of(cells: Cells, trainer: Trainer) -> float:
    """The loss of the trainer's model on the unseen sentences."""
    batches = TranslationBatches(held_out(cells), trainer.config)
    return validation_loss(trainer, batches)


def right(cells: Cells, outputs: list[str]) -> list[bool]:
    """Whether each translation of an unseen sentence is exact."""
    pairs = cells["split"].sentences
    wanted = [detokenize(target) for _, target in pairs]
    return [a == b for a, b in zip(outputs, wanted, strict=True)]


def frequency_loss(cells: Cells) -> float:
    """The loss of a model that knows how frequent each token is."""
    counts = Counter(x for _, ids in cells["examples"] for x in ids[1:])
    total = counts.total() + len(cells["chinese"])  # each token once more
    targets = [x for _, ids in held_out(cells) for x in ids[1:]]
    return -sum(math.log((counts[x] + 1) / total) for x in targets) / len(
        targets
    )


def chapter(cells: Cells, seed: int) -> dict[str, Any]:
    """Train as the chapter does; its loss, and some translations."""
    config = replace(cells["config"], seed=seed)
    trainer = make_trainer(cells, config, n_layers=1, norm="pre")
    while len(trainer.losses) < config.max_steps:
        trainer.step()
    outputs = cells["translate"](trainer.model)
    exact = right(cells, outputs)
    found: dict[str, Any] = {
        "exact": sum(exact) / len(exact),
        "loss": loss_of(cells, trainer),
    }
    for name, good in {"right": True, "wrong": False}.items():
        rows = [i for i, ok in enumerate(exact) if ok is good]
        for n, i in enumerate(rows[:N_SHOWN]):
            source, target = cells["split"].sentences[i]
            found[f"{name} {n} source"] = detokenize(source)
            found[f"{name} {n} target"] = detokenize(target)
            found[f"{name} {n} output"] = outputs[i]
    return found


def warmup(
    cells: Cells, norm: str, steps: int, rate: float, seed: int
) -> float:
    """Train a deeper model with that warm-up; its loss in the end."""
    config = TrainingConfig(
        max_steps=300,
        batch_tokens=600,
        learning_rate=rate,
        warmup_steps=steps,
        seed=seed,
    )
    trainer = make_trainer(cells, config, n_layers=4, norm=norm)
    while len(trainer.losses) < config.max_steps:
        trainer.step()
    return loss_of(cells, trainer)


def averaging(cells: Cells, schedule: Any, seed: int) -> dict[str, float]:
    """Train the chapter's model; its last checkpoint and the mean of five."""
    config = replace(cells["config"], schedule=schedule, seed=seed)
    trainer = make_trainer(cells, config, n_layers=1, norm="pre")
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
        exact = right(cells, cells["translate"](model))
        found[f"{schedule}, {name}: exact"] = sum(exact) / len(exact)
        found[f"{schedule}, {name}: loss"] = loss_of(cells, trainer)
    return found


def run(seed: int) -> dict[str, Any]:
    cells = defined_in(CHAPTER, *PARTS)
    found = chapter(cells, seed)
    found["frequencies: loss"] = frequency_loss(cells)
    for norm in ("post", "pre"):
        for steps in (1, 100):
            for rate in RATES:
                name = f"{norm}, {steps}, {rate:g}"
                found[name] = warmup(cells, norm, steps, rate, seed)
    for schedule in ("inverse_sqrt", "cosine"):
        found |= averaging(cells, schedule, seed)
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
