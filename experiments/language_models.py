"""A causal language model, for "BERT and GPT".

It reads the help pages of Python and of PyTorch, and is compared with n-gram
models of the same text, and by position. The record also holds masked models
of this rate, which was not tuned for them; no table shows them.
"""

import math
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book.generation import sampler
from attention_book.generation.text import generate_text
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.tokenizers.special_tokens import BOS, EOS
from corpora.ngrams import NGramModel
from experiments.help_pages import RATE, STEPS, cells, make, text
from experiments.record import spread


SEEDS = range(3)
ORDERS = (1, 2, 3, 4, 5)
EVERY = 5  # held-out row is for the n-gram models, which are slow
BINS = ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 31))
TEMPERATURES = (0.3, 1.0, 1.5)
PROMPT = "Return the"


@cache
def ngram_loss(n: int) -> float:
    """Mean loss of a token, with no more context than the models have."""
    tokenizer, train, held = text()
    model = NGramModel(train.flatten().tolist(), n, len(tokenizer), bos_id=BOS)
    losses = [
        -math.log(model.probabilities(ids[max(0, i - n + 1) : i])[ids[i]])
        for ids in held[::EVERY].tolist()
        for i in range(1, len(ids))
    ]
    return sum(losses) / len(losses)


@torch.no_grad()
def causal_losses(model: CausalLanguageModel, held: Tensor) -> Tensor:
    """The loss of each token but the first of its row."""
    return torch.cat(
        [
            F.cross_entropy(
                model(rows[:, :-1]).mT, rows[:, 1:], reduction="none"
            )
            for rows in held.split(128)
        ]
    )


@torch.no_grad()
def masked_losses(
    model: MaskedLanguageModel, held: Tensor
) -> tuple[Tensor, Tensor]:
    """The loss of each token while it is masked, and whether it was found.

    One in seven is masked at a time, so that each is once; special tokens
    are not.
    """
    losses, is_right = torch.zeros(held.shape), torch.zeros(held.shape)
    for first in range(7):
        chosen = torch.zeros(held.shape, dtype=torch.bool)
        chosen[:, first::7] = True
        chosen &= held > EOS
        inputs = held.masked_fill(chosen, model.config.vocab_size - 1)
        parts = zip(inputs.split(128), chosen.split(128), strict=True)
        logits = torch.cat([model(ids)[among] for ids, among in parts])
        losses[chosen] = F.cross_entropy(
            logits, held[chosen], reduction="none"
        )
        is_right[chosen] = (logits.argmax(-1) == held[chosen]).float()
    return losses, is_right


def mean(x: Tensor, among: Tensor) -> float:
    return x[among].double().mean().item()


def one_line(ids: list[int]) -> str:
    return " ".join(text()[0].decode(ids).split())


def show_samples(model: CausalLanguageModel, seed: int) -> dict[str, str]:
    """Two continuations at each temperature."""
    prompt = [BOS, *text()[0].encode(PROMPT)]
    found = {}
    for temperature in TEMPERATURES:
        generator = torch.Generator().manual_seed(seed)
        strategy = sampler(generator, temperature=temperature)
        texts = [
            one_line(
                generate_text(
                    model,
                    prompt,
                    max_length=cells()["LENGTH"],
                    next_token=strategy,
                )
            )
            for _ in range(2)
        ]
        found[f"sample {temperature}"] = " / ".join(texts)
    return found


def by_position(name: str, losses: Tensor, words: Tensor) -> dict[str, float]:
    """The mean loss by how many tokens of the row come before."""
    return {
        f"{name}, {first} to {last} before": mean(
            losses[:, first - 1 : last], words[:, first - 1 : last]
        )
        for first, last in BINS
    }


def page(seed: int) -> dict[str, float]:
    """What the chapter's cells do: smaller models, less text, fewer steps."""
    held = cells()["test_rows"]
    words = held > EOS
    made = []
    for kind, loss in (
        (CausalLanguageModel, "causal_loss"),
        (MaskedLanguageModel, "masked_loss"),
    ):
        torch.manual_seed(seed)
        model = cells()["make_model"](kind, cells()["mask_id"] + 1)
        rows, n_steps = cells()["train_rows"], cells()["STEPS"]
        cells()["train"](model, rows, cells()[loss], seed, n_steps)
        made.append(model)
    losses, is_right = masked_losses(made[1], held)
    return {
        "page, causal loss": causal_losses(made[0], held)
        .double()
        .mean()
        .item(),
        "page, masked loss": mean(losses, words),
        "page, masked accuracy": mean(is_right, words),
    }


def run(seed: int) -> dict[str, float | str]:
    _, train, held = text()
    words = held > EOS
    found: dict[str, float | str] = {"training tokens": train.numel()}
    found |= {f"{n}-gram loss": ngram_loss(n) for n in ORDERS}
    learn = cells()["train"]
    causal = make(CausalLanguageModel, seed)
    learn(causal, train, cells()["causal_loss"], seed, STEPS, RATE)
    losses = causal_losses(causal, held)
    found["causal loss"] = losses[::EVERY].double().mean().item()
    found |= by_position("causal", losses, words[:, 1:])
    found |= show_samples(causal, seed)
    return found | page(seed)


def perplexity(values: list[float]) -> str:
    """The spread of the perplexity, of losses of all seeds."""
    found = [math.exp(value) for value in values]
    if len(set(found)) == 1:  # nothing depends on the seed
        return f"{found[0]:.1f}"
    return spread(found, 1)


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    perplexities = [["模型 | model", "困惑度 | perplexity"]]
    perplexities += [
        [f"{n} 元模型 | {n}-gram model", perplexity(results[f"{n}-gram loss"])]
        for n in ORDERS
    ]
    perplexities.append(
        [
            "因果语言模型 | causal language model",
            perplexity(results["causal loss"]),
        ]
    )
    positions = [["前面的词元数 | tokens before", "因果 | causal"]]
    for first, last in BINS:
        key = f"{first} to {last} before"
        positions.append(
            [
                f"{first}" if first == last else f"{first}–{last}",
                spread(results[f"causal, {key}"], 2),
            ]
        )
    samples = [["温度 | temperature", "两段续写 | two continuations"]]
    samples += [[str(x), results[f"sample {x}"][0]] for x in TEMPERATURES]
    return {
        "perplexity": perplexities,
        "positions": positions,
        "samples": samples,
    }
