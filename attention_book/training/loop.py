# Made from docs/transformer/training.md (b38b55cb21d2). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The training loop. Explained in the chapter "Training"."""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from attention_book.compute import compute_context, get_compute_config, seeded
from attention_book.training.config import TrainingConfig, learning_rate_at
from attention_book.training.loading import BatchSource
from attention_book.training.losses import translation_loss
from attention_book.training.parallel import SINGLE_PROCESS, ParallelStrategy


__all__ = ["Trainer"]


class Trainer:
    """Lowers the loss of a model, step by step, with AdamW.

    Args:
        model: Is trained in place, on the device where it lies.
        batches: What it learns from, on the same device.
        config: The hyperparameters.
        loss_fn: From model, batch and label smoothing to a mean loss.
        strategy: How processes share the work.

    Attributes:
        losses: Of each step so far.

    Source: Loshchilov and Hutter (2019), algorithm 2, for AdamW.
    """

    def __init__(
        self,
        model: nn.Module,
        batches: BatchSource,
        config: TrainingConfig,
        loss_fn: Callable[..., Tensor] = translation_loss,
        strategy: ParallelStrategy = SINGLE_PROCESS,
    ) -> None:
        strategy.check(config)
        self.model: Any = model
        self.batches = batches
        self.config = config
        self.strategy = strategy
        self.device = next(model.parameters()).device
        self.compute = get_compute_config(self.device, config.precision)
        self.loss_of: Any = strategy.wrap(model, loss_fn)
        self.losses: list[float] = []
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            betas=config.betas,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.scaler = self.compute.scaler()
        self._ahead: dict[int, Any] = {}  # a batch made before its step

    def step(self) -> float:
        """Update the parameters once; return the mean loss before.

        Raises:
            ArithmeticError: Loss or gradient norm are not finite; parameters
                and optimiser are as they were.
        """
        config = self.config
        number = len(self.losses) + 1
        self.model.train()
        self.optimizer.zero_grad()
        total = self._backward(number)
        self.scaler.unscale_(self.optimizer)
        norm = clip_grad_norm_(self.model.parameters(), config.max_grad_norm)
        both = torch.stack([total, self.strategy.gather(norm)])
        if number < config.max_steps:  # while a GPU computes
            first = self._batch_numbers(number + 1)[0]
            self._ahead = {first: self.batches[first]}
        loss, grad_norm = both.tolist()  # waits for a GPU once
        fine = math.isfinite(loss) and (  # fp16 may overflow, and is scaled
            math.isfinite(grad_norm) or self.scaler.get_scale() > 1
        )
        if not fine:
            raise ArithmeticError(
                f"step {number}: the loss is {loss}, "
                f"the gradient norm {grad_norm}"
            )
        rate = learning_rate_at(number, config)
        self.optimizer.param_groups[0]["lr"] = rate
        self.scaler.step(self.optimizer)  # not if the gradient overflowed
        self.scaler.update()
        self.losses.append(loss)
        return loss

    def _batch_numbers(self, step: int) -> range:
        """Return which batches of a step this process computes."""
        end = step * self.config.accumulation_steps
        start = end - self.config.accumulation_steps
        return range(start + self.strategy.rank, end, self.strategy.size)

    def _backward(self, step: int) -> Float[Tensor, ""]:
        """Add up the gradients of a step; return its mean loss."""
        config = self.config
        compute = self.compute
        n = config.accumulation_steps
        numbers = self._batch_numbers(step)
        total = torch.zeros((), device=self.device)
        for i in numbers:
            with (
                self.strategy.gradient_sync(self.loss_of, i == numbers[-1]),
                seeded(compute, config.seed * 1_000_003 + i + 1),
                compute_context(compute),
            ):
                with compute.autocast():
                    ahead = self._ahead.pop(i, None)
                    batch = self.batches[i] if ahead is None else ahead
                    loss = self.loss_of(batch, config.label_smoothing)
                mean = loss * self.strategy.size / n
                self.scaler.scale(mean).backward()
            total += loss.detach() / n
        return self.strategy.reduce(total)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the progress: what is neither parameter nor optimiser."""
        state = {"losses": torch.tensor(self.losses, dtype=torch.float64)}
        if scaler := self.scaler.state_dict():  # of fp16
            scale = [scaler["scale"], scaler["_growth_tracker"]]
            state["scale"] = torch.tensor(scale, dtype=torch.float64)
        return state

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Bring the trainer to the step of a state_dict."""
        self.losses = state["losses"].tolist()
        if "scale" in state:
            scale, steps = state["scale"].tolist()
            new = {"scale": scale, "_growth_tracker": int(steps)}
            self.scaler.load_state_dict(self.scaler.state_dict() | new)
