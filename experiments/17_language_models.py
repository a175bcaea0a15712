"""A causal and a masked language model of one size: chapter 17.

Both read sentences of the wide grammar, and both read Python's help pages.
They are compared with n-gram models of the same text, by position, and after
other ways of masking. Last, masked models are fine-tuned to tell from which of
the grammar's fourteen constructions a sentence is, with few labelled ones.
"""

import math
import random
from functools import cache
from pydoc_data.topics import topics
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.corpus import pad
from attention_book.corpus.special_tokens import BOS, EOS, PAD
from attention_book.corpus.wide_grammar import _KINDS
from attention_book.decoding import sampler
from attention_book.language_models import (
    CausalLanguageModel,
    MaskedLanguageModel,
    NGramModel,
    fill_blank,
    generate_text,
)
from attention_book.tasks import SequenceClassifier
from experiments.record import percent, spread
from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/chapters/17-language-models.md"
PARTS = ("torch", "make_model", "causal_loss", "masked_loss", "train", "STEPS")
STEPS = 500
LENGTH = 64
ORDERS = {"grammar": (1, 2, 3, 5), "help": (1, 2, 3, 5)}
TEMPERATURES = (0.3, 1.0, 1.5)
BLANKS = {
    "is": ("the", " is heavy ."),
    "are": ("the", " are heavy ."),
    "book": ("Tom bought a", " book yesterday ."),
}
POSITIONS = (1, 2, 3, 5, 7, 9)
ROWS = {"grammar": 64, "help": 16}  # in a batch
SIZES = (30, 100, 300, 1000)
STARTS = {
    "nothing": "不预训练 | nothing",
    "help": "帮助文档，80/10/10 | help pages, 80/10/10",
    "80/10/10": "语法的句子，80/10/10 | grammar, 80/10/10",
    "always": "语法的句子，总用掩码 | grammar, always masks",
}

Cells = dict[str, Any]


@cache
def cells() -> Cells:
    return defined_in(CHAPTER, *PARTS)


def read_help(names: list[str], seen: set[str]) -> list[str]:
    """The prose of the help pages: each paragraph once, on one line."""
    found = []
    for name in names:
        for paragraph in topics[name].split("\n\n"):
            text = " ".join(paragraph.split())
            is_prose = text.endswith(".") and ">>>" not in text
            if is_prose and len(text) >= 40 and text not in seen:
                seen.add(text)
                found.append(text)
    return found


def pieces(texts: list[str]) -> list[list[int]]:
    """Texts as token ids, cut into pieces of at most LENGTH."""
    encode = cells()["tokenizer"].encode
    found = []
    for text in texts:
        ids = [*encode(text), EOS]
        for i in range(0, len(ids), LENGTH - 1):
            found.append([BOS, *ids[i : i + LENGTH - 1]])
    return found


@cache
def data() -> dict[str, tuple[list[list[int]], list[list[int]]]]:
    """Training and held-out pieces of both texts."""
    names = sorted(topics)
    held = names[::8]
    seen: set[str] = set()
    held_pages = read_help(held, seen)  # first, so that they are in no other
    pages = read_help([name for name in names if name not in held], seen)
    return {
        "grammar": (cells()["train_ids"], cells()["test_ids"]),
        "help": (pieces(pages), pieces(held_pages)),
    }


@cache
def ngram_loss(text: str, n: int) -> float:
    """Mean loss of a token, with the same context as the models have."""
    train, held = data()[text]
    stream = [x for ids in train for x in ids]
    model = NGramModel(stream, n, cells()["mask_id"])
    losses = [
        -math.log(model.probabilities(ids[max(0, i - n + 1) : i])[ids[i]])
        for ids in held
        for i in range(1, len(ids))
    ]
    return sum(losses) / len(losses)


@torch.no_grad()
def causal_losses(
    model: CausalLanguageModel, held: list[list[int]]
) -> tuple[Tensor, Tensor]:
    """The loss of each token but the first, and which are real."""
    token_ids, _ = pad(held)
    logits = model.eval()(token_ids[:, :-1])
    labels = token_ids[:, 1:]
    losses = F.cross_entropy(logits.mT, labels, reduction="none")
    return losses, labels != PAD


@torch.no_grad()
def masked_losses(
    model: MaskedLanguageModel, held: list[list[int]]
) -> tuple[Tensor, Tensor, Tensor]:
    """The loss of each token but the first while it is masked.

    One in seven is masked at a time, so that each is once. Also which are
    real words, not special, and which are predicted rightly.
    """
    token_ids, lengths = pad(held)
    words = token_ids > EOS
    losses = torch.zeros(token_ids.shape)
    is_right = torch.zeros_like(words)
    model.eval()
    for first in range(1, 8):
        chosen = torch.zeros_like(words)
        chosen[:, first::7] = True
        chosen &= words
        inputs = token_ids.masked_fill(chosen, cells()["mask_id"])
        logits = model(inputs, lengths)[chosen]
        losses[chosen] = F.cross_entropy(
            logits, token_ids[chosen], reduction="none"
        )
        is_right[chosen] = logits.argmax(-1) == token_ids[chosen]
    return losses[:, 1:], words[:, 1:], is_right[:, 1:]


