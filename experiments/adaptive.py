"""Sparse weights and learnt spans, for "Adaptive attention".

Numbers are looked up among pairs, with three kinds of weights and, without any
further training, with larger scores. A token is copied from some way back,
with and without a penalty of the span. The digits are read
with the same kinds, and α is learnt from several starts in both tasks.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention_book.attention.entmax import EntmaxAttention, entmax15
from attention_book.attention.sparse import (
    EagerAttention,
    SparsemaxAttention,
)
from attention_book.data.digits import load_digits
from attention_book.interpret import replace_attention
from attention_book.models.config import ViTConfig
from attention_book.models.vit import ViT
from attention_book.training import Trainer, TrainingConfig
from attention_book.training.classifiers import (
    ImageBatches,
    classification_loss,
    train_classifier,
)
from experiments.attention_tasks import (
    log_n,
    recall,
    scaled,
    train_delay,
    train_recall,
    weight_of_others,
)
from experiments.record import percent, spread


SEEDS = range(3)


class Entmax15Attention(EagerAttention):
    """Multi-head attention with 1.5-entmax for softmax."""

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return entmax15(scores, mask)


KINDS: dict[str, type[EagerAttention]] = {
    "softmax": EagerAttention,
    "entmax15": Entmax15Attention,
    "sparsemax": SparsemaxAttention,
}
KIND_NAMES = {
    "softmax": "softmax",
    "entmax15": "1.5-entmax",
    "sparsemax": "sparsemax",
}
N_PAIRS = (16, 256, 1024)
STEPS = (400, 1600)  # of looking up
STARTS = (1.1, 1.5, 1.9)  # of α
EPOCHS = 12  # of the digits
PENALTIES = (0.0, 0.1, 0.3)


def look_up(seed: int) -> dict[str, float]:
    factors: dict[str, Callable[[int], float]] = {
        "x 1": lambda n: 1.0,
        "x 2": lambda n: 2.0,
        "x log n": log_n,
    }
    found = {}
    for steps in STEPS:
        for name, kind in KINDS.items():
            model = train_recall(kind, seed, steps)
            for title, factor in factors.items():
                larger = replace_attention(model, scaled(kind, factor))
                key = f"{steps} steps, {name} {title}"
                for n in N_PAIRS:
                    found[f"{key}, {n} pairs"] = recall(larger, n)
                others = weight_of_others(larger, max(N_PAIRS))
                found[f"{key}, weight of others"] = others
    for start in STARTS:
        model = train_recall(
            partial(EntmaxAttention, alpha=start), seed, max(STEPS)
        )
        found[f"alpha {start}, end"] = model.attention.alpha.item()
        for n in N_PAIRS:
            found[f"alpha {start}, {n} pairs"] = recall(model, n)
    return found


def train_alphas(model: ViT, seed: int) -> list[float]:
    """As train_classifier; α has a rate of its own, and no decay."""
    batches = ImageBatches(load_digits()[0], seed=seed)
    max_steps = EPOCHS * len(batches)
    config = TrainingConfig(
        max_steps=max_steps,
        learning_rate=2e-3,
        warmup_steps=max_steps // 10,
        betas=(0.9, 0.999),
        weight_decay=0.05,
        max_grad_norm=math.inf,
        seed=seed,
    )
    trainer = Trainer(model, batches, config, classification_loss)
    named = model.named_parameters()
    own = [p for name, p in named if name.endswith("alpha_logits")]
    rest = trainer.optimizer.param_groups[0]
    rest["params"] = [
        p for p in rest["params"] if not any(p is each for each in own)
    ]
    group = {"params": own, "lr": 0.05, "weight_decay": 0.0}
    trainer.optimizer.add_param_group(group)
    for _ in range(max_steps):
        trainer.step()
    model.eval()
    return [1 + x.sigmoid().item() for p in own for x in p]


@torch.no_grad()
def accuracy(model: ViT) -> float:
    _, test = load_digits()
    right = model(test.images).argmax(dim=1) == test.labels
    return right.double().mean().item()


def read_digits(seed: int) -> dict[str, float]:
    sizes = {"d_model": 64, "n_heads": 4, "d_ff": 128, "n_layers": 3}
    shape = {"image_size": 8, "patch_size": 2, "n_channels": 1}
    torch.manual_seed(seed)
    plain = ViT(ViTConfig(n_classes=10, **shape, **sizes))
    found = {}
    for name, kind in KINDS.items():
        model = replace_attention(plain, kind)
        batches = ImageBatches(load_digits()[0], seed=seed)
        train_classifier(model, batches, n_epochs=EPOCHS, seed=seed)
        found[f"{name}, digits"] = accuracy(model)
    for start in STARTS:
        model = replace_attention(plain, EntmaxAttention, alpha=start)
        for i, alpha in enumerate(train_alphas(model, seed)):
            found[f"alpha {start}, digits, head {i}"] = alpha
        found[f"alpha {start}, digits"] = accuracy(model)
    return found


def delays(seed: int) -> dict[str, float]:
    found = {}
    for penalty in PENALTIES:
        accuracy, spans = train_delay(penalty, seed)
        found[f"delay {penalty}, accuracy"] = accuracy
        for i, span in enumerate(sorted(spans, reverse=True)):
            found[f"delay {penalty}, span {i}"] = span
    return found


def run(seed: int) -> dict[str, float]:
    torch.set_num_threads(1)
    return look_up(seed) | read_digits(seed) | delays(seed)


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    columns = [(steps, n) for steps in STEPS for n in (16, 1024)]
    pairs = [["权重 | weights"]]
    pairs[0] += [
        f"{steps:,} 步，{n:,} 对 | {steps:,} steps, {n:,} pairs"
        for steps, n in columns
    ]
    factors = {"x 1": "", "x 2": " × 2", "x log n": " × $\\log_{16} n$"}
    for name, kind in KIND_NAMES.items():
        for factor, title in factors.items():
            keys = [
                f"{steps} steps, {name} {factor}, {n} pairs"
                for steps, n in columns
            ]
            pairs.append(
                [kind + title, *(spread(results[key], 4) for key in keys)]
            )
    alphas = [
        [
            "权重 | weights",
            "查找，α | lookup, α",
            "1,024 对的误差 | error, 1,024 pairs",
            "数字，12 个头的 α | digits, α of 12 heads",
            "正确率 | accuracy",
        ]
    ]
    key = f"{max(STEPS)} steps, {{}} x {{}}, {max(N_PAIRS)} pairs"
    for name, alpha in (("softmax", 1), ("entmax15", 1.5), ("sparsemax", 2)):
        error = spread(results[key.format(name, 1)])
        right = percent(results[f"{name}, digits"])
        fixed = f"{alpha}"
        alphas.append([KIND_NAMES[name], fixed, error, fixed, right])
    for start in STARTS:
        heads = [
            results[f"alpha {start}, digits, head {i}"] for i in range(12)
        ]
        alphas.append(
            [
                f"从 {start} 开始学 | learnt from {start}",
                spread(results[f"alpha {start}, end"], 2),
                spread(results[f"alpha {start}, 1024 pairs"]),
                spread([alpha for head in heads for alpha in head], 2),
                percent(results[f"alpha {start}, digits"]),
            ]
        )
    spans = [
        ["惩罚 $\\lambda$ | penalty $\\lambda$", "正确率 | accuracy"]
        + [f"第 {i} 个头 | head {i}" for i in range(1, 5)]
    ]
    for penalty in PENALTIES:
        right_ones = percent(results[f"delay {penalty}, accuracy"])
        values = [results[f"delay {penalty}, span {i}"] for i in range(4)]
        spans.append(
            [f"{penalty:g}", right_ones, *(spread(x, 1) for x in values)]
        )
    return {"pairs": pairs, "alphas": alphas, "spans": spans}
