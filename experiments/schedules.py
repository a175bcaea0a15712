"""Cosine against inverse square root, with means of the last checkpoints.

Both reach the same peak at the end of the warm-up. The small model of
"Training" learns under each at four rates; the rate of each schedule is
chosen on validation sentences, for the last checkpoint and the mean of five
alike. Does the cosine end lower, and does the mean help it less?
"""

import copy
from statistics import fmean
from typing import Any

import torch

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    validation_loss,
)
from attention_book.training.config import learning_rate_at
from experiments.fitting import small_model
from experiments.record import spread
from experiments.warm_up import encode, make_texts, parts


SEEDS = range(3)
SCHEDULES = {
    "inverse_sqrt": "平方根倒数 | inverse square root",
    "cosine": "余弦 | cosine",
}
RATES = (2.5e-3, 5e-3, 1e-2, 2e-2)
WAYS = {"last": "最后一个 | the last", "mean": "五个平均 | mean of five"}
MAX_STEPS = 350
EVERY = 10  # steps from checkpoint to checkpoint
N_AVERAGED = 5


def make_config(schedule: Any, rate: float, seed: int) -> TrainingConfig:
    return TrainingConfig(
        max_steps=MAX_STEPS,
        batch_tokens=1000,
        learning_rate=rate,
        warmup_steps=100,
        schedule=schedule,
        seed=seed,
    )


def train(schedule: str, rate: float, seed: int) -> dict[str, float]:
    """The losses of the last checkpoint and of the mean of five."""
    split, english, chinese = make_texts()
    config = make_config(schedule, rate, seed)
    torch.manual_seed(seed)
    model = small_model(english, chinese)
    batches = TranslationBatches(encode(split.train), config)
    trainer = Trainer(model, batches, config)
    kept = []
    for step in range(1, MAX_STEPS + 1):
        trainer.step()
        left = MAX_STEPS - step
        if left % EVERY == 0 and left < N_AVERAGED * EVERY:
            kept.append(copy.deepcopy(model.state_dict()))
    mean = {
        name: torch.stack([state[name] for state in kept]).mean(0)
        for name in kept[0]
    }
    found = {}
    for way, state in {"last": kept[-1], "mean": mean}.items():
        model.load_state_dict(state)
        for part, examples in parts().items():
            held_out = TranslationBatches(examples, config)
            found[f"{way}, {part}"] = validation_loss(trainer, held_out)
    return found


def run(seed: int) -> dict[str, float]:
    found = {}
    for schedule in SCHEDULES:
        config = make_config(schedule, 1.0, seed)
        rates = [learning_rate_at(i + 1, config) for i in range(MAX_STEPS)]
        found[f"{schedule}: peak"] = max(rates)
        found[f"{schedule}: mean"] = fmean(rates)
        found[f"{schedule}: end"] = rates[-1]
        for rate in RATES:
            for name, loss in train(schedule, rate, seed).items():
                found[f"{schedule}, {rate:g}, {name}"] = loss
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    """Losses by rate on validation data, and on the test at the best."""
    head = ["学习率 | schedule", "检查点 | checkpoint"]
    head += [f"η = {rate:g}" for rate in RATES]
    rows = [[*head, "选中，测试 | chosen, test"]]
    for schedule, title in SCHEDULES.items():
        for way, name in WAYS.items():
            by_rate = {
                rate: results[f"{schedule}, {rate:g}, {way}, validation"]
                for rate in RATES
            }
            best = min(RATES, key=lambda rate: fmean(by_rate[rate]))
            test = results[f"{schedule}, {best:g}, {way}, test"]
            row = [title, name, *map(spread, by_rate.values())]
            rows.append([*row, f"{best:g}: {spread(test)}"])
    return {"losses": rows}
