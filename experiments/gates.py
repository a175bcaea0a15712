"""How far a recurrent network remembers, without gates and with them.

The question: can a plain tanh network still name the first word after reading
n words, and can a GRU? Gates would be needless if the plain one, with its
learning rate chosen alike, did as well. Is it the form of the plain network
that forgets, as it rewrites its whole state, or how it starts? The third arm
has the same form and starts from a state that is kept.
"""

import torch
from torch import Tensor, nn

from experiments.record import percent


SEEDS = range(3)
LENGTHS = (5, 10, 20)
RATES = (0.003, 0.01, 0.03)  # the peaks of the schedule
STEPS = 500
WORDS = 8  # in the vocabulary, so that a guess is right for an eighth
WIDTH = 32


class KeepingRNN(nn.RNN):
    """A tanh network whose state, at the start, hardly changes.

    U is the identity, W is small and b is zero. After Le et al. (2015), who
    do so with ReLU in place of tanh.
    """

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.eye_(self.weight_hh_l0)
        nn.init.zeros_(self.bias_hh_l0)
        nn.init.zeros_(self.bias_ih_l0)
        with torch.no_grad():
            self.weight_ih_l0 *= 0.3


KINDS: dict[str, tuple[str, type[nn.RNNBase]]] = {
    "tanh": ("没有门，tanh | no gates, tanh", nn.RNN),
    "identity": (
        "没有门，U 从单位矩阵开始 | no gates, U starts as the identity",
        KeepingRNN,
    ),
    "gru": ("有门，GRU | gates, GRU", nn.GRU),
}


class FirstWord(nn.Module):
    """Reads a sentence and answers from its last state."""

    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.network = kind(WIDTH, WIDTH, batch_first=True)
        self.output = nn.Linear(WIDTH, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        _, last = self.network(self.embedding(words))
        return self.output(last[-1])


def train(kind: type[nn.RNNBase], n: int, rate: float, seed: int) -> FirstWord:
    torch.manual_seed(seed)
    model = FirstWord(kind)
    optimiser = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, rate, total_steps=STEPS
    )
    for _ in range(STEPS):
        words = torch.randint(WORDS, (64, n))
        loss = nn.functional.cross_entropy(model(words), words[:, 0])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model


@torch.no_grad()
def accuracy(model: FirstWord, n: int, seed: int) -> float:
    generator = torch.Generator().manual_seed(seed)
    words = torch.randint(WORDS, (1000, n), generator=generator)
    right = model(words).argmax(dim=-1) == words[:, 0]
    return right.float().mean().item()


def run(seed: int) -> dict[str, float]:
    found = {}
    for name, (_, kind) in KINDS.items():
        for n in LENGTHS:
            models = [train(kind, n, rate, seed) for rate in RATES]
            best = max(models, key=lambda m, n=n: accuracy(m, n, 2))
            found[f"{name}, {n}"] = accuracy(best, n, 1)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = ["说得出第一个词 | names the first word"]
    head += [f"{n} 个词 | of {n} words" for n in LENGTHS]
    rows = [
        [title, *(percent(results[f"{name}, {n}"], 0) for n in LENGTHS)]
        for name, (title, _) in KINDS.items()
    ]
    return {"first-word": [head, *rows]}
