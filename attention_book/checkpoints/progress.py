# Made from docs/chapters/34-checkpoints.md (c0e8d8c12fc9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from attention_book.checkpoints.files import Metadata, Tensors, read_tensors
from attention_book.checkpoints.models import copy_parameters, save_model
from attention_book.corpus.tokenizers import Tokenizer
from attention_book.training.loop import Trainer


__all__ = ["fingerprint", "load_checkpoint", "save_checkpoint"]


def fingerprint(trainer: Trainer) -> Metadata:
    """Return what a checkpoint must share with the run that resumes it."""
    return {
        "config": json.dumps(asdict(trainer.model.config)),
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
    """Write the model with all that it takes to go on training it."""
    names = [name for name, _ in trainer.model.named_parameters()]
    tensors = {
        f"optimizer.{names[i]}.{kind}": value
        for i, kinds in trainer.optimizer.state_dict()["state"].items()
        for kind, value in kinds.items()
    }
    tensors |= trainer.state_dict()
    extra = tensors, fingerprint(trainer)
    save_model(path, trainer.model, tokenizers=tokenizers, extra=extra)


def load_checkpoint(path: str | Path, trainer: Trainer) -> None:
    """Bring a trainer to where the checkpoint was written.

    Raises:
        ValueError: It is of another model, configuration or corpus, or no
            checkpoint; the trainer is then as it was.
    """
    tensors, metadata = read_tensors(path)
    check_fingerprint(path, trainer, metadata)
    check_progress(path, tensors)
    copy_parameters(path, trainer.model, tensors)
    names = [name for name, _ in trainer.model.named_parameters()]
    kinds = ("step", "exp_avg", "exp_avg_sq")
    state = {
        i: {kind: tensors[f"optimizer.{name}.{kind}"] for kind in kinds}
        for i, name in enumerate(names)
        if f"optimizer.{name}.step" in tensors
    }
    groups = trainer.optimizer.state_dict()["param_groups"]
    trainer.optimizer.load_state_dict({"state": state, "param_groups": groups})
    trainer.load_state_dict(tensors)


def check_progress(path: str | Path, tensors: Tensors) -> None:
    """Raise ValueError unless the tensors are those of a checkpoint."""
    if "losses" not in tensors:
        raise ValueError(f"{path}: has no losses, so is no checkpoint")
