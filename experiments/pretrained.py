"""Logits of the book's models and of transformers', same weights.

Originals and comparison are those of the cells of "Pretrained weights".
"""

from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/language/pretrained.md"
PARTS = ("torch", "tempfile", "originals", "load", "compare")


def run(seed: int) -> dict[str, float]:
    found = defined_in(CHAPTER, *PARTS)
    results = {}
    for theirs in found["originals"](seed):
        ours = found["load"](theirs)
        wanted, got = found["compare"](theirs, ours)
        same = (wanted.argmax(-1) == got.argmax(-1)).view(50, -1).all(-1)
        name = type(theirs).__name__
        results[f"{name} difference"] = (wanted - got).abs().max().item()
        results[f"{name} size"] = wanted.abs().max().item()
        results[f"{name} same"] = float(same.sum())
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    rows = [
        [
            "模型 | model",
            "最大的 logit | largest logit",
            "最大的差 | largest difference",
            "150 次里选择相同 | same choice, of 150",
        ]
    ]
    for key in results:
        name, _, kind = key.partition(" ")
        if kind == "difference":
            rows.append(
                [
                    name,
                    f"{max(results[f'{name} size']):.1f}",
                    f"{max(results[key]):.0e}".replace("0e+00", "0"),
                    f"{sum(results[f'{name} same']):.0f}",
                ]
            )
    return {"equal": rows}
