"""A causal and a masked language model of one size, for "BERT and GPT".

Does BERT's way of masking decide what a masked model learns, or does the
learning rate? Is it the tenth that stays or the random tenth that lets a
masked model answer where nothing is masked? Does a network do better than
counting? What the words after a gap are worth is asked in measure_words.

All read the same sentences, in English and Chinese. Each arm has the same
rates, in STEPS steps, and the rate with the least loss on validation
sentences once more in LONGER steps. All but the first table are of the run
with the least loss on validation sentences, and on test sentences. With one
of the two tenths alone a model is trained as the best one with both.
"""

import math
from collections import Counter, defaultdict
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book import sampler
from attention_book.data.batches import pad
from attention_book.generation.text import fill_blank, generate_text
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD
from corpora.ngrams import NGramModel
from experiments.record import percent, spread
from experiments.sentence_models import LONGER, STEPS, cells, trained


SEEDS = range(3)
RATES = (1e-3, 3e-3, 1e-2)
ARMS = {
    "causal": "因果 | causal",
    "always": "掩码，总用 `<mask>` | masked, always `<mask>`",
    "80/10/10": "掩码，80/10/10 | masked, 80/10/10",
}
MASKED = ("always", "80/10/10")
ONE_TENTH = {
    "90/10/0": "掩码，一成随机 | masked, a random tenth",
    "90/0/10": "掩码，一成不动 | masked, a tenth stays",
}
ORDERS = (1, 2, 3, 4, 5)
TEMPERATURES = (0.3, 1.0, 2.0)
PAGE_STEPS = {"causal": 200, "80/10/10": 400}
PAGE_RATE = 3e-3
BLANKS = (
    ("Tom sold", "umbrella ."),
    ("Tom sold", "umbrellas ."),
    ("汤姆 昨天 买 了 一", "帽子 。"),
    ("汤姆 昨天 买 了 一", "桌子 。"),
)
Rows = list[list[int]]


def mean(x: Tensor, among: Tensor) -> float:
    return x[among].double().mean().item()


@cache
def ngram_losses(n: int) -> tuple[float, float]:
    """Mean loss of a token of the test sentences, and of a word."""
    page = cells()
    text = [token for row in page["train_rows"] for token in row]
    model = NGramModel(text, n, page["mask_id"], bos_id=BOS)
    losses, words = [], []
    for ids in page["test_rows"]:
        for i in range(1, len(ids)):
            p = model.probabilities(ids[max(0, i - n + 1) : i])
            losses.append(-math.log(p[ids[i]]))
            words += losses[-1:] if ids[i] > EOS else []
    return sum(losses) / len(losses), sum(words) / len(words)


@torch.no_grad()
def causal_losses(
    model: CausalLanguageModel, rows: Rows
) -> tuple[Tensor, Tensor]:
    """The loss of each token but `<bos>`, and which are no padding."""
    ids, _ = pad(rows)
    labels = ids[:, 1:]
    losses = F.cross_entropy(model(ids[:, :-1]).mT, labels, reduction="none")
    return losses, labels != PAD


