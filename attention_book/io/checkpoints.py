# Made from docs/source/checkpoints.md (85e9e6acdbd9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Whole models in one file each, with tokenizers and labels.

Explained on the page "Files and checkpoints".
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from attention_book.io.files import printable
from attention_book.io.tensors import (
    TensorFile,
    Tensors,
    check_tensors,
    open_tensors,
    to_int8,
    write_tensors,
)
from attention_book.models.config import TransformerConfig, ViTConfig
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
)
from attention_book.models.seq2seq import AttentiveSeq2Seq, Seq2Seq
from attention_book.models.transformer import Transformer
from attention_book.models.vit import ViT
from attention_book.tokenizers.bpe import (
    tokenizer_from_json,
    tokenizer_to_json,
)
from attention_book.tokenizers.special_tokens import SPECIAL_TOKENS
from attention_book.tokenizers.words import Tokenizer, WordTokenizer


__all__ = [
    "TENSORS_A_LAYER",
    "SavedModel",
    "check_label",
    "config_to_dict",
    "load_model",
    "on_meta",
    "read_header",
    "save_model",
]


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


def config_to_dict(model: nn.Module) -> dict[str, Any]:
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


def _parameters(model: nn.Module) -> Tensors:
    """Return the parameters under the names that they have in a file."""
    return {f"model.{name}": p for name, p in model.named_parameters()}


_MAX_TEXT = 200  # characters of a word, or of the name of a class


def check_label(kind: str, text: object) -> None:
    """Raise ValueError unless a terminal may show this, and on one line."""
    size = len(text) if isinstance(text, str) and text.isprintable() else 0
    if not 0 < size <= _MAX_TEXT:
        raise ValueError(
            f"{kind} must be printable texts of at most {_MAX_TEXT} "
            f"characters, got {printable(repr(text), 60)}"
        )


def _check_parts(
    model: nn.Module, tokenizers: Sequence[Tokenizer], labels: Sequence[str]
) -> None:
    """Raise ValueError unless tokenizers and labels fit a model."""
    for tokenizer in tokenizers:
        if isinstance(tokenizer, WordTokenizer):
            for word in tokenizer.words:
                check_label("words", word)
            first = tuple(tokenizer.words[: len(SPECIAL_TOKENS)])
            differ = len(tokenizer.token_ids) == len(tokenizer)
            if first != SPECIAL_TOKENS or not differ:
                wanted = f"words must differ and begin with {SPECIAL_TOKENS}"
                raise ValueError(f"{wanted}, got {first}")
    for label in labels:
        check_label("labels", label)
    config = config_to_dict(model)
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


class _NoInit(TorchFunctionMode):
    """Draws no weights: on meta that imports PyTorch's compiler, in 0.6 s."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Do what is asked, but for normal_, which returns its tensor."""
        if function is nn.init.normal_:
            return kwargs["tensor"]
        return function(*args, **kwargs or {})


def on_meta(build: Callable[..., Any], *args: Any) -> Any:
    """Return build(*args), a model without numbers, which takes no memory."""
    with torch.device("meta"), _NoInit():
        return build(*args)


_MAX_SIZE = 2**20  # the largest number in a configuration
TENSORS_A_LAYER = 12  # at least, in any model


def _meta_model(name: str, config: Any, n_tensors: int) -> nn.Module:
    """Build a model on meta, no deeper than a file of so many tensors."""
    for key, value in config.items():
        if type(value) in (int, float) and not abs(value) <= _MAX_SIZE:
            raise ValueError(f"{key} must be at most {_MAX_SIZE}, got {value}")
    most = n_tensors // TENSORS_A_LAYER
    for key in ("n_layers", "n_decoder_layers"):
        if (config.get(key) or 0) > most:
            raise ValueError(
                f"{key} must be at most {most}, as there are {n_tensors} "
                f"tensors, got {config[key]}"
            )
    return on_meta(_build, name, config)


def _parse_list(text: str) -> list[Any]:
    """Return what a JSON text lists; ValueError if it lists nothing."""
    items = json.loads(text)
    if type(items) is not list:
        raise ValueError(f"wanted a list, got {printable(items, 60)}")
    return items


