"""Why a deep post-norm encoder does not start: an intervention a suspect.

The task, the encoder and its training are those of the encoder experiment:
twelve numbers to sort, eight layers, Xavier's weights, Adam at 0.003 without
warm-up, 100 steps, and 500 or 2,000 where the question is what comes later.
Each arm changes one thing. It tells how alike the tokens of a sentence are
before training and how unlike after five steps, how far the first step moves
what the encoder gives, and how many positions are right at the end. No arm is trained until it stops improving: what is asked is whether it
begins to learn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.attention.positions import SinusoidalPositions
from attention_book.models.residuals import PostNorm
from experiments.encoder import (
    BLIND,
    D_MODEL,
    LENGTH,
    N_VALUES,
    make_encoder,
    position_alone,
    similarity,
)
from experiments.record import percent, spread


SEEDS = range(4)
N_LAYERS = 8
STEPS = 100
LONGER = 500  # for the arms of the last question
LONGEST = 2_000  # where large steps go on for longer
EARLY = 5  # steps after which the tokens are compared
RATE = 0.003
SLOW = 0.1  # what the rate of a slowed layer is multiplied by
SHARP = 16  # times the queries, where a token looks at its like
COMMON = 3  # times the standard deviation of the embeddings


class DoubledPostNorm(PostNorm):
    """DeepNorm's sum at eight layers: LayerNorm(2x + f(x))."""

    def forward(
        self, x: Tensor, sublayer: Callable[[Tensor], Tensor]
    ) -> Tensor:
        return self.norm(self.add(2 * x, sublayer(x)))


@dataclass(frozen=True)
class Arm:
    """What is done, where nothing said is post-norm as it was.

    Attributes:
        norm: "post" or "pre".
        loss: Factor of the loss.
        slow: The layers whose rate is a tenth.
        rate: The factor of the rate at a step, counted from 1.
        silent: Steps in which Adam gathers averages and moves nothing.
        draw: "Xavier" weights or "default" ones.
        start: Another change before training: "doubled" input in the sum,
            attention that adds "nothing" at first, or a feed-forward
            "network" that does, tokens that look at their
            "like", or a vector "common" to all embeddings.
    """

    norm: Any = "post"
    loss: float = 1.0
    slow: range = range(0)
    rate: Callable[[int], float] = lambda step: 1.0
    silent: int = 0
    draw: str = "Xavier"
    start: str = ""


def small(step: int) -> float:
    return 0.1


ARMS = {
    "post": Arm(),
    "pre": Arm(norm="pre"),
    "post, loss 0.01": Arm(loss=0.01),
    "post, loss 100": Arm(loss=100),
    "pre, loss 0.01": Arm(norm="pre", loss=0.01),
    "pre, loss 100": Arm(norm="pre", loss=100),
    "last two": Arm(slow=range(6, 8)),
    "first two": Arm(slow=range(2)),
    "last six": Arm(slow=range(2, 8)),
    "first six": Arm(slow=range(6)),
    "last four": Arm(slow=range(4, 8)),
    "first four": Arm(slow=range(4)),
    "silent": Arm(silent=50),
    "small": Arm(rate=small),
    "warm-up": Arm(rate=lambda step: min(step / STEPS, 1.0)),
    "small first": Arm(rate=lambda step: 0.1 if step <= 50 else 1.0),
    "large 5": Arm(rate=lambda step: 1.0 if step <= 5 else 0.1),
    "large 10": Arm(rate=lambda step: 1.0 if step <= 10 else 0.1),
    "large 20": Arm(rate=lambda step: 1.0 if step <= 20 else 0.1),
    "large 50": Arm(rate=lambda step: 1.0 if step <= 50 else 0.1),
    "default": Arm(draw="default"),
    "doubled": Arm(start="doubled"),
    "nothing": Arm(start="nothing"),
    "network": Arm(start="network"),
    "like": Arm(start="like"),
    "common": Arm(draw="default", start="common"),
    "like, small": Arm(start="like", rate=small),
    "common, small": Arm(draw="default", start="common", rate=small),
    "pre, common": Arm(norm="pre", draw="default", start="common"),
}
TABLES = {
    "suspects": {
        "post": "后置归一化，照旧 | post-norm as it was",
        "pre": "前置归一化，照旧 | pre-norm as it was",
        "post, loss 0.01": "损失乘以 0.01 | loss times 0.01",
        "post, loss 100": "损失乘以 100 | loss times 100",
        "pre, loss 0.01": "前置，损失乘以 0.01 | pre-norm, loss times 0.01",
        "pre, loss 100": "前置，损失乘以 100 | pre-norm, loss times 100",
        "last two": "最后两层放慢 | last two layers slow",
        "first two": "前两层放慢 | first two layers slow",
        "last four": "最后四层放慢 | last four layers slow",
        "first four": "前四层放慢 | first four layers slow",
        "last six": "最后六层放慢 | last six layers slow",
        "first six": "前六层放慢 | first six layers slow",
        "silent": "Adam 先旁观 50 步 | Adam watches 50 steps first",
    },
    "steps": {
        "post": "后置归一化，照旧 | post-norm as it was",
        "small": "学习率一直是十分之一 | a tenth of the rate throughout",
        "warm-up": "预热 100 步 | warm-up over 100 steps",
        "small first": "前 50 步十分之一 | a tenth for the first 50 steps",
        "large 5": "5 步以后十分之一 | a tenth after the first 5 steps",
        "large 10": "10 步以后十分之一 | a tenth after the first 10 steps",
        "large 20": "20 步以后十分之一 | a tenth after the first 20 steps",
        "large 50": "50 步以后十分之一 | a tenth after the first 50 steps",
    },
    "start": {
        "default": "默认初值 | default weights",
        "doubled": "相加前把输入乘以 2 | input doubled before the sum",
        "nothing": "注意力起初输出零 | attention gives zero at first",
        "network": "前馈网络起初输出零 | feed-forward network gives zero at first",
        "like": "词元起初只看同类 | tokens look at their like at first",
        "common": "默认初值，嵌入加公共向量 | default weights, common vector",
        "like, small": "只看同类，学习率十分之一 | at their like, a tenth of the rate",
        "common, small": "公共向量，学习率十分之一 | common vector, a tenth of the rate",
        "pre, common": "公共向量，前置归一化 | common vector, pre-norm",
    },
}