@torch.no_grad()
def copied(model: MaskedLanguageModel, held: list[list[int]]) -> float:
    """The fraction of words that it gives back when none is masked."""
    token_ids, lengths = pad(held)
    words = token_ids > EOS
    is_right = model.eval()(token_ids, lengths).argmax(-1) == token_ids
    return is_right[words].double().mean().item()


def labelled(n: int, rng: random.Random, taken: set[str]) -> list[Any]:
    """Sentences that are not taken, with the number of their construction."""
    found = []
    while len(found) < n:
        label = rng.randrange(len(_KINDS))
        text = _KINDS[label][1](rng).english
        text += "" if text.endswith("?") else " ."
        if text not in taken:
            taken.add(text)
            ids = [BOS, *cells()["tokenizer"].encode(text), EOS]
            found.append((ids, label))
    return found


def classify(
    encoder: nn.Module | None, train: list[Any], test: list[Any], seed: int
) -> float:
    """Fine-tune a classifier from an encoder, or none; its accuracy."""
    torch.manual_seed(seed)
    start = cells()["make_model"](CausalLanguageModel, d_model=128)
    model = SequenceClassifier(start.config, len(_KINDS))
    model.encoder.load_state_dict((encoder or start.encoder).state_dict())

    def loss(model: Any, batch: list[Any], _: torch.Generator) -> Tensor:
        ids, labels = zip(*batch, strict=True)
        return F.cross_entropy(model(*pad(ids)), torch.tensor(labels))

    cells()["train"](model, train, loss, seed, 150, 32, 1e-3)
    ids, labels = zip(*test, strict=True)
    with torch.no_grad():
        found = model(*pad(ids)).argmax(-1)
    return (found == torch.tensor(labels)).double().mean().item()


def one_line(text: str) -> str:
    return " ".join(text.split())


def blank(sides: tuple[str, str]) -> list[int]:
    tokenizer = cells()["tokenizer"]
    left, right = (tokenizer.encode(side) for side in sides)
    return [BOS, *left, cells()["mask_id"], *right, EOS]


def show_texts(
    causal: CausalLanguageModel, masked: MaskedLanguageModel, seed: int
) -> dict[str, str]:
    """Sentences that one generates, and blanks that the other fills."""
    tokenizer = cells()["tokenizer"]
    found = {}
    for temperature in TEMPERATURES:
        generator = torch.Generator().manual_seed(seed)
        strategy = sampler(generator, temperature=temperature)
        texts = [
            tokenizer.decode(
                generate_text(
                    causal, [BOS], max_length=40, next_token=strategy
                )[1:]
            )
            for _ in range(4)
        ]
        found[f"sample {temperature}"] = " / ".join(map(one_line, texts))
    for name, sides in BLANKS.items():
        (best,) = fill_blank(masked, blank(sides), cells()["mask_id"])
        found[f"blank {name}"] = ", ".join(
            f"{tokenizer.decode([x]).strip()} {p:.2f}" for x, p in best
        )
    return found


def kinds_of_loss(cells: Cells) -> dict[str, Any]:
    """The losses to train with, by name."""

    def always(model: Any, batch: Any, generator: torch.Generator) -> Tensor:
        loss: Tensor = cells["masked_loss"](
            model,
            batch,
            generator,
            mask_replace_prob=1.0,
            random_replace_prob=0.0,
        )
        return loss

    return {
        "causal": cells["causal_loss"],
        "80/10/10": cells["masked_loss"],
        "always": always,
    }


def mean(x: Tensor, chosen: Tensor) -> float:
    return x[chosen].double().mean().item()


def page(seed: int) -> dict[str, float]:
    """What the chapter's cells do: smaller models, fewer steps."""
    found = {}
    train, held = data()["grammar"]
    for name, kind in (
        ("causal", CausalLanguageModel),
        ("masked", MaskedLanguageModel),
    ):
        torch.manual_seed(seed)
        model = cells()["make_model"](kind)
        loss = cells()[f"{name}_loss"]
        cells()["train"](model, train, loss, seed, cells()["STEPS"])
        if name == "causal":
            found["page, causal loss"] = mean(*causal_losses(model, held))
        else:
            losses, words, is_right = masked_losses(model, held)
            found["page, masked loss"] = mean(losses, words)
            found["page, masked accuracy"] = mean(is_right, words)
    return found


