"""Warm-up whose fruits are kept but for Adam's averages.

The question of "A training recipe": is it the averages that have to warm up?
The arms of experiments.warm_up feed them before the first step, which also
changes the first updates. Here nothing changes for the 100 steps of warm-up.
Then, at the peak of the rate, the averages and their step count are erased,
so that Adam begins there as cold as it does without warm-up. If good averages
were what warm-up is for, the erased runs would end no better than the runs
without it; if it is the slow start, hardly worse than those with it.
"""

from experiments.warm_up import run as run_arms
from experiments.warm_up import tables as tables_of_arms


SEEDS = range(3)
WAYS = {"erased": "100 步，然后抹掉平均 | 100 steps, then averages erased"}


def run(seed: int) -> dict[str, float]:
    return run_arms(seed, WAYS)


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    return tables_of_arms(results, WAYS)
