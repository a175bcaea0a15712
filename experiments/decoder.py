"""A decoder that sees the future while it learns: chapter 9.

A decoder layer learns to write eight digits in order, once with its causal
mask and once without. The loss is that of teacher forcing, with the source
and with that of another sequence; then each writes digits by itself.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.attention.positions import SinusoidalPositions
from attention_book.models.decoder import DecoderLayer
from experiments.record import percent, spread


SEEDS = range(5)
D_MODEL = 32
LENGTH = 8
BOS = 10
EOS = 11
ROWS = {
    "causal": "有因果掩码 | with the causal mask",
    "open": "没有掩码 | without a mask",
}


class Sorter(nn.Module):
    """Embedding and positions, a decoder layer, a score for each token."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Sequential(
            nn.Embedding(12, D_MODEL), SinusoidalPositions(D_MODEL)
        )
        self.decoder = DecoderLayer(D_MODEL, 4, 2 * D_MODEL)
        self.logits = nn.Linear(D_MODEL, 12)

    def forward(self, source: Tensor, target: Tensor, causal: bool) -> Tensor:
        x = self.embed(target)
        x = self.decoder(x, self.embed(source), is_causal=causal)
        return self.logits(x)


def pairs(count: int) -> tuple[Tensor, Tensor]:
    """Digits, and the same digits in order between both ends."""
    source = torch.randint(10, (count, LENGTH))
    bos = torch.full((count, 1), BOS)
    return source, torch.cat([bos, source.sort(1).values, bos + 1], dim=1)


def loss_of(
    model: Sorter, source: Tensor, target: Tensor, causal: bool
) -> Tensor:
    logits = model(source, target[:, :-1], causal)
    return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())


def trial(causal: bool, seed: int) -> dict[str, float]:
    """How a model does, when trained with or without the causal mask."""
    torch.manual_seed(seed)
    model = Sorter()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in range(400):
        loss = loss_of(model, *pairs(32), causal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    source, target = pairs(1000)
    with torch.no_grad():
        final = loss_of(model, source, target, causal).item()
        logits = model(source.roll(1, dims=0), target[:, :-1], causal)
        copied = logits.argmax(dim=-1) == target[:, 1:]
        written = target[:, :1]
        while written.shape[1] < target.shape[1]:
            best = model(source, written, causal)[:, -1:].argmax(dim=-1)
            written = torch.cat([written, best], dim=1)
    right = (written == target)[:, 1:]
    return {
        "loss": final,
        "copied": copied[:, :-1].double().mean().item(),  # digits only
        "tokens": right[:, :-1].double().mean().item(),
        "sequences": right.all(dim=1).double().mean().item(),
    }


def run(seed: int) -> dict[str, float]:
    return {
        f"{name}, {what}": value
        for name in ROWS
        for what, value in trial(name == "causal", seed).items()
    }


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "训练 | training",
        "教师强制的损失 | teacher-forced loss",
        "原文换错，标签对 | wrong source, labels right",
        "自己写，词元对 | alone, tokens right",
        "整句对 | sequences right",
    ]
    rows = [
        [
            title,
            spread(results[f"{name}, loss"]),
            percent(results[f"{name}, copied"], 0),
            percent(results[f"{name}, tokens"], 0),
            percent(results[f"{name}, sequences"], 0),
        ]
        for name, title in ROWS.items()
    ]
    return {"leak": [head, *rows]}