def run(seed: int) -> dict[str, float | str]:
    found: dict[str, float | str] = {}
    made: dict[tuple[str, str], Any] = {}
    for text, (train, held) in data().items():
        for n in ORDERS[text]:
            found[f"{text}, {n}-gram loss"] = ngram_loss(text, n)
        for name, loss in kinds_of_loss(cells()).items():
            if (text, name) == ("help", "always"):
                continue
            is_causal = name == "causal"
            kind = CausalLanguageModel if is_causal else MaskedLanguageModel
            torch.manual_seed(seed)
            model = cells()["make_model"](kind, d_model=128)
            rows = ROWS[text]
            cells()["train"](model, train, loss, seed, STEPS, rows, 3e-3)
            made[text, name] = model
            if is_causal:
                losses, real = causal_losses(model, held)
                found[f"{text}, causal loss"] = mean(losses, real)
            else:
                losses, real, is_right = masked_losses(model, held)
                found[f"{text}, {name} loss"] = mean(losses, real)
                found[f"{text}, {name} accuracy"] = mean(is_right, real)
                found[f"{text}, {name} copied"] = copied(model, held)
            if text == "grammar" and name != "always":
                long = real[:, : max(POSITIONS) + 1].all(dim=1)
                for i in POSITIONS:
                    at = losses[long, i - 1].double().mean().item()
                    found[f"{name}, position {i}"] = at
    found |= show_texts(
        made["grammar", "causal"], made["grammar", "80/10/10"], seed
    )
    generator = torch.Generator().manual_seed(seed)
    strategy = sampler(generator, temperature=0.7)
    ids = generate_text(
        made["help", "causal"], [BOS], max_length=60, next_token=strategy
    )
    found["help, sample"] = one_line(cells()["tokenizer"].decode(ids[1:]))
    found |= fine_tune(made, seed) | page(seed)
    return found


def fine_tune(made: dict[tuple[str, str], Any], seed: int) -> dict[str, float]:
    rng = random.Random(seed)
    taken = {text for text, _ in cells()["split"].train}
    test = labelled(1000, rng, taken)
    train = labelled(max(SIZES), rng, taken)
    starts = {
        "nothing": None,
        "help": made["help", "80/10/10"].encoder,
        "80/10/10": made["grammar", "80/10/10"].encoder,
        "always": made["grammar", "always"].encoder,
    }
    return {
        f"{start}, {n} labelled": classify(encoder, train[:n], test, seed)
        for start, encoder in starts.items()
        for n in SIZES
    }


def perplexity(values: list[float]) -> str:
    """The spread of the perplexity, of losses of all seeds."""
    found = [math.exp(value) for value in values]
    if len(set(found)) == 1:  # nothing depends on the seed
        return f"{found[0]:.1f}"
    return spread(found, 1)


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    text = [
        [
            "模型 | model",
            "语法的句子 | grammar's sentences",
            "帮助文档 | help pages",
        ]
    ]
    for n in ORDERS["help"]:
        row = [f"{n} 元模型 | {n}-gram model"]
        for name, orders in ORDERS.items():
            found = results.get(f"{name}, {n}-gram loss", [])
            row.append(perplexity(found) if n in orders else "–")
        text.append(row)
    row = ["因果语言模型 | causal language model"]
    row += [perplexity(results[f"{name}, causal loss"]) for name in ORDERS]
    text.append(row)
    head = [
        "训练 | training",
        "遮住时的损失 | loss, masked",
        "遮住时的正确率 | accuracy, masked",
        "没遮住时认出原词 | given back, not masked",
    ]
    masked = [head]
    for title, name in {
        "语法，80/10/10 | grammar, 80/10/10": "grammar, 80/10/10",
        "语法，总用掩码 | grammar, always masks": "grammar, always",
        "帮助文档，80/10/10 | help pages, 80/10/10": "help, 80/10/10",
    }.items():
        masked.append(
            [
                title,
                spread(results[f"{name} loss"], 2),
                percent(results[f"{name} accuracy"]),
                percent(results[f"{name} copied"]),
            ]
        )
    positions = [
        ["位置 | position", "因果 | causal", "掩码 | masked"],
        *(
            [
                str(i),
                spread(results[f"causal, position {i}"], 2),
                spread(results[f"80/10/10, position {i}"], 2),
            ]
            for i in POSITIONS
        ),
    ]
    samples = [["温度 | temperature", "四个句子 | four sentences"]]
    samples += [[str(x), results[f"sample {x}"][0]] for x in TEMPERATURES]
    blanks = [["句子 | sentence", "最可能的词 | most probable"]]
    blanks += [
        [f"{left} ▢{right}".strip(), results[f"blank {name}"][0]]
        for name, (left, right) in BLANKS.items()
    ]
    tuned = [["从哪里开始 | start", *(f"{n} 句 | {n}" for n in SIZES)]]
    tuned += [
        [title, *(percent(results[f"{start}, {n} labelled"]) for n in SIZES)]
        for start, title in STARTS.items()
    ]
    return {
        "perplexity": text,
        "masked": masked,
        "positions": positions,
        "samples": samples,
        "blanks": blanks,
        "fine-tuning": tuned,
    }
