# Made from docs/source/perturbations.md (ad39f0c109eb). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Temperature scaling.

Explained on the page "Perturbations and biased corpora".
"""

from jaxtyping import Float, Int
from torch import Tensor


__all__ = ["fit_temperature"]


def fit_temperature(
    logits: Float[Tensor, "n classes"], labels: Int[Tensor, " n"]
) -> float:
    """Return the T, 0.01 to 100, for which logits / T have the least loss.

    There the logit that the model expects is as large as the right one, on
    average. It grows as T falls, so T is found by halving.

    Source: Guo et al. (2017), §4.2, temperature scaling.
    """
    right = logits.gather(1, labels[:, None]).mean()
    low, high = 0.01, 100.0
    for _ in range(50):
        middle = (low * high) ** 0.5
        expected = ((logits / middle).softmax(dim=1) * logits).sum(dim=1)
        if expected.mean() > right:
            low = middle
        else:
            high = middle
    return middle
