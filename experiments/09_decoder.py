"""A decoder that sees the future while it learns: chapter 9.

A decoder layer learns to write six digits in reverse order, once with its
causal mask and once without. The loss is that of teacher forcing; then each
writes digits by itself, token by token.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.decoder import DecoderLayer
from attention_book.encoder import FeedForward, PostNorm
from attention_book.multi_head import MultiHeadAttention
from attention_book.positions import SinusoidalPositions
from experiments.record import percent, spread


SEEDS = range(5)
D_MODEL = 32
LENGTH = 6
BOS = 10
EOS = 11
ROWS = {
    "causal": "有因果掩码 | with the causal mask",
    "open": "没有掩码 | without a mask",
}


class Reverser(nn.Module):
    """Embedding and positions, a decoder layer, a score for each token."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Sequential(
            nn.Embedding(12, D_MODEL), SinusoidalPositions(D_MODEL)
        )
        self.decoder = DecoderLayer(
            MultiHeadAttention(D_MODEL, 4),
            MultiHeadAttention(D_MODEL, 4),
            FeedForward(D_MODEL, 2 * D_MODEL),
            (PostNorm(D_MODEL), PostNorm(D_MODEL), PostNorm(D_MODEL)),
        )
        self.logits = nn.Linear(D_MODEL, 12)

    def forward(self, source: Tensor, target: Tensor, causal: bool) -> Tensor:
        x = self.embed(target)
        x = self.decoder(x, self.embed(source), is_causal=causal)
        return self.logits(x)


def pairs(count: int) -> tuple[Tensor, Tensor]:
    """Digits, and the same digits reversed between both ends."""
    source = torch.randint(10, (count, LENGTH))
    bos = torch.full((count, 1), BOS)
    return source, torch.cat([bos, source.flip(1), bos + 1], dim=1)


def loss_of(
    model: Reverser, source: Tensor, target: Tensor, causal: bool
) -> Tensor:
    logits = model(source, target[:, :-1], causal)
    return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())


def trial(causal: bool, seed: int) -> tuple[float, float, float]:
    """Loss, tokens right and sequences right, of a model that was trained."""
    torch.manual_seed(seed)
    model = Reverser()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in range(300):
        loss = loss_of(model, *pairs(32), causal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    source, target = pairs(1000)
    written = target[:, :1]
    with torch.no_grad():
        final = loss_of(model, source, target, causal).item()
        while written.shape[1] < target.shape[1]:
            best = model(source, written, causal)[:, -1:].argmax(dim=-1)
            written = torch.cat([written, best], dim=1)
    right = (written == target)[:, 1:].double()
    return final, right.mean().item(), right.amin(dim=1).mean().item()


def run(seed: int) -> dict[str, float]:
    found = {}
    for name in ROWS:
        loss, tokens, sequences = trial(name == "causal", seed)
        found |= {
            f"{name}, loss": loss,
            f"{name}, tokens": tokens,
            f"{name}, sequences": sequences,
        }
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "训练 | training",
        "教师强制的损失 | loss, teacher forcing",
        "自己生成，词元对 | generated, tokens right",
        "整句全对 | sequences right",
    ]
    rows = [
        [
            title,
            spread(results[f"{name}, loss"]),
            percent(results[f"{name}, tokens"], 0),
            percent(results[f"{name}, sequences"], 0),
        ]
        for name, title in ROWS.items()
    ]
    return {"leak": [head, *rows]}
