"""What warm-up is worth where all arms have the same peak and mean rate.

The question of "A training recipe": does a translator of four layers a side
learn better if the rate rises for 100 of 300 steps? The cosine begins after
the warm-up, so that both ways reach the same peak, and their mean is half of
it. A third way asks whether it is Adam's averages that have to warm up: for
100 steps they are fed with gradients while no parameter moves, and then the
rate begins at its peak. Each arm's rate is chosen on validation sentences.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import fmean

import torch

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    WordTokenizer,
    encode_pairs,
    validation_loss,
)
from attention_book.data.split import Split, make_split
from attention_book.training.config import learning_rate_at
from attention_book.training.loading import Example
from experiments.fitting import small_model
from experiments.record import spread


SEEDS = range(3)
NORMS = {"post": "后置 | post", "pre": "前置 | pre"}
WAYS = {
    "none": "没有 | none",
    "moments": "只预热滑动平均 | averages only",
    "rate": "100 步 | 100 steps",
}
RATES = (1e-3, 2e-3, 4e-3, 8e-3)
MAX_STEPS = 300
WARMUP = 100


@cache
def make_texts() -> tuple[Split, WordTokenizer, WordTokenizer]:
    """Sentences, and the vocabularies of their training part."""
    split = make_split(n_train=20_000, n_test=1000)
    english, chinese = map(WordTokenizer.train, zip(*split.train, strict=True))
    return split, english, chinese


def encode(pairs: Sequence[tuple[str, str]]) -> list[Example]:
    return encode_pairs(pairs, *make_texts()[1:])


def parts() -> dict[str, list[Example]]:
    """Unseen sentences, half to choose by and half to report."""
    unseen = encode(make_texts()[0].sentences)
    return {"validation": unseen[:500], "test": unseen[500:]}


def frequency_loss() -> float:
    """The loss of a model that knows how frequent each token is."""
    split, _, chinese = make_texts()
    counts = Counter(x for _, ids in encode(split.train) for x in ids[1:])
    total = counts.total() + len(chinese)  # each token once more
    targets = [x for _, ids in parts()["test"] for x in ids[1:]]
    return -fmean(math.log((counts[x] + 1) / total) for x in targets)


def train(norm: str, way: str, rate: float, seed: int) -> dict[str, float]:
    """Train one model; its loss on both parts in the end."""
    split, english, chinese = make_texts()
    config = TrainingConfig(
        max_steps=MAX_STEPS,
        batch_tokens=600,
        learning_rate=rate,
        warmup_steps=1 if way in ("none", "moments") else WARMUP,
        seed=seed,
    )
    torch.manual_seed(seed)
    model = small_model(english, chinese, n_layers=4, norm=norm)
    batches = TranslationBatches(encode(split.train), config)
    trainer = Trainer(model, batches, config)
    if way == "moments":
        feed_averages(trainer)
    for number in range(MAX_STEPS):
        if way == "erased" and number == WARMUP:
            trainer.optimizer.state.clear()  # as if this were the first step
        trainer.step()
    return {
        part: validation_loss(trainer, TranslationBatches(examples, config))
        for part, examples in parts().items()
    }


def feed_averages(trainer: Trainer) -> None:
    """Let Adam average gradients for as long as a warm-up; move nothing."""
    optimizer = trainer.optimizer
    optimizer.param_groups[0]["lr"] = 0.0
    for number in range(WARMUP):
        trainer.model.train()
        optimizer.zero_grad()
        batch = trainer.batches[MAX_STEPS + number]  # not among the 300
        trainer.loss_of(batch, 0.0).backward()
        torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), 1.0)
        optimizer.step()


def run(seed: int, ways: Iterable[str] = WAYS) -> dict[str, float]:
    found = {"frequencies": frequency_loss()}
    for way in ways:
        warmup = 1 if way in ("none", "moments") else WARMUP
        config = TrainingConfig(max_steps=MAX_STEPS, warmup_steps=warmup)
        rates = [learning_rate_at(i + 1, config) for i in range(MAX_STEPS)]
        found[f"{way}: peak"] = max(rates) / config.learning_rate
        found[f"{way}: mean"] = fmean(rates) / config.learning_rate
    for norm in NORMS:
        for way in ways:
            for rate in RATES:
                for part, loss in train(norm, way, rate, seed).items():
                    found[f"{norm}, {way}, {rate:g}: {part}"] = loss
    return found


def tables(
    results: dict[str, list[float]], ways: dict[str, str] = WAYS
) -> dict[str, list[list[str]]]:
    """Losses by rate on validation data, and on the test at the best."""
    stuck = 0.95 * results["frequencies"][0]
    for what in ("peak", "mean"):  # of the rate, which the text tells once
        rates = {round(results[f"{way}: {what}"][0], 2) for way in ways}
        if len(rates) != 1:
            raise ValueError(f"the ways differ in their {what} rate: {rates}")
    head = ["归一化 | norm", "预热 | warm-up"]
    head += [f"η = {rate:g}" for rate in RATES]
    head += ["没学会 | stuck", "选中，测试 | chosen, test"]
    rows = [head]
    for norm, title in NORMS.items():
        for way, name in ways.items():
            arm = f"{norm}, {way}"
            by_rate = {
                rate: results[f"{arm}, {rate:g}: validation"] for rate in RATES
            }
            best = min(RATES, key=lambda rate: fmean(by_rate[rate]))
            failed = sum(x > stuck for xs in by_rate.values() for x in xs)
            test = spread(results[f"{arm}, {best:g}: test"], 2)
            row = [title, name]
            row += [spread(losses, 2) for losses in by_rate.values()]
            row += [f"{failed}/{len(RATES) * len(SEEDS)}"]
            rows.append([*row, f"{best:g}: {test}"])
    return {"losses": rows}
