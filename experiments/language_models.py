"""A causal and a masked language model of one size, for "BERT and GPT".

Both read the same sentences, half of them English and half Chinese. The
learning rate of each is the one with the least loss on validation sentences.
They are compared with n-gram models of the same text, by position, and after
another way of masking. Measure words are guessed with their noun in sight,
with it hidden, and with another word hidden instead.
"""

import math
import random
import re
from collections import Counter
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book.data.batches import pad
from attention_book.data.lexicon import NOUNS, NUMBERS
from attention_book.generation import sampler
from attention_book.generation.text import fill_blank, generate_text
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD
from corpora.ngrams import NGramModel
from experiments.record import percent, spread
from experiments.sentence_models import cells, trained


SEEDS = range(3)
RATES = (1.5e-3, 3e-3, 6e-3)  # tried with the first seed
ARMS = {
    "causal": "因果 | causal",
    "80/10/10": "掩码，80/10/10 | masked, 80/10/10",
    "always": "掩码，总用 `<mask>` | masked, always `<mask>`",
}
ORDERS = (1, 2, 3)
BINS = ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16))
TEMPERATURES = (0.3, 1.0, 2.0)
PAGE_STEPS = 200
PAGE_RATE = 3e-3
BEFORE = {"一", "这", "那", *NUMBERS.values()}  # a measure word
BLANKS = (
    ("Tom sold", " umbrella ."),
    ("Tom sold", " umbrellas ."),
    ("汤姆 昨天 买 了 一", " 帽子 。"),
    ("汤姆 昨天 买 了 一", " 桌子 。"),
)


@cache
def ngram_loss(n: int) -> float:
    """Mean loss of a token of the test sentences."""
    page = cells()
    text = [token for row in page["train_rows"] for token in row]
    model = NGramModel(text, n, page["mask_id"], bos_id=BOS)
    losses = [
        -math.log(model.probabilities(ids[max(0, i - n + 1) : i])[ids[i]])
        for ids in page["test_rows"]
        for i in range(1, len(ids))
    ]
    return sum(losses) / len(losses)


@torch.no_grad()
def causal_losses(
    model: CausalLanguageModel, rows: list[list[int]]
) -> tuple[Tensor, Tensor]:
    """The loss of each token but `<bos>`, and whether it was found."""
    ids, _ = pad(rows)
    logits, labels = model(ids[:, :-1]), ids[:, 1:]
    losses = F.cross_entropy(logits.mT, labels, reduction="none")
    return losses, (logits.argmax(-1) == labels).float()


@torch.no_grad()
def masked_losses(
    model: MaskedLanguageModel, rows: list[list[int]]
) -> tuple[Tensor, Tensor]:
    """The loss of each token while it is masked, and whether it was found.

    One in seven is masked at a time, so that each is once; special tokens
    are not.
    """
    ids, lengths = pad(rows)
    losses, is_right = torch.zeros(ids.shape), torch.zeros(ids.shape)
    for first in range(7):
        chosen = torch.zeros(ids.shape, dtype=torch.bool)
        chosen[:, first::7] = True
        chosen &= ids > EOS
        inputs = ids.masked_fill(chosen, model.config.vocab_size - 1)
        logits = model(inputs, lengths)[chosen]
        losses[chosen] = F.cross_entropy(logits, ids[chosen], reduction="none")
        is_right[chosen] = (logits.argmax(-1) == ids[chosen]).float()
    return losses, is_right


def mean(x: Tensor, among: Tensor) -> float:
    return x[among].double().mean().item()


def valid_loss(arm: str, model: Any) -> float:
    """What the learning rate is chosen by."""
    rows = cells()["valid_rows"]
    ids, _ = pad(rows)
    if arm == "causal":
        return mean(causal_losses(model, rows)[0], ids[:, 1:] != PAD)
    return mean(masked_losses(model, rows)[0], ids > EOS)


@cache
def tried(arm: str, rate: float) -> tuple[Any, float]:
    """A model with the first seed, and its loss on validation sentences."""
    model = trained(arm, rate, SEEDS[0])
    return model, valid_loss(arm, model)


def best_rate(arm: str) -> float:
    return min(RATES, key=lambda rate: tried(arm, rate)[1])


