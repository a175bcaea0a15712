# Made from docs/transformer/recipe.md (b7536d06535e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The learning rate of each step. Explained in "A training recipe"."""

import math

from attention_book.training.config import TrainingConfig


__all__ = ["learning_rate_at"]


def learning_rate_at(step: int, config: TrainingConfig) -> float:
    """Return the learning rate of a step; the first one is number 1.

    The paper's schedule, lrate = d_model^(-0.5) · min(step^(-0.5), step ·
    warmup_steps^(-1.5)), is inverse_sqrt with the peak
    (d_model · warmup_steps)^(-0.5).

    Source: Vaswani et al. (2017), §5.3, eq. 3; Loshchilov and Hutter (2017),
        §3, eq. 5, without restarts, for the cosine.
    """
    rise = min(1.0, step / config.warmup_steps)
    if config.schedule == "inverse_sqrt":
        fall = min(1.0, math.sqrt(config.warmup_steps / step))
        return config.learning_rate * rise * fall
    done = min(1.0, step / config.max_steps)
    fall = 0.5 * (1 + math.cos(math.pi * done))
    return config.learning_rate * rise * (0.02 + 0.98 * fall)
