"""The models of "BERT and GPT", trained by the cells of that chapter.

For its experiments, and for "Fine-tuning", which goes on from its models.
Each is trained once in a process, so that experiments run together share it.
"""

from functools import cache, partial
from typing import Any

from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from literate.chapter import defined_in
from literate.records import load


CHAPTER = "docs/language/language-models.md"
PARTS = (
    "drawn",
    "make_model",
    "causal_loss",
    "train",
)
STEPS = 1_000
LONGER = 3_000
MASKS = {  # what becomes of a chosen token; the rest stays as it is
    "80/10/10": {},
    "always": {"mask_replace_prob": 1.0, "random_replace_prob": 0.0},
    "90/10/0": {"mask_replace_prob": 0.9, "random_replace_prob": 0.1},
    "90/0/10": {"mask_replace_prob": 0.9, "random_replace_prob": 0.0},
}


@cache
def cells() -> dict[str, Any]:
    return defined_in(CHAPTER, *PARTS)


@cache
def trained(arm: str, rate: float, seed: int, n_steps: int) -> Any:
    """A model of the chapter: causal, or with a way to mask."""
    page = cells()
    if arm == "causal":
        model = page["make_model"](CausalLanguageModel, seed)
        loss = page["causal_loss"]
    else:
        model = page["make_model"](MaskedLanguageModel, seed)
        loss = partial(page["masked_loss"], **MASKS[arm])
    return page["train"](model, page["train_rows"], loss, seed, n_steps, rate)


def best(arm: str, seed: int) -> Any:
    """The model of an arm that language-models chose, by its record.

    With one of the two tenths alone it is trained as with both.
    """
    results = load("language-models")["results"]
    like = arm if f"{arm}, steps" in results else "80/10/10"
    rate = results[f"{like}, best rate"][seed]
    return trained(arm, rate, seed, int(results[f"{like}, steps"][seed]))
