# Made from docs/chapters/34-checkpoints.md (263df4e8dcaa). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from attention_book.checkpoints.files import (
    Metadata,
    Tensors,
    read_tensors,
    write_tensors,
)
from attention_book.corpus.tokenizers import Tokenizer
from attention_book.non_autoregressive import (
    MaskedTransformer,
    MaskedTransformerConfig,
)
from attention_book.recurrent import AttentiveSeq2Seq, Seq2Seq
from attention_book.texts.subwords import (
    tokenizer_from_json,
    tokenizer_to_json,
)
from attention_book.transformer import Transformer, TransformerConfig
from attention_book.vit.config import ViTConfig
from attention_book.vit.model import ViT


__all__ = ["SavedModel", "load_model", "save_model"]


class SavedModel(NamedTuple):
    """What a file of save_model holds."""

    model: Any  # in eval mode
    tokenizers: tuple[Tokenizer, ...]  # of source and target, if any
    labels: tuple[str, ...]  # of the classes, if any


_BUILDERS: dict[str, Callable[[dict[str, Any]], nn.Module]] = {
    "Transformer": lambda c: Transformer(TransformerConfig(**c)),
    "MaskedTransformer": lambda c: MaskedTransformer(
        MaskedTransformerConfig(**c)
    ),
    "Seq2Seq": lambda c: Seq2Seq(**c),
    "AttentiveSeq2Seq": lambda c: AttentiveSeq2Seq(**c),
    "ViT": lambda c: ViT(ViTConfig(**c)),
}


def _describe(
    model: nn.Module, tokenizers: Sequence[Tokenizer], labels: Sequence[str]
) -> Metadata:
    """Return what it takes to build the model again.

    Raises:
        ValueError: The model is of a class that is not in the package.
    """
    name = type(model).__name__
    if name not in _BUILDERS:
        raise ValueError(
            f"model must be a {', '.join(_BUILDERS)}, got a {name}"
        )
    config: Any = model.config
    if is_dataclass(config) and not isinstance(config, type):
        config = asdict(config)
    unique = list(dict.fromkeys(tokenizers))
    return {
        "model": name,
        "config": json.dumps(config),
        "tokenizers": json.dumps([tokenizer_to_json(x) for x in unique]),
        "tokenizer_of": json.dumps([unique.index(x) for x in tokenizers]),
        "labels": json.dumps(list(labels), ensure_ascii=False),
    }


@torch.no_grad()
def copy_parameters(
    path: str | Path, model: nn.Module, tensors: Tensors
) -> None:
    """Fill the model; ValueError, and nothing filled, if any does not fit."""
    for name, parameter in model.named_parameters():
        found = tensors.get(f"model.{name}")
        if found is None or found.shape != parameter.shape:
            raise ValueError(
                f"{path}: wanted {name} of shape {tuple(parameter.shape)}, "
                f"got {'none' if found is None else tuple(found.shape)}"
            )
    for name, parameter in model.named_parameters():
        parameter.copy_(tensors[f"model.{name}"])


def save_model(
    path: str | Path,
    model: nn.Module,
    *,
    tokenizers: Sequence[Tokenizer] = (),
    labels: Sequence[str] = (),
    dtype: torch.dtype = torch.float32,
    extra: tuple[Tensors, Metadata] = ({}, {}),
) -> None:
    """Write a model with its configuration into one safetensors file.

    Args:
        path: The file.
        model: Any whole model of the package.
        tokenizers: Of source and target.
        labels: The names of the classes.
        dtype: Of the parameters in the file.
        extra: More tensors and metadata, for checkpoints of training.

    Raises:
        ValueError: The model is of a class that is not in the package.
        OSError: The file can't be written; an old one is left as it was.
    """
    tensors = {
        f"model.{name}": parameter.to(dtype)
        for name, parameter in model.named_parameters()
    }
    metadata = _describe(model, tokenizers, labels)
    write_tensors(path, tensors | extra[0], metadata | extra[1])


def load_model(path: str | Path) -> SavedModel:
    """Read what save_model wrote.

    Raises:
        ValueError: The file is no model of the package, altered, or its
            parameters do not fit its configuration.
    """
    tensors, metadata = read_tensors(path)
    try:
        name = metadata["model"]
        config = json.loads(metadata["config"])
        made = [
            tokenizer_from_json(text)
            for text in json.loads(metadata["tokenizers"])
        ]
        tokenizers = tuple(
            made[i] for i in json.loads(metadata["tokenizer_of"])
        )
        labels = tuple(str(label) for label in json.loads(metadata["labels"]))
    except KeyError as error:
        raise ValueError(f"{path}: has no {error}, so is no model") from None
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: is no model of ours: {error}") from None
    if name not in _BUILDERS:
        raise ValueError(
            f"{path}: wanted a {', '.join(_BUILDERS)}, got a {name}"
        )
    try:
        model = _BUILDERS[name](config)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: is no model of ours: {error}") from None
    copy_parameters(path, model, tensors)
    return SavedModel(model.eval(), tokenizers, labels)
