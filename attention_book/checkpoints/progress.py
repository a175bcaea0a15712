# Made from docs/chapters/34-checkpoints.md (d4277070f576). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from attention_book.checkpoints.files import Metadata, read_tensors
from attention_book.checkpoints.models import (
    _config_to_dict,
    _copy_parameters,
    _find,
    save_model,
)
from attention_book.corpus.tokenizers import Tokenizer
from attention_book.training.loop import Trainer


__all__ = [
    "check_fingerprint",
    "fingerprint",
    "load_checkpoint",
    "save_checkpoint",
]


def fingerprint(trainer: Trainer) -> Metadata:
    """Return what a checkpoint must share with the run that resumes it."""
    return {
        "config": json.dumps(_config_to_dict(trainer.model)),
        "training": json.dumps(asdict(trainer.config)),
        "corpus": json.dumps({"digest": trainer.batches.fingerprint()}),
    }


def check_fingerprint(
    path: str | Path, trainer: Trainer, metadata: Metadata
) -> None:
    """Raise ValueError unless the checkpoint is of this trainer's run."""
    for kind, wanted in fingerprint(trainer).items():
        made = json.loads(metadata.get(kind, "null")) or {}
        for name, value in json.loads(wanted).items():
            if made.get(name) != value:
                raise ValueError(
                    f"{path}: made with {kind} {name} = {made.get(name)!r}, "
                    f"wanted {value!r}"
                )


def save_checkpoint(
    path: str | Path, trainer: Trainer, tokenizers: Sequence[Tokenizer] = ()
) -> None:
    """Write the model with all that it takes to resume its training.

    Raises:
        OSError: The file can't be written; an old one is left as it was.
    """
    metadata = fingerprint(trainer)
    names = [name for name, _ in trainer.model.named_parameters()]
    tensors = {
        f"optimizer.{names[i]}.{kind}": value
        for i, kinds in trainer.optimizer.state_dict()["state"].items()
        for kind, value in kinds.items()
    }
    tensors |= trainer.state_dict()
    environment = {
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
    }
    metadata["environment"] = json.dumps(environment)
    extra = tensors, metadata
    save_model(path, trainer.model, tokenizers=tokenizers, extra=extra)


def load_checkpoint(path: str | Path, trainer: Trainer) -> None:
    """Bring a trainer to where the checkpoint was written.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It is of another model, configuration or corpus, or no
            checkpoint; the trainer is then as it was.
    """
    tensors, metadata = read_tensors(path)
    check_fingerprint(path, trainer, metadata)
    if "losses" not in tensors:
        raise ValueError(f"{path}: has no losses, so is no checkpoint")
    state = {}
    for i, (name, parameter) in enumerate(trainer.model.named_parameters()):
        key = f"optimizer.{name}"
        if f"{key}.step" in tensors:  # none before the first step
            shape = parameter.shape
            state[i] = {
                "step": tensors[f"{key}.step"],
                "exp_avg": _find(path, tensors, f"{key}.exp_avg", shape),
                "exp_avg_sq": _find(path, tensors, f"{key}.exp_avg_sq", shape),
            }
    _copy_parameters(path, trainer.model, tensors)
    groups = trainer.optimizer.state_dict()["param_groups"]
    trainer.optimizer.load_state_dict({"state": state, "param_groups": groups})
    trainer.load_state_dict(tensors)
