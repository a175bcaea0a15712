"""Does a learnt α arrive where its start does not matter?

For "Layers for adaptive attention". The task is the lookup of "adaptive".
Rates do not fall, so that α could go on moving, and
α is written down on the way. A second arm moves α five times as fast. If its
starts meet, it was the rate that kept them apart.
"""

import copy

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap

from attention_book.attention.entmax import EntmaxAttention
from experiments.attention_tasks import Recall, draw_pairs, recall
from experiments.record import spread


SEEDS = range(3)
STARTS = (1.1, 1.5, 1.9)
RATES = (0.02, 0.1)  # of the logit of α; that of the rest is 0.005
TIMES = (100, 400, 800)  # steps


def untrained(seed: int, start: float) -> Recall:
    torch.manual_seed(seed)
    return Recall(lambda d, h: EntmaxAttention(d, h, alpha=start))


def run(seed: int) -> dict[str, float]:
    """Train all at once, which is faster; Adam keeps them apart."""
    torch.set_num_threads(1)
    arms = [(rate, start) for rate in RATES for start in STARTS]
    models = [untrained(seed, start) for _, start in arms]
    parameters, _ = stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    factors = torch.tensor([rate / max(RATES) for rate, _ in arms])[:, None]
    own = parameters["attention.alpha_logits"]
    rest = [x for x in parameters.values() if x is not own]
    groups = [{"params": rest}, {"params": [own], "lr": max(RATES)}]
    optimizer = torch.optim.Adam(groups, lr=5e-3)
    generator = torch.Generator().manual_seed(seed)

    def answer(params: dict[str, Tensor], *pairs: Tensor) -> Tensor:
        return functional_call(base, params, pairs)

    answers = vmap(answer, in_dims=(0, None, None, None))
    found = {}
    for step in range(1, max(TIMES) + 1):
        pairs = draw_pairs(64, 16, generator)
        wanted = pairs[2][:, 0].expand(len(arms), -1)
        loss = len(arms) * F.mse_loss(answers(parameters, *pairs), wanted)
        optimizer.zero_grad()
        loss.backward()
        before = own.detach().clone()
        optimizer.step()
        with torch.no_grad():  # each arm at its own rate
            own.copy_(before + factors * (own - before))
        if step not in TIMES:
            continue
        for i, (rate, start) in enumerate(arms):
            each = {name: x[i].detach() for name, x in parameters.items()}
            models[i].load_state_dict(each)
            key = f"rate {rate}, start {start}, {step} steps"
            found[f"{key}, alpha"] = models[i].attention.alpha.item()
            found[f"{key}, error"] = recall(models[i], 16)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    rows = [
        ["$\\alpha$ 的学习率，起点 | rate of $\\alpha$, start"]
        + [f"{n:,} 步 | {n:,} steps" for n in TIMES]
        + ["最后的误差 | error at the end"]
    ]
    for rate in RATES:
        for start in STARTS:
            key = f"rate {rate}, start {start}, {{}} steps, {{}}"
            rows.append(
                [f"{rate}, {start}"]
                + [spread(results[key.format(n, "alpha")], 2) for n in TIMES]
                + [spread(results[key.format(max(TIMES), "error")])]
            )
    return {"alphas": rows}
