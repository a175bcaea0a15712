"""A causal and a masked language model of one size, for "BERT and GPT".

Both read the help pages of Python and of PyTorch. They are compared with
n-gram models of the same text, by position, and after another way of masking.
"""

import math
import re
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book.generation import sampler
from attention_book.generation.text import fill_blank, generate_text
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.tokenizers.special_tokens import BOS, EOS
from corpora.ngrams import NGramModel
from experiments.help_pages import RATE, STEPS, cells, make, text
from experiments.record import percent, spread


SEEDS = range(3)
ORDERS = (1, 2, 3, 4, 5)
EVERY = 5  # held-out row is for the n-gram models, which are slow
BINS = ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 31))
TEMPERATURES = (0.3, 1.0, 1.5)
PROMPT = "Return the"
BLANKS = {
    "a": ("Return", " string that describes the object."),
    "an": ("Return", " object that describes the string."),
    "does": ("If the file", " not exist, an error is raised."),
    "list": ("Return a", " of all the keys in the dictionary."),
}
MASKS = {
    "80/10/10": {},
    "always": {"mask_replace_prob": 1.0, "random_replace_prob": 0.0},
}


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


@torch.no_grad()
def given_back(model: MaskedLanguageModel, held: Tensor) -> float:
    """The fraction of words that it gives back when none is masked."""
    found = torch.cat([model(ids).argmax(-1) for ids in held.split(128)])
    return mean(found == held, held > EOS)


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


def show_blanks(model: MaskedLanguageModel) -> dict[str, str]:
    """What is most probable in each blank."""
    tokenizer, *_ = text()
    mask_id = len(tokenizer)
    found = {}
    for name, sides in BLANKS.items():
        left, right = map(tokenizer.encode, sides)
        ids = [BOS, *left, mask_id, *right, EOS]
        (best,) = fill_blank(model, ids, mask_id)
        found[f"blank {name}"] = ", ".join(
            f"{tokenizer.decode([x]).strip()} {p:.2f}" for x, p in best
        )
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
    for name, options in MASKS.items():
        masked = make(MaskedLanguageModel, seed)
        loss = partial(cells()["masked_loss"], **options)
        learn(masked, train, loss, seed, STEPS, RATE)
        losses, is_right = masked_losses(masked, held)
        found[f"{name} loss"] = mean(losses, words)
        found[f"{name} accuracy"] = mean(is_right, words)
        found[f"{name} given back"] = given_back(masked, held)
        if name == "80/10/10":
            found |= by_position("masked", losses[:, 1:], words[:, 1:])
            found |= show_blanks(masked)
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
    positions = [
        [
            "前面的词元数 | tokens before",
            "因果 | causal",
            "掩码 | masked",
        ]
    ]
    for first, last in BINS:
        key = f"{first} to {last} before"
        positions.append(
            [
                f"{first}" if first == last else f"{first}–{last}",
                spread(results[f"causal, {key}"], 2),
                spread(results[f"masked, {key}"], 2),
            ]
        )
    samples = [["温度 | temperature", "两段续写 | two continuations"]]
    samples += [[str(x), results[f"sample {x}"][0]] for x in TEMPERATURES]
    blanks = [["句子 | sentence", "最可能的词元 | most probable tokens"]]
    blanks += [
        [
            f"{left} ▢{right}".strip(),
            re.sub(r"(?<=\d\d), ", " / ", results[f"blank {name}"][0]),
        ]
        for name, (left, right) in BLANKS.items()
    ]
    masked = [
        [
            "训练 | training",
            "遮住时的损失 | loss, masked",
            "遮住时的正确率 | accuracy, masked",
            "没遮住时认出原词 | given back, not masked",
        ]
    ]
    masked += [
        [
            title,
            spread(results[f"{name} loss"], 2),
            percent(results[f"{name} accuracy"]),
            percent(results[f"{name} given back"]),
        ]
        for name, title in {
            "80/10/10": "80/10/10",
            "always": "总用掩码 | always masks",
        }.items()
    ]
    return {
        "perplexity": perplexities,
        "positions": positions,
        "samples": samples,
        "blanks": blanks,
        "masked": masked,
    }
