# Made from docs/source/checkpoints.md (ff38d31bedad). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Checkpoints of training: the model's file, with all that resuming takes.

Explained on the page "Files and checkpoints".
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from attention_book.io.checkpoints import (
    config_to_dict,
    copy_parameters,
    model_tensors,
    read_header,
    save_model,
)
from attention_book.io.files import parse_json, printable
from attention_book.io.tensors import (
    Metadata,
    Tensors,
    check_tensors,
    open_tensors,
)
from attention_book.tokenizers.words import Tokenizer
from attention_book.training.loop import Trainer


__all__ = [
    "check_fingerprint",
    "expected_progress",
    "fingerprint",
    "load_checkpoint",
    "save_checkpoint",
]


def fingerprint(trainer: Trainer) -> Metadata:
    """Return what a checkpoint must share with the run that resumes it."""
    return {
        "config": json.dumps(config_to_dict(trainer.model)),
        "training": json.dumps(asdict(trainer.config)),
        "corpus": json.dumps({"digest": trainer.batches.fingerprint()}),
    }


def check_fingerprint(trainer: Trainer, metadata: Metadata) -> None:
    """Raise ValueError unless the metadata are of this trainer's run."""
    for kind, wanted in fingerprint(trainer).items():
        made = parse_json(metadata.get(kind, "null")) or {}
        for name, value in json.loads(wanted).items():
            if made.get(name) != value:
                got = printable(repr(made.get(name)), 100)
                raise ValueError(
                    f"made with {kind} {name} = {got}, wanted {value!r}"
                )


def save_checkpoint(
    path: str | Path,
    trainer: Trainer,
    tokenizers: Sequence[Tokenizer] = (),
    options: Metadata | None = None,
) -> None:
    """Write the model with all that it takes to resume its training.

    It asks for no lock, as save_model does not.

    Args:
        path: The file.
        trainer: Where the training stands.
        tokenizers: Of source and target.
        options: More metadata, for whoever resumes it.

    Raises:
        OSError: The file can't be written; an old one is left as it was.
    """
    metadata = fingerprint(trainer) | (options or {})
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


def expected_progress(trainer: Trainer, tensors: Tensors) -> Tensors:
    """Return what the file of a trainer holds beside model and optimiser.

    Args:
        trainer: Says what it is.
        tensors: Of the file, which knows how many steps it was.

    Raises:
        ValueError: There are no losses, or more than the trainer can have.
    """
    if "losses" not in tensors:
        raise ValueError("has no losses, so is no checkpoint")
    steps = tensors["losses"].numel()
    if steps > trainer.config.max_steps:
        raise ValueError(
            f"wanted losses of at most {trainer.config.max_steps} steps, "
            f"got {steps}"
        )
    return trainer.state_dict() | {"losses": torch.empty(steps)}


def load_checkpoint(path: str | Path, trainer: Trainer) -> None:
    """Bring a trainer to where the checkpoint was written.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It is of another model, configuration or corpus, or no
            checkpoint; the trainer is then as it was.
    """
    parameters = dict(trainer.model.named_parameters())
    kinds = ("step", "exp_avg", "exp_avg_sq")
    with open_tensors(path) as file:
        check_fingerprint(trainer, file.metadata)
        read_header(file.tensors, file.metadata)
        wanted = expected_progress(trainer, file.tensors)
        wanted |= model_tensors(trainer.model)
        has_state = any(x.startswith("optimizer.") for x in file.tensors)
        for name, parameter in parameters.items() if has_state else ():
            for kind in kinds:
                like = torch.empty(()) if kind == "step" else parameter
                wanted[f"optimizer.{name}.{kind}"] = like
        check_tensors(file.tensors, wanted)
        tensors = file.read()
    state = {
        i: {kind: tensors[f"optimizer.{name}.{kind}"] for kind in kinds}
        for i, name in enumerate(parameters)
        if has_state
    }
    copy_parameters(trainer.model, tensors)
    groups = trainer.optimizer.state_dict()["param_groups"]
    trainer.optimizer.load_state_dict({"state": state, "param_groups": groups})
    trainer.load_state_dict(tensors)
