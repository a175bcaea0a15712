# Made from docs/source/cli.md (848128b5f7fc). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Whether a training fits into memory, before anything is allocated."""

import os
from dataclasses import asdict

import torch

from attention_book.io.checkpoints import meta_model
from attention_book.io.tensors import MAX_TENSORS
from attention_book.models.config import TransformerConfig
from attention_book.training.parallel import (
    FullyShardedDataParallel,
    ParallelStrategy,
)


__all__ = ["check_memory"]


_MAX_LAYERS = 100  # for which a checkpoint has room


def _memory_of(device: torch.device) -> int:
    """Return how many bytes a device has, as far as one can know."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    if device.type == "cpu" and hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 2**40


def check_memory(
    config: TransformerConfig,
    device: torch.device,
    strategy: ParallelStrategy,
) -> None:
    """Raise ValueError if training a model takes more memory than there is.

    Every parameter has a gradient and two averages of AdamW, in fp32 each.
    """
    if config.n_layers > _MAX_LAYERS:
        raise ValueError(
            f"n_layers must be at most {_MAX_LAYERS}, got {config.n_layers}"
        )
    model = meta_model("Transformer", asdict(config), MAX_TENSORS)
    n_parameters = sum(p.numel() for p in model.parameters())
    is_sharded = isinstance(strategy, FullyShardedDataParallel)
    wanted = 16 * n_parameters // (strategy.size if is_sharded else 1)
    if wanted > (most := _memory_of(device)):
        raise ValueError(
            f"the model has {n_parameters:,} parameters, whose training takes "
            f"{wanted / 2**30:,.0f} GiB, but there are {most / 2**30:,.1f}"
        )
