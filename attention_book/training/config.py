# Made from docs/transformer/recipe.md (15eca4a4381b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""How a model is trained. Explained in "A training recipe"."""

import math
from dataclasses import dataclass
from typing import Literal

from attention_book._checks import check_fields, check_rate
from attention_book.compute import Precision


__all__ = ["TrainingConfig", "learning_rate_at"]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The hyperparameters of training; by default those of the command train.

    Attributes:
        max_steps: How many times the parameters are updated.
        batch_tokens: Most tokens in a batch on either side, padding too.
        accumulation_steps: Batches whose gradients make one step.
        learning_rate: Its peak, at the end of the warm-up.
        warmup_steps: Steps in which the rate rises from near 0.
        schedule: How the rate falls after them: as 1/√step, or along half a
            cosine wave to 2 % of the peak at max_steps.
        betas: Decay rates of AdamW's averages of gradients and squares.
        weight_decay: AdamW's; times the rate, how much of each parameter is
            taken off in a step.
        label_smoothing: Probability that is spread evenly over all tokens.
        max_grad_norm: The largest gradient norm; above it gradients are
            scaled down. math.inf for no clipping.
        precision: fp32, tf32, or bf16 or fp16 for what autocast deems safe.
        seed: Decides dropout and the order of batches.

    Raises:
        ValueError: A number or a kind is out of range.
    """

    max_steps: int = 2200
    batch_tokens: int = 1400
    accumulation_steps: int = 1
    learning_rate: float = 1.5e-3
    warmup_steps: int = 100
    schedule: Literal["cosine", "inverse_sqrt"] = "cosine"
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.01
    label_smoothing: float = 0.0
    max_grad_norm: float = 1.0
    precision: Precision = "fp32"
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            least={"seed": 0},
            rates=("label_smoothing", "weight_decay"),
            positive=("learning_rate", "max_grad_norm"),
        )
        if not isinstance(self.betas, tuple) or len(self.betas) != 2:
            raise ValueError(f"betas must be two numbers, got {self.betas!r}")
        for i, beta in enumerate(self.betas):
            check_rate(f"betas[{i}]", beta)


def learning_rate_at(step: int, config: TrainingConfig) -> float:
    """Return the learning rate of a step; the first one is number 1.

    The paper's schedule, lrate = d_model^(-0.5) · min(step^(-0.5), step ·
    warmup_steps^(-1.5)), is inverse_sqrt with the peak
    (d_model · warmup_steps)^(-0.5).

    Source: Vaswani et al. (2017), §5.3, eq. 3; Loshchilov and Hutter (2017),
        §3, eq. 5, without restarts, for the cosine.
    """
    w = config.warmup_steps
    if step <= w:
        return config.learning_rate * step / w
    if config.schedule == "inverse_sqrt":
        return config.learning_rate * math.sqrt(w / step)
    done = min(1.0, (step - w) / max(1, config.max_steps - w))
    fall = 0.5 * (1 + math.cos(math.pi * done))
    return config.learning_rate * (0.02 + 0.98 * fall)
