"""A bag of words for the second task of "BERT and GPT".

It has the sentences, the number of steps and the way to choose a rate of the
experiment fine-tuning.
"""

import torch
import torch.nn.functional as F

from attention_book.models.config import TextConfig
from corpora.tasks.baselines import BagOfWords
from corpora.wide.grammar import CONSTRUCTIONS
from experiments.fine_tuning import (
    LABELLED,
    N_CHOSEN_ON,
    N_TESTED_ON,
    TUNING_STEPS,
    Examples,
    accuracy,
    collate,
    draw,
)
from experiments.help_pages import cells, text
from experiments.record import percent


SEEDS = range(3)
RATES = (1e-3, 3e-3, 1e-2, 3e-2)


def fit(examples: Examples, rate: float, seed: int) -> BagOfWords:
    torch.manual_seed(seed)
    n_tokens = len(text()[0]) + 1
    config = TextConfig(vocab_size=n_tokens, d_model=128, n_heads=4, d_ff=512)
    bag = BagOfWords(config, len(CONSTRUCTIONS))

    def loss(
        model: BagOfWords, chosen: torch.Tensor, _: torch.Generator
    ) -> torch.Tensor:
        *inputs, labels = collate([examples[i] for i in chosen.flatten()])
        return F.cross_entropy(model(*inputs), labels.flatten())

    numbers = torch.arange(len(examples))[:, None]
    trained: BagOfWords = cells()["train"](
        bag, numbers, loss, seed, TUNING_STEPS, rate
    )
    return trained


def run(seed: int) -> dict[str, float]:
    n_held = N_CHOSEN_ON + N_TESTED_ON
    drawn = draw(max(LABELLED) + n_held, seed, "constructions")
    held = drawn[-n_held:]
    chosen_on, tested_on = held[:N_CHOSEN_ON], held[N_CHOSEN_ON:]
    found = {}
    for n in LABELLED:
        bags = [fit(drawn[:n], rate, seed) for rate in RATES]
        best = max(bags, key=lambda bag: accuracy(bag, chosen_on))
        found[f"bag, {n} labelled"] = accuracy(best, tested_on)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = ["模型 | model", *(f"{n} 句 | {n} labelled" for n in LABELLED)]
    row = [percent(results[f"bag, {n} labelled"]) for n in LABELLED]
    return {"bag": [head, ["词袋 | bag of words", *row]]}
