# Made from docs/source/checkpoints.md (66507edca7ec). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
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
    read_header,
    save_model,
)
from attention_book.io.files import printable
from attention_book.io.tensors import check_tensors, open_tensors
from attention_book.tokenizers.words import Tokenizer
from attention_book.training.loop import Trainer


__all__ = ["fingerprint", "load_checkpoint", "save_checkpoint"]


def fingerprint(trainer: Trainer) -> dict[str, str]:
    """Return what a checkpoint must share with the run that resumes it."""
    return {
        "config": json.dumps(config_to_dict(trainer.model)),
        "training": json.dumps(asdict(trainer.config)),
        "corpus": json.dumps({"digest": trainer.batches.fingerprint()}),
    }


def _check_fingerprint(trainer: Trainer, metadata: dict[str, str]) -> None:
    """Raise ValueError unless the metadata are of this trainer's run.

    A run may be made longer. Its rate then follows the longer schedule, which
    with inverse_sqrt is the one that it followed before.
    """
    for kind, wanted in fingerprint(trainer).items():
        made = json.loads(metadata.get(kind, "{}"))
        for name, value in json.loads(wanted).items():
            found = made.get(name)
            is_longer = name == "max_steps" and type(found) is int
            if found != value and not (is_longer and found < value):
                got = printable(repr(found), 100)
                raise ValueError(
                    f"made with {kind} {name} = {got}, wanted {value!r}"
                )


def save_checkpoint(
    path: str | Path,
    trainer: Trainer,
    tokenizers: Sequence[Tokenizer] = (),
    options: dict[str, str] | None = None,
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
    names = [name for name, _ in trainer.model.named_parameters()]
    tensors = {
        f"optimizer.{names[i]}.{kind}": value
        for i, kinds in trainer.optimizer.state_dict()["state"].items()
        for kind, value in kinds.items()
    }
    tensors |= trainer.state_dict()
    extra = tensors, fingerprint(trainer) | (options or {})
    save_model(path, trainer.model, tokenizers=tokenizers, extra=extra)


_OF_ADAM = ("step", "exp_avg", "exp_avg_sq")


def load_checkpoint(path: str | Path, trainer: Trainer) -> None:
    """Bring a trainer to where the checkpoint was written.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It is of another model, configuration or corpus, of a
            longer run, or no checkpoint; the trainer is then as it was.
    """
    parameters = dict(trainer.model.named_parameters())
    with open_tensors(path) as file:
        _check_fingerprint(trainer, file.metadata)
        read_header(file)  # the rest of it is sound as well
        wanted = trainer.state_dict() | {"losses": file.tensors["losses"]}
        has_state = any(x.startswith("optimizer.") for x in file.tensors)
        for name, parameter in parameters.items():
            wanted[f"model.{name}"] = parameter
            for kind in _OF_ADAM if has_state else ():
                like = torch.empty(()) if kind == "step" else parameter
                wanted[f"optimizer.{name}.{kind}"] = like
        check_tensors(file.tensors, wanted)
        tensors = {name: file.get_tensor(name).clone() for name in wanted}
    state = {
        i: {kind: tensors[f"optimizer.{name}.{kind}"] for kind in _OF_ADAM}
        for i, name in enumerate(parameters)
        if has_state
    }
    groups = trainer.optimizer.state_dict()["param_groups"]
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[f"model.{name}"])
    trainer.optimizer.load_state_dict({"state": state, "param_groups": groups})
    trainer.load_state_dict(tensors)
