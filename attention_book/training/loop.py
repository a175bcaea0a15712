# Made from docs/source/training-loop.md (cf946c36aab0). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from attention_book.compute import (
    ComputeConfig,
    compute_context,
    get_compute_config,
    seeded,
)
from attention_book.training.config import TrainingConfig
from attention_book.training.loading import Prefetcher
from attention_book.training.objective import (
    LossFunction,
    ModelWithLoss,
    translation_loss,
)
from attention_book.training.parallel import SINGLE_PROCESS, ParallelStrategy
from attention_book.training.schedule import learning_rate_at


__all__ = ["BatchSource", "Trainer", "validation_loss"]


@runtime_checkable
class BatchSource(Protocol):
    """Numbered batches, each with n_targets; an epoch has len of them."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Any: ...

    def fingerprint(self) -> str: ...


class Trainer:
    """Updates a model's parameters to lower its loss.

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
        loss_fn: LossFunction = translation_loss,
        strategy: ParallelStrategy = SINGLE_PROCESS,
    ) -> None:
        strategy.check(config)
        self.model: Any = model
        self.batches = batches
        self._prefetcher = Prefetcher(batches)
        self.config = config
        self.strategy = strategy
        self.device = next(model.parameters()).device
        self.compute = get_compute_config(self.device, config.precision)
        self.model_with_loss = strategy.wrap(ModelWithLoss(model, loss_fn))
        self.losses: list[float] = []
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            betas=config.betas,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.scaler = self.compute.scaler()

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
        total = self._accumulate_gradients(number)
        self.scaler.unscale_(self.optimizer)
        norm = clip_grad_norm_(self.model.parameters(), config.max_grad_norm)
        both = torch.stack([total, self.strategy.gather(norm)])
        if number < config.max_steps:
            first = number * config.accumulation_steps + self.strategy.rank
            self._prefetcher.prefetch(first)  # while a GPU computes
        loss, grad_norm = both.tolist()  # waits for a GPU once
        _check_finite(number, loss, grad_norm, self.scaler)
        rate = learning_rate_at(number, config)
        self.optimizer.param_groups[0]["lr"] = rate
        self.scaler.step(self.optimizer)  # not if the gradient overflowed
        self.scaler.update()
        self.losses.append(loss)
        return loss

    def _accumulate_gradients(self, number: int) -> Float[Tensor, ""]:
        """Add up the gradients of a step; return its mean loss."""
        config = self.config
        strategy = self.strategy
        compute = self.compute
        n = config.accumulation_steps
        total = torch.zeros((), device=self.device)
        end = number * n
        for i in range(end - n + strategy.rank, end, strategy.size):
            last = i + strategy.size >= end
            with (
                strategy.gradient_sync(self.model_with_loss, last),
                seeded(compute, config.seed * 1_000_003 + i + 1),
                compute_context(compute),
            ):
                with compute.autocast():
                    loss = self.model_with_loss(
                        self._prefetcher[i], config.label_smoothing
                    )
                self.scaler.scale(loss * strategy.size / n).backward()
            total += loss.detach() / n
        return strategy.reduce(total)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the progress: what is neither parameter nor optimiser."""
        losses = torch.tensor(self.losses, dtype=torch.float64)
        scaler = self.scaler.state_dict()
        if not scaler:
            return {"losses": losses}
        scale = [scaler["scale"], scaler["_growth_tracker"]]
        return {
            "losses": losses,
            "scale": torch.tensor(scale, dtype=torch.float64),
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Bring the trainer to the step of a state_dict."""
        self.losses = state["losses"].tolist()
        if "scale" in state:
            scale, steps = state["scale"].tolist()
            new = {"scale": scale, "_growth_tracker": int(steps)}
            self.scaler.load_state_dict(self.scaler.state_dict() | new)


def _check_finite(
    step: int, loss: float, grad_norm: float, scaler: torch.amp.GradScaler
) -> None:
    """Raise ArithmeticError if a step went wrong.

    A scaled gradient may overflow: then it is scaled less, down to 1.
    """
    grad_is_fine = math.isfinite(grad_norm) or scaler.get_scale() > 1
    if math.isfinite(loss) and grad_is_fine:
        return
    raise ArithmeticError(
        f"step {step}: the loss is {loss}, the gradient norm {grad_norm}"
    )


@torch.no_grad()
def validation_loss(trainer: Trainer, batches: BatchSource) -> float:
    """Return the mean loss of a target, in fp32, without label smoothing.

    Processes share the batches of an epoch. All take equally many turns,
    because to compute a layer may need them all; turns too many count 0.
    """
    strategy = trainer.strategy
    n = len(batches)
    turns = math.ceil(n / strategy.size) * strategy.size
    total = torch.zeros(2, dtype=torch.float64)  # of losses and targets
    was_training = trainer.model.training
    trainer.model_with_loss.eval()
    in_fp32 = ComputeConfig(trainer.device)
    seed = trainer.config.seed
    with seeded(trainer.compute, seed), compute_context(in_fp32):
        for i in range(strategy.rank, turns, strategy.size):
            batch = batches[i % n]
            n_targets = batch.n_targets if i < n else 0
            loss = trainer.model_with_loss(batch).item()
            total[0] += loss * n_targets
            total[1] += n_targets
    trainer.model_with_loss.train(was_training)
    if strategy.size > 1:  # NCCL adds up on GPUs only
        total = strategy.reduce(total.to(trainer.device))
    loss, n_targets = total.tolist()
    return loss / n_targets