def read_header(file: TensorFile) -> SavedModel:
    """Return what the header of a file describes, with the model on meta.

    Raises:
        ValueError: The first thing of configuration, tokenizers, labels and
            shapes that does not fit the others.
    """
    tensors, metadata = file.tensors, file.metadata
    name = metadata.get("model", "")
    if name not in _CLASSES:
        raise ValueError(
            f"wanted a {', '.join(_CLASSES)}, got {name or 'no model'}"
        )
    if "losses" in tensors:  # a checkpoint has more, which is not looked at
        tensors = {k: x for k, x in tensors.items() if k.startswith("model.")}
    try:
        config = json.loads(metadata["config"])
        model = _meta_model(name, config, len(tensors))
        unique = map(tokenizer_from_json, _parse_list(metadata["tokenizers"]))
        made = list(unique)  # what both sides share, once
        owners = _parse_list(metadata["tokenizer_of"])
        tokenizers = tuple(made[i] for i in owners)
        labels = tuple(_parse_list(metadata["labels"]))
        _check_parts(model, tokenizers, labels)
    except KeyError:
        raise
    except Exception as error:
        raise ValueError(f"is no model of ours: {error}") from None
    check_tensors(tensors, _parameters(model))
    return SavedModel(model, tokenizers, labels)


def _check_layers(model: nn.Module) -> None:
    """Raise ValueError unless load_model would make the same layers."""
    name, config = type(model).__name__, config_to_dict(model)
    made = on_meta(_build, name, config)
    kinds = {name: type(layer) for name, layer in made.named_modules()}
    for name, layer in model.named_modules():
        if kinds.get(name) is not type(layer):
            raise ValueError(
                "model must have the layers of its configuration, which "
                f"load_model makes, got {type(layer).__name__} as {name!r}"
            )


def save_model(
    path: str | Path,
    model: nn.Module,
    *,
    tokenizers: Sequence[Tokenizer] = (),
    labels: Sequence[str] = (),
    dtype: torch.dtype = torch.float32,
    extra: tuple[Tensors, dict[str, str]] = ({}, {}),
) -> None:
    """Write a model with its configuration into one safetensors file.

    It asks for no lock, as whoever has the lock saves with it, too. Within
    `with lock(path):` a file that another process trains is left alone.

    Args:
        path: The file.
        model: Any whole model of the package.
        tokenizers: Of source and target.
        labels: The names of the classes.
        dtype: Of the parameters in the file; int8 for a quarter of the size,
            with matrices rounded to 255 steps a row.
        extra: More tensors and metadata, for checkpoints of training.

    Raises:
        ValueError: The model is of no class of the package, has layers that
            its configuration does not make, or tokenizers or labels are not
            of its sizes.
        OSError: The file can't be written; an old one is left as it was.
    """
    _check_parts(model, tokenizers, labels)
    _check_layers(model)
    unique = list(dict.fromkeys(tokenizers))  # both sides may share one
    metadata = {
        "model": type(model).__name__,
        "config": json.dumps(config_to_dict(model)),
        "tokenizers": json.dumps([tokenizer_to_json(x) for x in unique]),
        "tokenizer_of": json.dumps([unique.index(x) for x in tokenizers]),
        "labels": json.dumps(list(labels), ensure_ascii=False),
    }
    tensors = {k: x.detach() for k, x in _parameters(model).items()}
    if dtype == torch.int8:
        tensors = to_int8(tensors)
    else:
        tensors = {k: x.to(dtype) for k, x in tensors.items()}
    write_tensors(path, tensors | extra[0], metadata | extra[1])


def load_model(path: str | Path) -> SavedModel:
    """Read a file of save_model, or a checkpoint.

    All that the header says is compared before there is memory for a model.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: The file is no model of the package, or its parts do not
            fit each other.
    """
    with open_tensors(path) as file:
        header = read_header(file)
        model = _build(
            type(header.model).__name__, config_to_dict(header.model)
        )
        with torch.no_grad():
            for name, parameter in _parameters(model).items():
                parameter.copy_(file.get_tensor(name))
    return header._replace(model=model.eval())
