# Made from docs/transformer/recipe.md (1663af8784d7). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The loss of unseen data. Explained in "A training recipe"."""

import math

import torch

from attention_book.compute import ComputeConfig, compute_context, seeded
from attention_book.training.loading import BatchSource
from attention_book.training.loop import Trainer


__all__ = ["validation_loss"]


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
    trainer.model.eval()
    in_fp32 = ComputeConfig(trainer.device)
    seed = trainer.config.seed
    with seeded(trainer.compute, seed), compute_context(in_fp32):
        for i in range(strategy.rank, turns, strategy.size):
            batch = batches[i % n]
            n_targets = batch.n_targets if i < n else 0
            loss = trainer.loss_of(batch).item()
            total[0] += loss * n_targets
            total[1] += n_targets
    trainer.model.train(was_training)
    loss, n_targets = strategy.reduce(total).tolist()
    return loss / n_targets
