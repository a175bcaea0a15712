"""Are the counterexamples that 50 epochs leave unfitted learnt in 150?

As `robust_fitted`, with 300 counterexamples of each kind, three times as long.
"""

from experiments.robust_fitted import measure, table


SEEDS = range(3)
COUNT = 300  # counterexamples against each heuristic
EPOCHS = 150


def run(seed: int) -> dict[str, float]:
    return measure(COUNT, seed, EPOCHS)


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    return {"longer": table(results, (COUNT,))}
