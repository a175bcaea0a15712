# Made from docs/source/pretrained-files.md (be7c264f00b9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
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

from attention_book.io.checkpoints import (
    TENSORS_A_LAYER,
    check_label,
    on_meta,
)
from attention_book.io.files import (
    prefix_errors,
    printable,
    read_json,
    read_small,
)
from attention_book.io.pretrained.bert import BERT_FAMILIES
from attention_book.io.pretrained.family import (
    READABLE,
    Family,
    from_hf_config,
    read_model,
    to_hf_config,
)
from attention_book.io.pretrained.gpt2 import GPT2
from attention_book.io.pretrained.layout import collect
from attention_book.io.pretrained.marian import MARIAN, MarianTransformer
from attention_book.io.pretrained.tokenizers import (
    MarianTokenizer,
    TextTokenizer,
)
from attention_book.io.pretrained.vit import VIT
from attention_book.io.tensors import open_tensors, write_tensors
from attention_book.models.vit import ViT
from attention_book.tokenizers.words import Tokenizer


__all__ = ["FAMILIES", "Pretrained", "from_pretrained", "save_pretrained"]


FAMILIES: dict[str, Family] = {
    family.architecture: family
    for family in (*BERT_FAMILIES, GPT2, MARIAN, VIT)
}


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
_OTHERS = {  # what may stand where the weights should
    "model.safetensors.index.json": "weights in several files",
    "pytorch_model.bin": "a pickle, which may run any code",
}
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


def _find_weights(folder: Path) -> Path:
    """Return the path of the weights; ValueError if they are a pickle."""
    path = folder / _WEIGHTS
    if not path.exists():
        for name, what in _OTHERS.items():
            if (folder / name).exists():
                raise ValueError(
                    f"{folder}: wanted {_WEIGHTS}, got only {name}: {what}"
                )
    return path


def _find_family(entries: Mapping[str, Any]) -> Family:
    """Return the family that config.json names; ValueError if none."""
    named = entries.get("architectures")
    name = named[0] if type(named) is list and len(named) == 1 else None
    if type(name) is not str or name not in FAMILIES:
        raise ValueError(
            f"wanted one of {', '.join(FAMILIES)}, got {printable(named, 100)}"
        )
    family = FAMILIES[name]
    if entries.get("model_type") != family.model_type:
        raise ValueError(
            f"wanted model_type {family.model_type!r} for {name}, got "
            f"{printable(repr(entries.get('model_type')), 60)}"
        )
    return family


def _read_labels(entries: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the classes, by default two."""
    labels = entries.get("id2label")
    if labels is None:
        labels = {"0": "LABEL_0", "1": "LABEL_1"}
    if type(labels) is not dict or labels.keys() != {
        str(i) for i in range(len(labels))
    }:
        raise ValueError(
            "wanted id2label to number its labels 0, 1, …, got "
            f"{printable(labels, 60)}"
        )
    for label in labels.values():
        check_label("labels", label)
    return tuple(labels[str(i)] for i in range(len(labels)))


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
        tokenizer = TextTokenizer(read_small(path).decode())
        if len(tokenizer) > model.config.vocab_size:
            raise ValueError(
                f"wanted at most {model.config.vocab_size} tokens, got "
                f"{len(tokenizer)}"
            )
    return (tokenizer,)


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
    entries = read_json(folder / "config.json")
    if "architecture" in entries:
        raise ValueError(
            f"{folder}: wanted a folder of transformers, got one of timm, "
            f"whose {_WEIGHTS} load_vit reads"
        )
    weights = _find_weights(folder)
    paths = [folder / name for name in _BESIDE]
    files = {path.name: read_small(path) for path in paths if path.exists()}
    generation = folder / "generation_config.json"
    if generation.exists():  # newer files have it there
        bad_words = read_json(generation).get("bad_words_ids")
        entries = {"bad_words_ids": bad_words, **entries}
    labels: tuple[str, ...] = ()
    with open_tensors(weights, READABLE) as file:
        max_layers = len(file.tensors) // TENSORS_A_LAYER
    with prefix_errors(folder / "config.json"):
        family = _find_family(entries)
        fields = from_hf_config(family, entries, max_layers)
        if family.has_labels:
            labels = _read_labels(entries)
            fields["n_labels"] = len(labels)
        model = on_meta(family.build, fields)
    with open_tensors(weights, READABLE) as file:
        model = read_model(file, model, family)
    return Pretrained(model, _read_tokenizers(folder, model), labels, files)


def _family_of(model: nn.Module) -> Family:
    """Return the class of transformers that does what a model does.

    Raises:
        ValueError: There is none.
    """
    for family in FAMILIES.values():
        if type(model) is family.model_class:
            return family
    known = ", ".join(x.model_class.__name__ for x in FAMILIES.values())
    raise ValueError(
        f"model must be one of {known}, got a {type(model).__name__}"
    )


def _label_entries(saved: Pretrained) -> dict[str, Any]:
    """Return what config.json says of the classes.

    Raises:
        ValueError: There is not one label for each class.
    """
    n_labels = getattr(saved.model.head, "out_features", 0)
    labels = saved.labels or tuple(f"LABEL_{i}" for i in range(n_labels))
    if len(labels) != n_labels or not labels:
        raise ValueError(f"labels must be {n_labels}, got {len(labels)}")
    return {
        "id2label": {str(i): label for i, label in enumerate(labels)},
        "label2id": {label: i for i, label in enumerate(labels)},
    }


def save_pretrained(folder: str | Path, saved: Pretrained) -> None:
    """Write a folder that from_pretrained of transformers reads.

    It is made beside its place and then renamed: either the whole folder is
    there, or nothing.

    Args:
        folder: Is made; what is there already is not touched.
        saved: The model, its labels, and the files to lie beside it.

    Raises:
        OSError: The folder exists already, or it can't be written.
        ValueError: No class of transformers does what the model does.
    """
    folder = Path(folder)
    family = _family_of(saved.model)
    entries = to_hf_config(family, saved.model.config)
    if family.has_labels:
        entries |= _label_entries(saved)
    if folder.exists():
        raise FileExistsError(f"{folder}: wanted a new folder, got an old one")
    part = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        tensors = collect(family.layout(saved.model))
        write_tensors(part / _WEIGHTS, tensors, {"format": "pt"})
        text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
        (part / "config.json").write_text(text, encoding="utf-8")
        for beside, data in saved.files.items():
            if beside in _BESIDE:
                (part / beside).write_bytes(data)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
