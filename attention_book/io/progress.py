# Made from docs/source/checkpoints.md (92173270b503). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from attention_book.io.files import read_signed
from attention_book.io.models import (
    _config_to_dict,
    _copy_parameters,
    _model_tensors,
    _progress_tensors,
    check_promise,
    save_model,
)
from attention_book.io.tensor_files import (
    Metadata,
    Tensors,
    check_tensors,
    one_line,
    open_tensors,
    parse_json,
)
from attention_book.tokenizers.words import Tokenizer
from attention_book.training.loop import Trainer


__all__ = [
    "check_fingerprint",
    "check_state",
    "expected_progress",
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


def check_fingerprint(trainer: Trainer, metadata: Metadata) -> None:
    """Raise ValueError unless the metadata are of this trainer's run."""
    for kind, wanted in fingerprint(trainer).items():
        made = parse_json(metadata.get(kind, "null")) or {}
        for name, value in json.loads(wanted).items():
            if made.get(name) != value:
                got = one_line(repr(made.get(name)), 100)
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


def expected_progress(trainer: Trainer, promised: Tensors) -> Tensors:
    """Return what the file of a trainer holds beside model and optimiser.

    Args:
        trainer: Says what it is.
        promised: The tensors of the file, which knows how many steps it was.

    Raises:
        ValueError: There are no losses, or more than the trainer can have.
    """
    if "losses" not in promised:
        raise ValueError("has no losses, so is no checkpoint")
    steps = promised["losses"].numel()
    if steps > trainer.config.max_steps:
        raise ValueError(
            f"wanted losses of at most {trainer.config.max_steps} steps, "
            f"got {steps}"
        )
    return trainer.state_dict() | {"losses": torch.empty(steps)}


def check_state(tensors: Tensors, steps: int) -> None:
    """Raise ValueError if no training comes to these numbers in its steps.

    They are counted, averages of squares are not negative, and the scale of
    fp16 is positive.
    """
    for name, x in tensors.items():
        is_square = name.endswith(".exp_avg_sq")
        is_step = name.startswith("optimizer.") and name.endswith(".step")
        wrong = (
            (is_square and (x < 0).any())
            or (is_step and not 0 <= x <= steps)
            or (name == "scale" and (x[0] <= 0 or x[1] < 0))
        )
        if wrong:
            raise ValueError(
                f"wanted a possible {name}, got {x.min():g} to {x.max():g}"
            )


def load_checkpoint(path: str | Path, trainer: Trainer) -> None:
    """Bring a trainer to where the checkpoint was written.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It is of another model, configuration or corpus, or no
            checkpoint; the trainer is then as it was.
    """
    with open_tensors(path) as file:
        check_fingerprint(trainer, file.metadata)
        check_promise(file.tensors, file.metadata)
        progress = expected_progress(trainer, file.tensors)
        optimizer, *_ = _progress_tensors(trainer.model, 0)
        wanted = _model_tensors(trainer.model) | progress
        check_tensors(file.tensors, wanted, optimizer)
        tensors = read_signed(file)
        check_state(tensors, len(tensors["losses"]))
    state = {}
    for i, (name, _) in enumerate(trainer.model.named_parameters()):
        key = f"optimizer.{name}"
        if f"{key}.step" in tensors:  # none before the first step
            kinds = ("step", "exp_avg", "exp_avg_sq")
            state[i] = {kind: tensors[f"{key}.{kind}"] for kind in kinds}
    _copy_parameters(trainer.model, tensors)
    groups = trainer.optimizer.state_dict()["param_groups"]
    trainer.optimizer.load_state_dict({"state": state, "param_groups": groups})
    trainer.load_state_dict(tensors)