def make_model(arm: Arm) -> nn.Sequential:
    encoder = make_encoder(arm.norm, N_LAYERS, arm.draw)
    model = nn.Sequential(
        nn.Embedding(N_VALUES, D_MODEL),
        SinusoidalPositions(D_MODEL),
        encoder,
        nn.Linear(D_MODEL, N_VALUES),
    )
    with torch.no_grad():
        if arm.start == "common":
            model[0].weight.add_(COMMON * torch.randn(D_MODEL))
        for layer in encoder.layers:
            change(layer, arm.start)
    return model


def change(layer: Any, start: str) -> None:
    attention = layer.self_attention
    if start == "doubled":
        for residual in layer.residuals:
            residual.__class__ = DoubledPostNorm
    if start == "nothing":
        attention.out_proj.weight.zero_()
    if start == "network":
        layer.feed_forward.down_proj.weight.zero_()
    if start == "like":  # a key is the query, so each token fits itself best
        attention.kv_proj.weight[:D_MODEL] = attention.q_proj.weight
        attention.q_proj.weight.mul_(SHARP)


def make_optimizer(model: nn.Sequential, arm: Arm) -> torch.optim.Adam:
    slowed = {id(p) for i in arm.slow for p in model[2].layers[i].parameters()}
    parts: tuple[list[Tensor], list[Tensor]] = ([], [])
    for parameter in model.parameters():
        parts[id(parameter) in slowed].append(parameter)
    groups = [
        {"params": part, "factor": factor}
        for part, factor in zip(parts, (1.0, SLOW), strict=True)
        if part
    ]
    return torch.optim.Adam(groups, lr=RATE)


def trial(arm: Arm, seed: int, n_steps: int) -> dict[str, float]:
    """Train one arm and tell what became of it."""
    torch.manual_seed(seed)
    model = make_model(arm)
    optimizer = make_optimizer(model, arm)
    probe = torch.randint(N_VALUES, (64, LENGTH))
    inside: dict[int, Tensor] = {}
    found = {}
    for step in range(1 - arm.silent, n_steps + 1):
        factor = arm.rate(step) if step > 0 else 0.0
        for group in optimizer.param_groups:
            group["lr"] = RATE * factor * group["factor"]
        if step in (1, 2, EARLY + 1):
            with torch.no_grad():
                inside[step - 1] = model[:3](probe)
        numbers = torch.randint(N_VALUES, (16, LENGTH))
        wanted = numbers.sort(dim=1).values
        logits = model(numbers)
        loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        (arm.loss * loss).backward()
        optimizer.step()
        if step in (STEPS, LONGER, LONGEST):
            found[f"right, {step}"] = right(model)
    moved = (inside[1] - inside[0]).norm() / inside[0].norm()
    found |= {
        "before": similarity(inside[0]),
        "moved": moved.item(),
        "early": 1000 * (1 - similarity(inside[EARLY])),
    }
    return found


@torch.no_grad()
def right(model: nn.Sequential) -> float:
    """The share of positions, of a thousand rows."""
    numbers = torch.randint(N_VALUES, (1000, LENGTH))
    answers = model(numbers).argmax(dim=-1)
    return (answers == numbers.sort(dim=1).values).double().mean().item()


def length(name: str) -> int:
    """In steps."""
    if name in ("post", "large 20", "large 50"):
        return LONGEST
    return LONGER if name in TABLES["steps"] else STEPS


def run(seed: int) -> dict[str, float]:
    found = {
        f"{name}: {what}": value
        for name, arm in ARMS.items()
        for what, value in trial(arm, seed, length(name)).items()
    }
    return found | {"position alone": position_alone()}


def brief(values: list[float]) -> str:
    """As spread, with two digits that count."""
    mean, *ends = (
        f"{x:.0f}" if x >= 100 else f"{x:.2g}"
        for x in (sum(values) / len(values), min(values), max(values))
    )
    return f"{mean} ({'–'.join(ends)})"


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "训练前的相似度 | similarity before",
        "第一步移动 | moved by step 1",
        "五步后的差异，千分之 | difference after five steps, × 1,000",
        "答对 | right",
    ]
    found = {}
    for table, titles in TABLES.items():
        rows = [["八层，100 步 | 8 layers, 100 steps", *head]]
        if table == "steps":
            rows[0] += [
                f"{n:,} 步以后 | after {n:,} steps" for n in (LONGER, LONGEST)
            ]
        for name, title in titles.items():
            cells = [
                *(
                    spread(results[f"{name}: {x}"], 2)
                    for x in ("before", "moved")
                ),
                brief(results[f"{name}: early"]),
            ]
            lengths = (STEPS, LONGER, LONGEST)
            for n in lengths if table == "steps" else lengths[:1]:
                values = results.get(f"{name}: right, {n}")
                cells.append(percent(values, 0) if values else "–")
            rows.append([title, *cells])
        found[table] = rows
    blind = f"{100 * results['position alone'][0]:.0f}%"
    found["suspects"].append([BLIND, "–", "–", "–", blind])
    return found
