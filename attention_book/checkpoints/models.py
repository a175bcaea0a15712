# Made from docs/chapters/34-checkpoints.md (123edebb55b6). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

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

    model: Any  # of the class that was saved, in eval mode
    tokenizers: tuple[Tokenizer, ...]  # of source and target, if any
    labels: tuple[str, ...]  # of the classes, if any


# The whole models and what configures them; None: plain keyword arguments.
_CONFIGS: dict[type[nn.Module], type | None] = {
    Transformer: TransformerConfig,
    MaskedTransformer: MaskedTransformerConfig,
    Seq2Seq: None,
    AttentiveSeq2Seq: None,
    ViT: ViTConfig,
}
_CLASSES = {model_class.__name__: model_class for model_class in _CONFIGS}


def _build(name: str, config: dict[str, Any]) -> nn.Module:
    """Return a new model of the class of this name."""
    model_class = _CLASSES[name]
    config_class = _CONFIGS[model_class]
    if config_class is None:
        return model_class(**config)
    return model_class(config_class(**config))


def _config_to_dict(model: nn.Module) -> dict[str, Any]:
    """Return a model's configuration, of either kind.

    Raises:
        ValueError: The model is of no class of the package.
    """
    if type(model) not in _CONFIGS:
        raise ValueError(
            f"model must be a {', '.join(_CLASSES)}, "
            f"got a {type(model).__name__}"
        )
    config: Any = model.config
    return dict(config) if isinstance(config, dict) else asdict(config)


def _check_sizes(
    model: nn.Module, tokenizers: Sequence[Tokenizer], labels: Sequence[str]
) -> None:
    """Raise ValueError unless tokenizers and labels are of a model's sizes."""
    config = _config_to_dict(model)
    names = ("source_vocab_size", "target_vocab_size")
    sizes = [config[name] for name in names if name in config]
    if isinstance(model, MaskedTransformer):
        sizes[1] -= 1  # <mask> is no token of the tokenizer's
    got = [len(tokenizer) for tokenizer in tokenizers]
    if got and got != sizes:
        raise ValueError(
            f"tokenizers must have vocabularies of {sizes}, got {got}"
        )
    n_classes = config.get("n_classes", 0)
    if labels and len(labels) != n_classes:
        raise ValueError(f"labels must be {n_classes}, got {len(labels)}")


def _find(
    path: str | Path, tensors: Tensors, name: str, shape: torch.Size
) -> Tensor:
    """Return a tensor; ValueError unless it is there, of this shape."""
    found = tensors.get(name)
    if found is None or found.shape != shape:
        got = "none" if found is None else tuple(found.shape)
        raise ValueError(
            f"{path}: wanted {name} of shape {tuple(shape)}, got {got}"
        )
    return found


@torch.no_grad()
def _copy_parameters(
    path: str | Path, model: nn.Module, tensors: Tensors
) -> None:
    """Fill the model; ValueError, and nothing filled, if any does not fit."""
    pairs = [
        (parameter, _find(path, tensors, f"model.{name}", parameter.shape))
        for name, parameter in model.named_parameters()
    ]
    for parameter, found in pairs:
        parameter.copy_(found)


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
        ValueError: The model is of no class of the package, or tokenizers
            or labels are not of its sizes.
        OSError: The file can't be written; an old one is left as it was.
    """
    _check_sizes(model, tokenizers, labels)
    tensors = {
        f"model.{name}": parameter.to(dtype)
        for name, parameter in model.named_parameters()
    }
    unique = list(dict.fromkeys(tokenizers))  # both sides may share one
    metadata = {
        "model": type(model).__name__,
        "config": json.dumps(_config_to_dict(model)),
        "tokenizers": json.dumps([tokenizer_to_json(x) for x in unique]),
        "tokenizer_of": json.dumps([unique.index(x) for x in tokenizers]),
        "labels": json.dumps(list(labels), ensure_ascii=False),
    }
    write_tensors(path, tensors | extra[0], metadata | extra[1])


def load_model(path: str | Path) -> SavedModel:
    """Read a file of save_model, or a checkpoint.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: The file is no model of the package, altered, or its
            parts do not fit each other.
    """
    tensors, metadata = read_tensors(path)
    name = metadata.get("model", "")
    if name not in _CLASSES:
        raise ValueError(
            f"{path}: wanted a {', '.join(_CLASSES)}, got {name or 'no model'}"
        )
    try:
        texts = json.loads(metadata["tokenizers"])
        made = [tokenizer_from_json(text) for text in texts]
        owners = json.loads(metadata["tokenizer_of"])
        tokenizers = tuple(made[owner] for owner in owners)
        labels = tuple(str(label) for label in json.loads(metadata["labels"]))
        model = _build(name, json.loads(metadata["config"]))
        _check_sizes(model, tokenizers, labels)
    except KeyError as error:
        raise ValueError(f"{path}: has no {error}, so is no model") from None
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: is no model of ours: {error}") from None
    _copy_parameters(path, model, tensors)
    return SavedModel(model.eval(), tokenizers, labels)