@torch.no_grad()
def masked_losses(
    model: MaskedLanguageModel, rows: Rows
) -> tuple[Tensor, Tensor, Tensor]:
    """The loss of each token while it is masked, and whether it was found.

    One in seven is masked at a time, so that each is once; special tokens
    are not. The third tensor tells which are words.
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
    return losses, is_right, ids > EOS


def loss_on(rows: Rows, arm: str, model: Any) -> float:
    if arm == "causal":
        return mean(*causal_losses(model, rows))
    losses, _, words = masked_losses(model, rows)
    return mean(losses, words)


def show_samples(model: CausalLanguageModel, seed: int) -> dict[str, str]:
    """Three sentences at each temperature."""
    found = {}
    for temperature in TEMPERATURES:
        generator = torch.Generator().manual_seed(seed)
        strategy = sampler(generator, temperature=temperature)
        texts = []
        for _ in range(3):
            ids = generate_text(
                model,
                [BOS],
                max_length=cells()["LENGTH"],
                next_token=strategy,
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
        (best,) = fill_blank(model, ids, mask_id, n_best=3)
        found[f"blank {i}"] = ", ".join(
            f"{tokenizer.words[x]} {p:.2f}" for x, p in best
        )
    return found


@cache
def neighbours_accuracy() -> dict[str, float]:
    """Of words guessed by counting: the commonest, or between the same two."""
    page = cells()
    counts: dict[Any, Counter[int]] = defaultdict(Counter)
    for ids in page["train_rows"]:
        for i in range(1, len(ids) - 1):
            for clue in (ids[i - 1], ids[i + 1]), ids[i - 1], None:
                counts[clue][ids[i]] += 1
    best = {clue: x.most_common(1)[0][0] for clue, x in counts.items()}
    usual, found = [], []
    for ids in page["test_rows"]:
        for i in range(1, len(ids) - 1):
            clue = next(
                clue
                for clue in ((ids[i - 1], ids[i + 1]), ids[i - 1], None)
                if clue in best
            )
            usual.append(best[None] == ids[i])
            found.append(best[clue] == ids[i])
    return {
        "commonest": sum(usual) / len(usual),
        "neighbours": sum(found) / len(found),
    }


def test(arm: str, model: Any, seed: int) -> dict[str, float | str]:
    """What the tables show of a model that validation chose."""
    rows = cells()["test_rows"]
    found: dict[str, float | str] = {}
    if arm == "causal":
        losses, real = causal_losses(model, rows)
        found["causal loss"] = mean(losses, real)
        return found | show_samples(model, seed)
    losses, is_right, words = masked_losses(model, rows)
    found[f"{arm} loss"] = mean(losses, words)
    found[f"{arm}, found"] = mean(is_right, words)
    ids, lengths = pad(rows)
    with torch.no_grad():
        given = model(ids, lengths).argmax(-1) == ids
    found[f"{arm}, given back"] = mean(given, words)
    return found | (show_blanks(model) if arm == "80/10/10" else {})


def run(seed: int) -> dict[str, float | str]:
    page = cells()
    test_rows, valid_rows = page["test_rows"], page["valid_rows"]
    found: dict[str, float | str] = {
        "training sentences": len(page["train_rows"]),
        "training tokens": sum(map(len, page["train_rows"])),
    }
    for n in ORDERS:
        found[f"{n}-gram loss"], found[f"{n}-gram loss, words"] = ngram_losses(
            n
        )
    found |= neighbours_accuracy()
    for arm in ARMS:
        losses = {}
        for rate in RATES:
            model = trained(arm, rate, seed, STEPS)
            losses[rate] = loss_on(valid_rows, arm, model)
            found[f"{arm}, rate {rate:g}"] = losses[rate]
            print(arm, rate, losses[rate], flush=True)
            if arm != "causal":
                _, is_right, words = masked_losses(model, valid_rows)
                found[f"{arm}, found at {rate:g}"] = mean(is_right, words)
        best = min(RATES, key=lambda rate: losses[rate])
        model = trained(arm, best, seed, LONGER)
        found[f"{arm}, best rate"] = best
        found[f"{arm}, longer"] = loss_on(valid_rows, arm, model)
        steps = LONGER
        if found[f"{arm}, longer"] > losses[best]:
            steps = STEPS
            model = trained(arm, best, seed, steps)
        found[f"{arm}, steps"] = steps
        found |= test(arm, model, seed)
        print(found, flush=True)
    for arm in ONE_TENTH:
        rate, steps = found["80/10/10, best rate"], found["80/10/10, steps"]
        found |= test(arm, trained(arm, rate, seed, steps), seed)
    small = trained("causal", PAGE_RATE, seed, PAGE_STEPS["causal"])
    found["page, causal loss"] = loss_on(test_rows, "causal", small)
    small = trained("80/10/10", PAGE_RATE, seed, PAGE_STEPS["80/10/10"])
    _, is_right, words = masked_losses(small, test_rows)
    found["page, masked found"] = mean(is_right, words)
    return found


def perplexity(values: list[float]) -> str:
    """The spread of the perplexity, of losses of all seeds."""
    found = [math.exp(value) for value in values]
    if len(set(found)) == 1:  # nothing depends on the seed
        return f"{found[0]:.1f}"
    return spread(found, 1)


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    rates = [
        [
            "模型 | model",
            *(f"{rate:g}" for rate in RATES),
            "最好的，三倍的步数 | best, three times the steps",
        ],
        *(
            [
                title,
                *(spread(results[f"{arm}, rate {x:g}"], 2) for x in RATES),
                spread(results[f"{arm}, longer"], 2),
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
    samples = [["温度 | temperature", "三句 | three sentences"]]
    samples += [[str(x), results[f"sample {x}"][0]] for x in TEMPERATURES]
    blanks = [["句子 | sentence", "最可能的词元 | most probable tokens"]]
    blanks += [
        [f"{left} ▢ {right}", results[f"blank {i}"][0]]
        for i, (left, right) in enumerate(BLANKS)
    ]
    masks = {"always": ARMS["always"], **ONE_TENTH}
    masks["80/10/10"] = ARMS["80/10/10"]
    masked = [
        [
            "模型 | model",
            "遮住时的损失 | loss, masked",
            "遮住时的正确率 | found, masked",
            "没遮住时认出原词 | given back, not masked",
        ],
        [
            "总猜最常见的 | always the commonest",
            f"{results['1-gram loss, words'][0]:.2f}",
            f"{100 * results['commonest'][0]:.1f}%",
            "–",
        ],
        [
            "数左右两个词 | counting by both neighbours",
            "–",
            f"{100 * results['neighbours'][0]:.1f}%",
            "–",
        ],
        *(
            [
                title,
                spread(results[f"{arm} loss"], 2),
                percent(results[f"{arm}, found"]),
                percent(results[f"{arm}, given back"]),
            ]
            for arm, title in masks.items()
        ),
    ]
    return {
        "rates": rates,
        "perplexity": perplexities,
        "samples": samples,
        "blanks": blanks,
        "masked": masked,
    }
