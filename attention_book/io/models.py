# Made from docs/source/checkpoints.md (656ca23dc72b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from attention_book.io.files import read_signed, write_tensors
from attention_book.io.tensor_files import (
    FAULTS,
    Metadata,
    Tensors,
    check_tensors,
    one_line,
    open_tensors,
    parse_json,
)
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
)
from attention_book.models.seq2seq import AttentiveSeq2Seq, Seq2Seq
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.models.vit import ViT, ViTConfig
from attention_book.tokenizers.bpe import (
    tokenizer_from_json,
    tokenizer_to_json,
)
from attention_book.tokenizers.special_tokens import SPECIAL_TOKENS
from attention_book.tokenizers.words import Tokenizer, WordTokenizer


__all__ = [
    "SavedModel",
    "check_promise",
    "load_model",
    "meta_model",
    "save_model",
]


_MAX_TEXT = 200  # characters of a word, or of the name of a class


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


def _check_text(kind: str, text: object) -> None:
    """Raise ValueError unless a terminal may show this, and on one line."""
    size = len(text) if isinstance(text, str) and text.isprintable() else 0
    if not 0 < size <= _MAX_TEXT:
        raise ValueError(
            f"{kind} must be printable texts of at most {_MAX_TEXT} "
            f"characters, got {one_line(repr(text), 60)}"
        )


def _check_parts(
    model: nn.Module, tokenizers: Sequence[Tokenizer], labels: Sequence[str]
) -> None:
    """Raise ValueError unless tokenizers and labels fit a model."""
    for tokenizer in tokenizers:
        if isinstance(tokenizer, WordTokenizer):
            for word in tokenizer.words:
                _check_text("words", word)
            if len(tokenizer.token_ids) < len(tokenizer):
                raise ValueError("words must differ, got one twice")
            first = tuple(tokenizer.words[: len(SPECIAL_TOKENS)])
            if first != SPECIAL_TOKENS:
                raise ValueError(
                    f"words must begin with {SPECIAL_TOKENS}, got {first}"
                )
    for label in labels:
        _check_text("labels", label)
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


def _model_tensors(model: nn.Module) -> Tensors:
    """Return the parameters under the names that they have in a file."""
    return {f"model.{name}": p for name, p in model.named_parameters()}


def _progress_tensors(model: nn.Module, steps: int) -> tuple[Tensors, ...]:
    """Return, on meta, what checkpoints add: optimiser, losses, scale."""
    like = partial(torch.empty, device="meta")
    optimizer = {}
    for name, parameter in model.named_parameters():
        optimizer[f"optimizer.{name}.step"] = like(())
        for kind in ("exp_avg", "exp_avg_sq"):
            optimizer[f"optimizer.{name}.{kind}"] = parameter
    losses = {"losses": like(steps, dtype=torch.float64)}
    scale = {"scale": like(2, dtype=torch.float64)}
    return optimizer, losses, scale


_MAX_SIZE = 2**20  # the largest number in a configuration
_TENSORS_A_LAYER = 12  # at least, in any model of the package


class _NoInit(TorchFunctionMode):
    """Draws no weights: on meta that imports all of PyTorch's compiler."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Do what is asked, but for normal_, which returns its tensor."""
        if function is nn.init.normal_:
            return kwargs["tensor"]
        return function(*args, **kwargs or {})


def meta_model(name: str, config: Any, n_tensors: int) -> nn.Module:
    """Build a model on meta, no deeper than a file of so many tensors.

    Raises:
        ValueError: A number of the configuration is out of bounds.
    """
    for key, value in config.items():
        where = f"{one_line(key, 100)!r}"
        if type(value) in (int, float) and not abs(value) <= _MAX_SIZE:
            raise ValueError(
                f"{where} must be at most {_MAX_SIZE}, got {value}"
            )
        if (type(value) is bool) != (key == "share_embeddings"):
            raise ValueError(f"{where} must be of another type, got {value!r}")
    most = n_tensors // _TENSORS_A_LAYER
    if config.get("n_layers", 0) > most:
        raise ValueError(
            f"n_layers must be at most {most}, as there are {n_tensors} "
            f"tensors, got {config['n_layers']}"
        )
    with torch.device("meta"), _NoInit():
        return _build(name, config)