def by_position(name: str, losses: Tensor, among: Tensor) -> dict[str, float]:
    """The mean loss by how many tokens of the row come before."""
    return {
        f"{name}, {first} to {last} before": mean(
            losses[:, first - 1 : last], among[:, first - 1 : last]
        )
        for first, last in BINS
    }


def show_samples(model: CausalLanguageModel, seed: int) -> dict[str, str]:
    """Three sentences at each temperature."""
    found = {}
    for temperature in TEMPERATURES:
        generator = torch.Generator().manual_seed(seed)
        strategy = sampler(generator, temperature=temperature)
        texts = []
        for _ in range(3):
            ids = generate_text(
                model, [BOS], max_length=31, next_token=strategy
            )
            kept = [x for x in ids if EOS < x < cells()["mask_id"]]
            texts.append(cells()["tokenizer"].decode(kept))
        found[f"sample {temperature}"] = " / ".join(texts)
    return found


def show_blanks(model: MaskedLanguageModel) -> dict[str, str]:
    """What is most probable in each blank."""
    tokenizer, mask_id = cells()["tokenizer"], cells()["mask_id"]
    found = {}
    for i, sides in enumerate(BLANKS):
        left, right = map(tokenizer.encode, sides)
        ids = [BOS, *left, mask_id, *right, EOS]
        (best,) = fill_blank(model, ids, mask_id, n_best=4)
        found[f"blank {i}"] = " / ".join(
            f"{tokenizer.words[x]} {p:.2f}" for x, p in best
        )
    return found


@cache
def measure_words() -> list[tuple[int, int, int, int]]:
    """The row, measure word, noun and another word of each noun phrase.

    All but the row are positions. The other word comes neither between the
    two nor beside them; phrases without such a word are left out.
    """
    page, found = cells(), []
    measures = dict(NOUNS.values())
    rng = random.Random(0)
    for i, ids in enumerate(page["test_rows"]):
        words = [page["tokenizer"].words[x] for x in ids]
        for j, word in enumerate(words):
            if words[j - 1] not in BEFORE or word not in measures.values():
                continue
            k = next(
                (k for k in range(j, len(ids)) if words[k] in measures), 0
            )
            if not k or measures[words[k]] != word:
                continue
            others = [*range(1, j - 1), *range(k + 2, len(ids) - 1)]
            if others:
                found.append((i, j, k, rng.choice(others)))
    return found


@torch.no_grad()
def measure_accuracy(arm: str, model: Any) -> dict[str, float]:
    """How often measure words are found, with what is hidden beside them."""
    page, found = cells(), {}
    rows = [page["test_rows"][i] for i, *_ in measure_words()]
    ids, lengths = pad(rows)
    every = torch.arange(len(rows))
    _, j, k, other = torch.tensor(measure_words()).T
    if arm == "causal":
        right = model(ids).argmax(-1)[every, j - 1] == ids[every, j]
        return {f"{arm}, measure": right.double().mean().item()}
    for name, also in {"": j, ", noun hidden": k, ", other": other}.items():
        inputs = ids.clone()
        inputs[every, j] = inputs[every, also] = page["mask_id"]
        right = model(inputs, lengths)[every, j].argmax(-1) == ids[every, j]
        found[f"{arm}, measure{name}"] = right.double().mean().item()
    return found


def commonest() -> dict[str, float]:
    """The accuracy of always guessing the commonest token."""
    ids, _ = pad(cells()["test_rows"])
    counts = Counter(
        x for row in cells()["train_rows"] for x in row if x > EOS
    )
    ((first, _),) = counts.most_common(1)
    page = cells()["test_rows"]
    wanted = [page[i][j] for i, j, *_ in measure_words()]
    measure = max(set(wanted), key=lambda x: (counts[x], x))
    return {
        "commonest, words": mean((ids == first).float(), ids > EOS),
        "commonest, measure": wanted.count(measure) / len(wanted),
        "measure words": len(wanted),
    }


