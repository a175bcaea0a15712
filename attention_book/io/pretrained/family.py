# Made from docs/source/pretrained-files.md (07a4dda2fcbe). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""What a class of transformers is called, says and holds, and its reader.

Explained on the page "Folders of pretrained models".
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from attention_book.io.files import printable
from attention_book.io.pretrained.layout import Layout, collect
from attention_book.io.tensors import (
    DTYPES,
    TensorFile,
    Tensors,
    check_tensors,
)


__all__ = [
    "READABLE",
    "Family",
    "current_names",
    "from_hf_config",
    "read_model",
    "to_hf_config",
]


class Family(NamedTuple):
    """What is particular to one class of transformers.

    Attributes:
        architecture: Its name in config.json.
        model_type: What config.json calls the kind of model.
        model_class: The book's.
        build: Makes the book's model of the fields of its configuration.
        entries: For each entry of config.json, the book's field, and the
            default of transformers, or how it follows from other fields.
        fixed: Entries of which only one value can be expressed.
        fields: What the book's configuration must then be.
        layout: Returns where the tensors of the file stand in a model.
        renamed: Patterns of older names, and what replaces them.
        unused: Matches the names of tensors that need not be read.
        tied: For names that may repeat a tensor, the name that they repeat.
        written: Returns further entries to write, which are not read.
        has_labels: Whether the model has classes.
    """

    architecture: str
    model_type: str
    model_class: type[nn.Module]
    build: Callable[[dict[str, Any]], nn.Module]
    entries: Mapping[str, tuple[str, Any]]
    fixed: Mapping[str, Any]
    fields: Mapping[str, Any]
    layout: Callable[[Any], Layout]
    renamed: Mapping[str, str] = {}
    unused: str = r"(?!)"
    tied: Mapping[str, str] = {}
    written: Callable[[Any], dict[str, Any]] = lambda config: {}
    has_labels: bool = False

    def current_name(self, name: str) -> str:
        """Return what a tensor is called today."""
        for pattern, replacement in self.renamed.items():
            name = re.sub(pattern, replacement, name)
        return name


_ACTIVATIONS = {  # what config.json calls it : what the book does
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "swish",
    "swish": "swish",
}
_MAX_SIZE = 2**20  # the largest number of anything


def _read_entry(name: str, got: Any, default: Any) -> Any:
    """Return an entry in the book's words; ValueError if it is none.

    Args:
        name: In config.json.
        got: What stands there.
        default: Says by its type what is wanted.
    """
    if isinstance(default, list):
        fits = type(got) is list and all(
            type(x) is list and len(x) == 1 and type(x[0]) is int for x in got
        )
        wanted = "of one id each"
    elif isinstance(default, str):
        fits = type(got) is str and got in _ACTIVATIONS
        wanted = f"to be one of {', '.join(_ACTIVATIONS)}"
    elif isinstance(default, bool):
        fits = type(got) is bool
        wanted = "to be true or false"
    else:
        is_count = isinstance(default, int)
        most = _MAX_SIZE if is_count else 1
        kinds = (int,) if is_count else (int, float)
        fits = type(got) in kinds and 0 <= got <= most
        wanted = f"from 0 to {most}"
    if not fits:
        raise ValueError(
            f"wanted {name} {wanted}, got {printable(repr(got), 60)}"
        )
    if isinstance(default, list):
        return tuple(token_id for (token_id,) in got)
    return _ACTIVATIONS[got] if isinstance(default, str) else got


def from_hf_config(
    family: Family, entries: Mapping[str, Any], max_layers: int
) -> dict[str, Any]:
    """Return the fields of the book's configuration, out of config.json.

    Args:
        family: Says which entry is which field.
        entries: Of config.json.
        max_layers: More than so many layers are not believed.

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
        if callable(default):
            default = default(fields)
        got = entries.get(name)
        if got is None:
            got = fields.get(field, default)
        got = _read_entry(name, got, default)
        if field == "n_layers" and got > max_layers:
            raise ValueError(
                f"wanted {name} of at most {max_layers}, as there are too "
                f"few tensors for more, got {got}"
            )
        if fields.setdefault(field, got) != got:
            raise ValueError(f"wanted {name} = {fields[field]!r}, got {got!r}")
    return fields


def to_hf_config(family: Family, config: Any) -> dict[str, Any]:
    """Return the entries of config.json, out of the book's configuration.

    Raises:
        ValueError: No such model of transformers does what this one does.
    """
    for field, value in family.fields.items():
        if (got := getattr(config, field)) != value:
            raise ValueError(
                f"a {family.architecture} has {field} = {value!r}, got {got!r}"
            )
    entries = dict(family.fixed)
    theirs = {ours: name for name, ours in reversed(_ACTIVATIONS.items())}
    for name, (field, default) in family.entries.items():
        got = getattr(config, field)
        if isinstance(default, str):
            entries[name] = theirs[got]
        elif isinstance(default, list):
            entries[name] = [[token_id] for token_id in got] or None
        else:
            entries[name] = got
    return {
        "architectures": [family.architecture],
        "model_type": family.model_type,
        **entries,
        **family.written(config),
    }


READABLE = {  # masks and positions are in some files, and are not read
    **DTYPES,
    "BOOL": torch.bool,
    "I64": torch.int64,
    "U8": torch.uint8,
}


def current_names(tensors: Tensors, family: Family) -> dict[str, str]:
    """Return what each tensor of a file that counts is called in the file.

    Args:
        tensors: Of the file, on meta.
        family: Says which names are older ones, and which do not count.

    Raises:
        ValueError: Two names of one tensor.
    """
    names: dict[str, str] = {}
    for name in tensors:
        today = family.current_name(name)
        if today in names:
            raise ValueError(
                f"wanted {printable(today, 100)} once, got it as "
                f"{printable(names[today], 100)} and {printable(name, 100)}"
            )
        if not re.fullmatch(family.unused, today):
            names[today] = name
    return names


def read_model(file: TensorFile, model: nn.Module, family: Family) -> Any:
    """Return a model with the numbers of a file, in fp32 and eval mode.

    Names and shapes are compared before there is memory for the model. The
    numbers are read one tensor at a time, each to where it belongs.

    Args:
        file: Just opened.
        model: On meta.
        family: Of the file.

    Raises:
        ValueError: The first tensor that is missing, unknown, or of another
            shape; numbers that are none.
    """
    names = current_names(file.tensors, family)
    wanted = collect(family.layout(model))
    tied = {x: y for x, y in family.tied.items() if x in names}
    wanted |= {name: wanted[other] for name, other in tied.items()}
    check_tensors({x: file.tensors[y] for x, y in names.items()}, wanted)
    model = model.to_empty(device="cpu").float()
    for parameter in model.parameters():
        nn.init.zeros_(parameter)  # what no file has: the book's <pad>
    layout = family.layout(model)
    for name, slot in layout.items():
        slot.copy_from(file.get_tensor(names[name]))
    for name, other in tied.items():
        tensor = file.get_tensor(names[name]).float()
        if not torch.equal(layout[other].join(), tensor):
            raise ValueError(
                f"wanted {name} tied to the embeddings, got other numbers"
            )
    return model.eval()
