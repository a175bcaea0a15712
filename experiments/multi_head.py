"""Who chases whom, read by one, two or four heads, for "Multi-head attention".

Does one head fail for want of a second set of weights, or because the layer
that reads its average is linear? Behind one head stands either one layer or
two; if the second layer alone makes up for the second head, the first answer is
refuted. The model and its training are those of the chapter's cells, trained
four times as long, at five learning rates. Naming one side and guessing the
other is right once in 26.
"""

from experiments.record import percent
from literate.chapter import defined_in


SEEDS = range(5)
HEADS = (1, 2, 4)
READ_OUTS = {0: "一层，线性 | one layer, linear", 256: "两层 | two layers"}
RATES = (0.0005, 0.001, 0.002, 0.005, 0.01)
N_STEPS = 2000
LEARNT = 0.99
CHAPTER = "docs/attention/multi-head.md"
PARTS = ("torch", "read_out", "ClauseReader", "clauses", "train")


def key(n_heads: int, hidden: int, rate: float) -> str:
    return f"{n_heads} heads, {hidden} hidden, rate {rate}"


def run(seed: int) -> dict[str, float]:
    train = defined_in(CHAPTER, *PARTS)["train"]
    return {
        key(n, hidden, rate): train(n, hidden, seed, rate, N_STEPS)[1]
        for hidden in READ_OUTS
        for n in HEADS
        for rate in RATES
    }


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    n_runs = len(RATES) * len(next(iter(results.values())))
    head = [
        "输出层 | read-out",
        "头 | heads",
        *(f"{rate}" for rate in RATES),
        f"{n_runs} 次里学会的 | learnt, of {n_runs} runs",
    ]
    rows = []
    for hidden, title in READ_OUTS.items():
        for n in HEADS:
            found = [results[key(n, hidden, rate)] for rate in RATES]
            learnt = sum(right > LEARNT for arm in found for right in arm)
            cells = [percent(arm, 0) for arm in found]
            rows.append([title, f"{n}", *cells, f"{learnt}"])
    return {"clauses": [head, *rows]}