def _parse_list(text: str) -> list[Any]:
    """Return what a JSON text lists; ValueError if it lists nothing."""
    found = parse_json(text)
    if type(found) is not list:
        raise ValueError(f"wanted a list, got {one_line(found, 60)}")
    return found


def _load_tokenizers(metadata: Metadata) -> tuple[Tokenizer, ...]:
    """Return the tokenizers of a file; what both sides share is made once."""
    made = []
    for text in _parse_list(metadata["tokenizers"]):
        saved = parse_json(text)
        if "subwords" in saved:
            parse_json(saved["subwords"])
        made.append(tokenizer_from_json(text))
    return tuple(made[x] for x in _parse_list(metadata["tokenizer_of"]))


class _Promise(NamedTuple):
    """What a file says that it holds, found to fit together."""

    name: str
    config: dict[str, Any]
    tokenizers: tuple[Tokenizer, ...]
    labels: tuple[str, ...]


def check_promise(promised: Tensors, metadata: Metadata) -> _Promise:
    """Compare configuration, tokenizers, labels and tensors of a file.

    Args:
        promised: The tensors; their numbers are not looked at.
        metadata: The texts.

    Raises:
        ValueError: The first thing that does not fit.
    """
    name = metadata.get("model", "")
    if name not in _CLASSES:
        raise ValueError(
            f"wanted a {', '.join(_CLASSES)}, got {name or 'no model'}"
        )
    try:
        config = parse_json(metadata["config"])
        tokenizers = _load_tokenizers(metadata)
        labels = tuple(_parse_list(metadata["labels"]))
        model = meta_model(name, config, len(promised))
        _check_parts(model, tokenizers, labels)
    except KeyError as error:
        raise ValueError(f"has no {error}, so is no model") from None
    except FAULTS as error:
        raise ValueError(f"is no model of ours: {error}") from None
    steps = promised["losses"].numel() if "losses" in promised else 0
    progress = _progress_tensors(model, steps)
    check_tensors(promised, _model_tensors(model), *progress)
    return _Promise(name, config, tokenizers, labels)


@torch.no_grad()
def _copy_parameters(model: nn.Module, tensors: Tensors) -> None:
    """Fill a model with tensors that were found to fit."""
    for name, parameter in _model_tensors(model).items():
        parameter.copy_(tensors[name])


def _check_layers(model: nn.Module) -> None:
    """Raise ValueError unless load_model would make the same layers."""
    with torch.device("meta"), _NoInit():
        made = _build(type(model).__name__, _config_to_dict(model))
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
    extra: tuple[Tensors, Metadata] = ({}, {}),
) -> None:
    """Write a model with its configuration into one safetensors file.

    It asks for no lock, as whoever has the lock saves with it, too. Within
    `with lock(path):` a file that another process trains is left alone.

    Args:
        path: The file.
        model: Any whole model of the package.
        tokenizers: Of source and target.
        labels: The names of the classes.
        dtype: Of the parameters in the file.
        extra: More tensors and metadata, for checkpoints of training.

    Raises:
        ValueError: The model is of no class of the package, has layers that
            its configuration does not make, or tokenizers or labels are not
            of its sizes.
        OSError: The file can't be written; an old one is left as it was.
    """
    _check_parts(model, tokenizers, labels)
    _check_layers(model)
    named = _model_tensors(model).items()
    tensors = {name: parameter.to(dtype) for name, parameter in named}
    unique = list(dict.fromkeys(tokenizers))  # both sides may share one
    metadata = {
        "model": type(model).__name__,
        "config": json.dumps(_config_to_dict(model)),
        "tokenizers": json.dumps([tokenizer_to_json(x) for x in unique]),
        "tokenizer_of": json.dumps([unique.index(x) for x in tokenizers]),
        "labels": json.dumps(list(labels), ensure_ascii=False),
    }
    tensors |= extra[0]
    metadata |= extra[1]
    check_promise(tensors, metadata)  # what none could load is not saved
    write_tensors(path, tensors, metadata)


def load_model(path: str | Path) -> SavedModel:
    """Read a file of save_model, or a checkpoint.

    All that the header says is compared before there is memory for a model.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: The file is no model of the package, altered, or its
            parts do not fit each other.
    """
    with open_tensors(path) as file:
        promise = check_promise(file.tensors, file.metadata)
        tensors = read_signed(file)
        model = _build(promise.name, promise.config)
        _copy_parameters(model, tensors)
    return SavedModel(model.eval(), promise.tokenizers, promise.labels)
