# Made from docs/source/pretrained-files.md (6a5d5ed1d927). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Folders of transformers, read and written.

Explained on the page "Folders of pretrained models".
"""

import json
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from attention_book.io.checkpoints import check_label, on_meta
from attention_book.io.files import (
    prefix_errors,
    printable,
    read_json,
    read_small,
)
from attention_book.io.pretrained.bert import BERT_FAMILIES
from attention_book.io.pretrained.family import Family, read_model
from attention_book.io.pretrained.gpt2 import GPT2
from attention_book.io.pretrained.layout import collect
from attention_book.io.pretrained.marian import MARIAN, MarianTransformer
from attention_book.io.pretrained.tokenizers import (
    MarianTokenizer,
    TextTokenizer,
)
from attention_book.io.pretrained.vit import VIT_FAMILIES
from attention_book.io.tensors import open_tensors, write_tensors
from attention_book.models.vit import ViT
from attention_book.tokenizers.words import Tokenizer


__all__ = ["Pretrained", "from_pretrained", "save_pretrained"]


_FAMILIES = (*BERT_FAMILIES, GPT2, MARIAN, *VIT_FAMILIES)
_ACTIVATIONS = {  # what config.json calls it : what the book does
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
_MAX_SIZE = 2**20  # the largest number of anything
_MAX_LAYERS = 2**8


def _find_family(entries: Mapping[str, Any]) -> Family:
    """Return the family that config.json names; ValueError if none."""
    named = entries.get("architectures")
    for family in _FAMILIES:
        if named == [family.architecture]:
            return family
    known = ", ".join(family.architecture for family in _FAMILIES)
    raise ValueError(
        f"wanted architectures to be one of {known}, got "
        f"{printable(named, 100)}"
    )


def _read_config(family: Family, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the book's configuration, out of config.json.

    Raises:
        ValueError: An entry is none, or what the book can't express.
    """
    for name, value in family.fixed.items():
        got = entries.get(name, value)
        if got != value or type(got) is not type(value):
            raise ValueError(
                f"wanted {name} = {value!r}, got {printable(repr(got), 60)}"
            )
    fields = dict(family.fields)
    for name, (field, default) in family.entries.items():
        default = default(fields) if callable(default) else default
        got = entries.get(name)
        if got is None:
            fields.setdefault(field, _ACTIVATIONS.get(default, default))
            continue
        if type(got) not in (int, type(default)):
            raise ValueError(
                f"wanted {name} like {default!r}, got "
                f"{printable(repr(got), 60)}"
            )
        most = _MAX_LAYERS if field == "n_layers" else _MAX_SIZE
        if type(got) in (int, float) and not 0 <= got <= most:
            raise ValueError(f"wanted {name} from 0 to {most}, got {got}")
        got = _ACTIVATIONS.get(got, got)
        if fields.setdefault(field, got) != got:
            raise ValueError(f"wanted {name} = {fields[field]!r}, got {got!r}")
    return fields


def _write_config(family: Family, config: Any) -> dict[str, Any]:
    """Return the entries of config.json, out of the book's configuration.

    Raises:
        ValueError: No such model of transformers does what this one does.
    """
    for field, value in family.fields.items():
        if (got := getattr(config, field)) != value:
            raise ValueError(
                f"a {family.architecture} has {field} = {value!r}, got {got!r}"
            )
    theirs = {ours: name for name, ours in reversed(_ACTIVATIONS.items())}
    entries = {"architectures": [family.architecture], **family.fixed}
    for name, (field, _) in family.entries.items():
        got = getattr(config, field)
        entries[name] = theirs.get(got, got)
    return entries | family.written(config)


