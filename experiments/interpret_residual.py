"""Maps of a language model with and without the residual path.

"Tools for explanations" asks which earlier token an answer depends on: other
tokens of the same text are put in the place of each, and the place that costs
most is the one to be found. In a decoder the token just read reaches the
output by the residual connections, which a mean of attention weights leaves
out. So the same weights are read with that path and without, and beside them
stand two answers that look at nothing: the current token, and the one before.

Maps that leave the residual out because of what the task is, and not because
it is missing, would not get better when it is put in: that would refute it.
"""

import random
from collections import defaultdict
from collections.abc import Callable
from functools import reduce
from statistics import fmean

import networkx as nx  # type: ignore[import-untyped]
import torch
from torch import Tensor, nn

from attention_book import input_x_gradient, occlusion, trace
from attention_book.interpret.mixing import attention_rollout, mixing_matrices
from attention_book.models.language import CausalLanguageModel
from experiments.help_pages import RATE, cells, text
from experiments.record import percent


SEEDS = range(3)
LM_STEPS = 600
SIZES = {"2 layers": (64, 2), "4 layers": (128, 4)}  # width and layers
N = 10  # rows of text
N_FLOW = 3  # rows of them for attention flow, which is slow
N_OTHERS = 5  # tokens that are put in the place of one
N_POINTS = 16  # of integrated gradients
MOVED = 1  # by how much a log-probability falls, at least
FEWEST = 3  # places to choose from
SITE = "encoder.tokens"
METHODS = {
    "attention": "注意力，平均 | attention, mean",
    "product": "各层连乘，没有残差 | layers multiplied, no residual",
    "rollout": "展开，有残差 | rollout, with the residual",
    "flow": "流，有残差 | flow, with the residual",
    "gradient": "梯度 | gradient",
    "integrated": "积分 | integrated",
    "left out": "去词 | left out",
    "current": "总说现在的词元 | always the current token",
    "before": "总说前一个词元 | always the token before",
    "random": "随机 | random",
}


def flow(mixing: Tensor) -> Tensor:
    """Attention flow from each token to those up to it."""
    n = mixing.shape[-1]
    graph = nx.DiGraph()
    for depth, mix in enumerate(mixing):
        for i, j in mix.nonzero().tolist():
            graph.add_edge(
                (depth + 1, i), (depth, j), capacity=mix[i, j].item()
            )
    found = torch.zeros(n, n)
    for i in range(n):
        for j in range(i + 1):
            found[i, j] = nx.maximum_flow_value(
                graph, (len(mixing), i), (0, j)
            )
    return found


def integrated(
    model: nn.Module, ids: Tensor, score: Callable[[Tensor], Tensor]
) -> Tensor:
    """Integrated gradients of all scores, all points in one batch."""
    with torch.no_grad():
        x = trace(model, [ids], [SITE]).activations[SITE]
    share = (torch.arange(N_POINTS) + 0.5) / N_POINTS
    points = (share[:, None, None] * x).requires_grad_()
    rows = ids.expand(N_POINTS, -1)
    logits = trace(model, [rows], edits={SITE: lambda _: points}).output
    each = torch.stack([score(one) for one in logits])
    gradients = [
        torch.autograd.grad(one, points, retain_graph=True)[0].mean(dim=0)
        for one in each.sum(dim=0)
    ]
    return (torch.stack(gradients) * x[0]).sum(dim=-1)


def maps(
    model: nn.Module, ids: Tensor, score: Callable[[Tensor], Tensor]
) -> dict[str, Tensor]:
    """What each method says: (tokens that are scored, tokens up to them)."""
    n = ids.shape[1]
    with torch.no_grad():
        seen = trace(model, [ids], ["*.weights"]).activations
    weights = [w[0].mean(dim=0) for w in seen.values()]
    mixing = mixing_matrices(model, [ids])
    call = (model, [ids], SITE, lambda logits: score(logits[0]))
    return {
        "attention": torch.stack(weights).mean(dim=0),
        "product": reduce(lambda product, w: w @ product, weights),
        "rollout": attention_rollout(mixing)[0],
        "gradient": input_x_gradient(*call).abs(),
        "integrated": integrated(model, ids, score).abs(),
        "left out": occlusion(*call),
        "current": torch.eye(n),
        "before": torch.ones(n, n).tril(-1).cumsum(dim=1),
        "random": torch.rand(n, n),
    }


