"""Where weight goes that has nothing to look at, for "Scores and softmax today".

A query asks for one of 16 kinds among eight tokens and is to return the vector
of that token, or zero where no token is of its kind, which is half of the time.
If a row that may sum to less than 1 needs no sink, then the zero sink and the
learnt one leave a first token that carries nothing with little weight. If such a
token keeps weight because it does no harm, then one whose value is held at 1 in
each component keeps none. Returning zero always has the error 1 where the kind
is there, and 0 elsewhere. Each arm has the same steps and the better of two
learning rates on 2,000 other queries.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from experiments.record import percent, spread


SEEDS = range(3)
N_KINDS = 16
N_TOKENS = 8
WIDTH = 4
D_K = 16
N_STEPS = 1500
RATES = (0.01, 0.03)
SINKS = {
    "none": "softmax",
    "zero": "softmax₁，$z = 0$ | softmax₁, $z = 0$",
    "learnt": "学来的 $z$ | learnt $z$",
}
FIRST = {
    "none": "无 | none",
    "empty": "可以是空的 | may be empty",
    "full": "值固定为 1 | value held at 1",
}


def draw(size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What is asked for, tokens, right answers, and where the kind is there."""
    kinds = torch.rand(size, N_KINDS).argsort(dim=-1)
    vectors = torch.randn(size, N_TOKENS, WIDTH)
    one_hot = torch.eye(N_KINDS)
    tokens = torch.cat([one_hot[kinds[:, :N_TOKENS]], vectors], dim=-1)
    is_there = torch.rand(size) < 0.5
    asked = torch.where(is_there, kinds[:, 0], kinds[:, N_TOKENS])
    return one_hot[asked], tokens, vectors[:, 0] * is_there[:, None], is_there


class Reader(nn.Module):
    """One query, one head; `first` puts a learnt token before the others."""

    def __init__(self, sink: str, first: str) -> None:
        super().__init__()
        width = N_KINDS + WIDTH
        self.q_proj = nn.Linear(N_KINDS, D_K, bias=False)
        self.k_proj = nn.Linear(width, D_K, bias=False)
        self.v_proj = nn.Linear(width, WIDTH, bias=False)
        has_first = first != "none"
        self.first = (
            nn.Parameter(torch.randn(width) / 2) if has_first else None
        )
        self.is_full = first == "full"
        self.sink = nn.Parameter(torch.zeros(()), sink == "learnt")
        self.has_sink = sink != "none"

    def forward(self, asked: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        if self.first is not None:
            first = self.first.expand(len(tokens), 1, -1)
            tokens = torch.cat([first, tokens], dim=1)
        keys = self.k_proj(tokens)
        scores = (keys @ self.q_proj(asked)[:, :, None])[..., 0] / D_K**0.5
        if self.has_sink:
            scores = pad(scores - self.sink, (0, 1))  # exp(s - z) and exp(0)
        weights = scores.softmax(dim=-1)[:, : tokens.shape[1]]
        values = self.v_proj(tokens)
        if self.is_full:
            ones = torch.ones_like(values[:, :1])
            values = torch.cat([ones, values[:, 1:]], dim=1)
        return (weights[:, None] @ values)[:, 0], weights


def train(seed: int, sink: str, first: str, rate: float) -> Reader:
    torch.manual_seed(seed)
    reader = Reader(sink, first)
    optimiser = torch.optim.Adam(reader.parameters(), lr=rate)
    for _ in range(N_STEPS):
        asked, tokens, answers, _ = draw(64)
        loss = (reader(asked, tokens)[0] - answers).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return reader


@torch.no_grad()
def measure(reader: Reader, seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    asked, tokens, answers, is_there = draw(2000)
    output, weights = reader(asked, tokens)
    errors = (output - answers).square().mean(dim=-1)
    weights = weights[~is_there]
    first = weights[:, 0] if reader.first is not None else weights[:, :0]
    return {
        "loss": errors.mean().item(),
        "there": errors[is_there].mean().item(),
        "not there": errors[~is_there].mean().item(),
        "first": first.sum().item() / len(weights),
        "sum": weights.sum(dim=-1).mean().item(),
    }


def run(seed: int) -> dict[str, float]:
    results = {}
    for first in FIRST:
        for sink in SINKS:
            readers = [train(seed, sink, first, rate) for rate in RATES]
            best = min(readers, key=lambda r: measure(r, 1000 + seed)["loss"])
            for name, value in measure(best, 2000 + seed).items():
                results[f"{sink}, {first}, {name}"] = value
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    rows = [
        [
            "归一化 | normalised by",
            "首词元 | first token",
            "要找的在，误差 | match, error",
            "要找的不在，误差 | no match, error",
            "不在时首词元的权重 | no match, weight on the first token",
            "不在时全部权重之和 | no match, sum of all weights",
        ]
    ]
    for first, presence in FIRST.items():
        for sink, title in SINKS.items():
            of = {
                name: results[f"{sink}, {first}, {name}"]
                for name in ("there", "not there", "first", "sum")
            }
            rows.append(
                [
                    title,
                    presence,
                    spread(of["there"]),
                    spread(of["not there"]),
                    "–" if first == "none" else percent(of["first"], 0),
                    percent(of["sum"], 0),
                ]
            )
    return {"nothing": rows}