def _read_labels(entries: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the classes, by default two."""
    labels = entries.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
    if type(labels) is not dict:
        raise ValueError(f"wanted id2label like {{'0': …}}, got {labels!r}")
    found = tuple(labels[str(i)] for i in range(len(labels)))
    for label in found:
        check_label("labels", label)
    return found


class Pretrained(NamedTuple):
    """What a folder of transformers holds.

    Attributes:
        model: Of the book, in eval mode and fp32.
        tokenizers: Of source and target, or the only one, or none.
        labels: Of the classes, if any.
        files: What lies beside the weights, to be written again.
    """

    model: Any
    tokenizers: tuple[Tokenizer, ...] = ()
    labels: tuple[str, ...] = ()
    files: Mapping[str, bytes] = {}


_WEIGHTS = "model.safetensors"
_BESIDE = (
    "generation_config.json",
    "preprocessor_config.json",
    "source.spm",
    "special_tokens_map.json",
    "target.spm",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
)


def _read_tokenizers(folder: Path, model: Any) -> tuple[Tokenizer, ...]:
    """Return the tokenizers of a folder, if it has any that is known.

    Raises:
        OSError: One of Marian's three files is missing.
        ValueError: A file is of no tokenizer, or does not fit the model.
    """
    if isinstance(model, MarianTransformer):
        if not (folder / "vocab.json").exists():
            return ()
        sides = ("source", "target")
        return tuple(MarianTokenizer(folder, x, model.config) for x in sides)
    path = folder / "tokenizer.json"
    if isinstance(model, ViT) or not path.exists():
        return ()
    with prefix_errors(path):
        return (TextTokenizer(read_small(path).decode()),)


def from_pretrained(folder: str | Path) -> Pretrained:
    """Read a model that transformers has saved in a folder.

    Only safetensors is read, never a pickle. All that the header and
    config.json say is compared before there is memory for a model, whose
    parameters are fp32 whatever the file has.

    Args:
        folder: With config.json and model.safetensors, as save_pretrained
            of transformers writes them, or as the hub has them.

    Raises:
        OSError: There is no such folder or file, or it can't be read.
        ValueError: What is missing, unknown, or not expressed by the book's
            models; one line that names it.
        ImportError: The library of its tokenizer is not installed.
    """
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(
            f"{folder}: wanted a folder with config.json, not a hub's name"
        )
    entries = read_json(folder / "config.json")
    if not (folder / _WEIGHTS).exists():
        raise FileNotFoundError(
            f"{folder}: wanted {_WEIGHTS}; neither a pickle nor weights in "
            "several files are read"
        )
    paths = [folder / name for name in _BESIDE]
    files = {path.name: read_small(path) for path in paths if path.exists()}
    with prefix_errors(folder / "config.json"):
        family = _find_family(entries)
        fields = _read_config(family, entries)
        labels = _read_labels(entries) if family.has_labels else ()
        model = on_meta(family.build, fields, len(labels))
    with open_tensors(folder / _WEIGHTS) as file:
        model = read_model(file, model, family)
    return Pretrained(model, _read_tokenizers(folder, model), labels, files)


def _family_of(model: nn.Module, has_labels: bool) -> Family:
    """Return the class of transformers that does what a model does.

    Raises:
        ValueError: There is none.
    """
    for family in _FAMILIES:
        is_class = type(model) is family.model_class
        if is_class and has_labels == family.has_labels:
            return family
    known = ", ".join({x.model_class.__name__: 0 for x in _FAMILIES})
    raise ValueError(
        f"model must be one of {known}, got a {type(model).__name__}"
    )


def save_pretrained(folder: str | Path, saved: Pretrained) -> None:
    """Write a folder that from_pretrained of transformers reads.

    It is made beside its place and then renamed: either the whole folder is
    there, or nothing.

    Args:
        folder: Is made; what is there already is not touched.
        saved: The model, its labels, and the files to lie beside it.

    Raises:
        OSError: The folder exists already, or it can't be written.
        ValueError: No class of transformers does what the model does, or
            there is not one label for each class.
    """
    folder = Path(folder)
    head = getattr(saved.model, "head", None)
    n_labels = getattr(head, "out_features", 0)
    family = _family_of(saved.model, n_labels > 0)
    entries = _write_config(family, saved.model.config)
    labels = saved.labels or [f"LABEL_{i}" for i in range(n_labels)]
    if len(labels) != n_labels:
        raise ValueError(f"labels must be {n_labels}, got {len(labels)}")
    if n_labels:
        entries["id2label"] = dict(enumerate(labels))
        entries["label2id"] = {label: i for i, label in enumerate(labels)}
    if folder.exists():
        raise FileExistsError(f"{folder}: wanted a new folder, got an old one")
    part = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        for beside, data in saved.files.items():
            (part / beside).write_bytes(data)
        tensors = collect(family.layout(saved.model))
        write_tensors(part / _WEIGHTS, tensors, {"format": "pt"})
        text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
        (part / "config.json").write_text(text, encoding="utf-8")
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