@torch.no_grad()
def replaced(
    model: nn.Module,
    ids: Tensor,
    score: Callable[[Tensor], Tensor],
    tokens: list[int],
    rng: random.Random,
) -> Tensor:
    """By how much each score falls, on average, when a place is changed."""
    n = ids.shape[1]
    rows = ids.repeat(n * N_OTHERS, 1)
    for i in range(len(rows)):
        rows[i, i // N_OTHERS] = rng.choice(tokens)
    right = score(model(ids)[0])
    scores = torch.stack([score(logits) for logits in model(rows)])
    return right[:, None] - scores.view(n, N_OTHERS, n).mean(dim=1).T


def compare(
    model: nn.Module, rows: Tensor, seed: int
) -> dict[str, list[float]]:
    """For each output and method: is the largest place the right one?

    Among all places up to the output, and among those before it alone.
    """
    rng = random.Random(seed)
    tokens = rows.flatten().tolist()
    found = defaultdict(list)
    for r, row in enumerate(rows[:N]):
        ids, targets = row[None, :-1], row[1:]
        n = ids.shape[1]

        def score(logits: Tensor, targets: Tensor = targets) -> Tensor:
            return logits.log_softmax(-1)[range(len(targets)), targets]

        falls = replaced(model, ids, score, tokens, rng)
        readings = maps(model, ids, score)
        if r < N_FLOW:
            readings["flow"] = flow(mixing_matrices(model, [ids])[:, 0])
        for i in range(n):
            for kind, end in ("all", i + 1), ("earlier", i):
                moved = end >= FEWEST and falls[i, :end].max() > MOVED
                if end >= FEWEST:
                    found[f"{kind}, moved"].append(float(moved))
                if not moved:
                    continue
                place = falls[i, :end].argmax()
                for name, reading in readings.items():
                    same = reading[i, :end].argmax() == place
                    found[f"{kind}, {name}"].append(float(same))
    return found


def run(seed: int) -> dict[str, float]:
    torch.set_num_threads(1)
    tokenizer, train, held = text()
    loss = cells()["causal_loss"]
    found = {}
    for size, (d_model, n_layers) in SIZES.items():
        torch.manual_seed(seed)
        model = cells()["make_model"](
            CausalLanguageModel, len(tokenizer) + 1, d_model, n_layers
        )
        cells()["train"](model, train, loss, seed, LM_STEPS, RATE)
        with torch.no_grad():
            found[f"{size}, loss"] = loss(model, held[:1000]).item()
        torch.manual_seed(seed)
        results = compare(model, held, seed)
        for kind in "all", "earlier":
            n = len(results[f"{kind}, attention"])
            found[f"{size}, {kind}, outputs"] = n
            for name in "moved", *METHODS:
                share = fmean(results[f"{kind}, {name}"])
                found[f"{size}, {kind}, {name}"] = share
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    """Of each size, among all places and without the current token."""
    names = {"moved": "换了要紧的词元 | tokens that depend on a place"}
    head = ["归因方法 | method"]
    for size in SIZES:
        n = size[0]
        head += [
            f"{n} 层 | {n} layers",
            f"{n} 层，不算现在的 | {n} layers, without the current",
        ]
    rows = [head]
    for name, title in (names | METHODS).items():
        row = [title]
        for size in SIZES:
            row.append(percent(results[f"{size}, all, {name}"], 0))
            earlier = percent(results[f"{size}, earlier, {name}"], 0)
            row.append("–" if name == "current" else earlier)
        rows.append(row)
    return {"first": rows}
