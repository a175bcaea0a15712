"""What one head does with its weights, for "Multi-head attention".

With weights that do not depend on who is named, no linear layer picks both
names out of one average, as the chapter proves. A trained head gets most
clauses right all the same. Do its weights depend on the names? Hold them at
their mean over sentences, for each place, and nothing else changes: if the
accuracy stays, they need not. Models, training and the function that holds
the weights are those of the chapter's cells, with the smallest rate of the
table.
"""

from experiments.record import percent
from literate.chapter import defined_in


SEEDS = range(5)
CHAPTER = "docs/attention/multi-head.md"
PARTS = ("torch", "read_out", "ClauseReader", "clauses", "train", "hold")
ARMS = {
    # the title, heads, hidden features of the read-out
    "one, linear": ("一个头，线性 | one head, linear", 1, 0),
    "one, two layers": ("一个头，两层 | one head, two layers", 1, 256),
    "two, linear": ("两个头，线性 | two heads, linear", 2, 0),
}


def run(seed: int) -> dict[str, float]:
    cells = defined_in(CHAPTER, *PARTS)
    found = {}
    for name, (_, n_heads, hidden) in ARMS.items():
        model, right = cells["train"](n_heads, hidden, seed)
        found[name] = right
        found[f"{name}, held"] = cells["hold"](model)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "头与输出层 | heads and read-out",
        "训练好的 | as trained",
        "权重固定在平均值 | weights held at their mean",
    ]
    rows = [
        [title, *(percent(results[key], 0) for key in (name, f"{name}, held"))]
        for name, (title, _, _) in ARMS.items()
    ]
    return {"held": [head, *rows]}