def run(seed: int) -> dict[str, float | str]:
    page = cells()
    rows = page["test_rows"]
    ids, lengths = pad(rows)
    words = ids > EOS
    found: dict[str, float | str] = {
        "training tokens": sum(map(len, page["train_rows"]))
    }
    found |= {f"{n}-gram loss": ngram_loss(n) for n in ORDERS}
    found |= commonest()
    for arm in ARMS:
        for rate in RATES:
            found[f"{arm}, rate {rate:g}"] = tried(arm, rate)[1]
        rate = best_rate(arm)
        found[f"{arm}, rate"] = rate
        model = (
            tried(arm, rate)[0]
            if seed == SEEDS[0]
            else trained(arm, rate, seed)
        )
        found |= measure_accuracy(arm, model)
        if arm == "causal":
            losses, is_right = causal_losses(model, rows)
            found["causal loss"] = mean(losses, ids[:, 1:] != PAD)
            found["causal, words"] = mean(is_right, words[:, 1:])
            found |= by_position(arm, losses, words[:, 1:])
            found |= show_samples(model, seed)
            continue
        losses, is_right = masked_losses(model, rows)
        found[f"{arm} loss"] = mean(losses, words)
        found[f"{arm}, words"] = mean(is_right, words)
        with torch.no_grad():
            given = model(ids, lengths).argmax(-1) == ids
        found[f"{arm}, given back"] = mean(given.float(), words)
        found |= by_position(arm, losses[:, 1:], words[:, 1:])
        if arm == "80/10/10":
            found |= show_blanks(model)
    small = trained("causal", PAGE_RATE, seed, PAGE_STEPS)
    losses, _ = causal_losses(small, rows)
    found["page, causal loss"] = mean(losses, ids[:, 1:] != PAD)
    small = trained("80/10/10", PAGE_RATE, seed, PAGE_STEPS)
    found["page, masked accuracy"] = mean(masked_losses(small, rows)[1], words)
    return found


def perplexity(values: list[float]) -> str:
    """The spread of the perplexity, of losses of all seeds."""
    found = [math.exp(value) for value in values]
    if len(set(found)) == 1:  # nothing depends on the seed
        return f"{found[0]:.2f}"
    return spread(found, 2)


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    rates = [
        ["模型 | model", *(f"{rate:g}" for rate in RATES)],
        *(
            [
                title,
                *(f"{results[f'{arm}, rate {x:g}'][0]:.3f}" for x in RATES),
            ]
            for arm, title in ARMS.items()
        ),
    ]
    perplexities = [
        ["模型 | model", "困惑度 | perplexity"],
        *(
            [
                f"{n} 元模型 | {n}-gram model",
                perplexity(results[f"{n}-gram loss"]),
            ]
            for n in ORDERS
        ),
        [
            "因果语言模型 | causal language model",
            perplexity(results["causal loss"]),
        ],
    ]
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
                spread(results[f"80/10/10, {key}"], 2),
            ]
        )
    samples = [["温度 | temperature", "三句 | three sentences"]]
    samples += [[str(x), results[f"sample {x}"][0]] for x in TEMPERATURES]
    blanks = [["句子 | sentence", "最可能的词元 | most probable tokens"]]
    blanks += [
        [f"{left} ▢{right}", re.sub(r" +", " ", results[f"blank {i}"][0])]
        for i, (left, right) in enumerate(BLANKS)
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
            percent(results[f"{name}, words"]),
            percent(results[f"{name}, given back"]),
        ]
        for name, title in {
            "80/10/10": "80/10/10",
            "always": "总用 `<mask>` | always `<mask>`",
        }.items()
    ]
    measure = [
        [
            "模型 | model",
            "只遮量词 | measure word hidden",
            "还遮名词 | and the noun",
            "还遮别的词 | and another word",
        ],
        [
            "总猜最常见的 | always the commonest",
            f"{100 * results['commonest, measure'][0]:.1f}%",
            "",
            "",
        ],
        [ARMS["causal"], percent(results["causal, measure"]), "", ""],
        *(
            [
                ARMS[arm],
                *(
                    percent(results[f"{arm}, measure{name}"])
                    for name in ("", ", noun hidden", ", other")
                ),
            ]
            for arm in list(ARMS)[1:]
        ),
    ]
    return {
        "rates": rates,
        "perplexity": perplexities,
        "positions": positions,
        "samples": samples,
        "blanks": blanks,
        "masked": masked,
        "measure": measure,
    }
