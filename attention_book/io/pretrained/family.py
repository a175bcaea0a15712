# Made from docs/source/pretrained-files.md (2f9e8660d3e3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
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
from attention_book.io.tensors import TensorFile, Tensors, check_tensors


__all__ = ["Family", "read_model"]


class Family(NamedTuple):
    """What is particular to one class of transformers.

    Attributes:
        architecture: Its name in config.json.
        model_class: The book's.
        build: Makes the book's model of the fields of its configuration and
            the number of labels.
        layout: Returns where the tensors of the file stand in a model.
        entries: For each entry of config.json, the book's field, and the
            default of transformers, or how it follows from other fields.
        fixed: Entries of which only one value can be expressed.
        fields: What the book's configuration must then be.
        written: Returns further entries to write, which are not read.
        renamed: Patterns of older names, and what replaces them.
        unused: Matches the names of tensors that need not be read.
        tied: For names that may repeat a tensor, the name that they repeat.
        has_labels: Whether the model has classes.
    """

    architecture: str
    model_class: type[nn.Module]
    build: Callable[[dict[str, Any], int], nn.Module]
    layout: Callable[[Any], Layout]
    entries: Mapping[str, tuple[str, Any]]
    fixed: Mapping[str, Any]
    fields: Mapping[str, Any]
    written: Callable[[Any], dict[str, Any]] = lambda config: {}
    renamed: Mapping[str, str] = {}
    unused: str = r"(?!)"
    tied: Mapping[str, str] = {}
    has_labels: bool = False


def _current_names(tensors: Tensors, family: Family) -> dict[str, str]:
    """Return what each tensor of a file that counts is called in the file.

    Raises:
        ValueError: Two names of one tensor.
    """
    names: dict[str, str] = {}
    for name in tensors:
        today = name
        for pattern, replacement in family.renamed.items():
            today = re.sub(pattern, replacement, today)
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
    names = _current_names(file.tensors, family)
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
