"""Overfitting, dropout and when to stop, on a small training set.

The small model of "Training" learns 200 sentences over and over, without
dropout and with more and more of it. If it only learnt what the sentences
have in common, the loss on unseen ones would fall with that on the training
sentences. Both are measured every 25 steps, without dropout, and the step
with the lowest validation loss is the one at which to stop.
"""

from typing import Any

import torch

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    validation_loss,
)
from experiments.fitting import small_model
from experiments.record import spread
from experiments.warm_up import encode, make_texts, parts


SEEDS = range(3)
RATES = (0.0, 0.1, 0.3)
N_TRAIN = 200
MAX_STEPS = 400
EVERY = 25


def run(seed: int) -> dict[str, float]:
    split, english, chinese = make_texts()
    few = encode(split.train[:N_TRAIN])
    config = TrainingConfig(
        max_steps=MAX_STEPS,
        batch_tokens=1000,
        learning_rate=3e-3,
        schedule="inverse_sqrt",
        seed=seed,
    )
    sets = {"train": few} | parts()
    batches = {k: TranslationBatches(v, config) for k, v in sets.items()}
    found: dict[str, float] = {"epochs": MAX_STEPS / len(batches["train"])}
    for rate in RATES:
        torch.manual_seed(seed)
        model = small_model(english, chinese, dropout=rate)
        trainer = Trainer(model, batches["train"], config)
        best: dict[str, float] = {}
        for step in range(1, MAX_STEPS + 1):
            trainer.step()
            if step % EVERY:
                continue
            now = {
                name: validation_loss(trainer, source)
                for name, source in batches.items()
            } | {"step": step}
            if not best or now["validation"] < best["validation"]:
                best = now
        for when, losses in {"best": best, "end": now}.items():
            for name, value in losses.items():
                found[f"{rate:g}, {when}: {name}"] = value
    return found


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    rows = [
        [
            "失活率 | dropout",
            "最后，训练 | end, training",
            "最后，验证 | end, validation",
            "最后，测试 | end, test",
            "最低的一步 | best step",
            "那时，验证 | then, validation",
            "那时，测试 | then, test",
        ]
    ]
    for rate in RATES:
        cell = {
            (when, name): results[f"{rate:g}, {when}: {name}"]
            for when in ("end", "best")
            for name in ("train", "validation", "test", "step")
        }
        steps = cell["best", "step"]
        rows.append(
            [
                f"{rate:g}",
                spread(cell["end", "train"]),
                spread(cell["end", "validation"]),
                spread(cell["end", "test"]),
                f"{min(steps):,.0f}–{max(steps):,.0f}",
                spread(cell["best", "validation"]),
                spread(cell["best", "test"]),
            ]
        )
    return {"losses": rows}
