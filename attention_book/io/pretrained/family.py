# Made from docs/source/pretrained-files.md (d75a0855d363). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torch import nn

from attention_book.io.pretrained.layout import Layout
from attention_book.io.pretrained.settings import Settings


__all__ = ["Family"]


class Family(NamedTuple):
    """What is particular to one class of transformers.

    Attributes:
        model_type: What config.json calls it.
        build: Makes the book's model of what config.json says.
        describe: Returns config.json of a model, but for the labels.
        layout: Returns where the tensors of the file stand in a model.
        model_class: The book's.
        renamed: Patterns of older names, and what replaces them.
        unused: Matches the names of tensors that need not be read.
        twins: For names that may repeat a tensor, the name that they repeat.
    """

    model_type: str
    build: Callable[[Settings], nn.Module]
    describe: Callable[[Any], dict[str, Any]]
    layout: Callable[[Any], Layout]
    model_class: type[nn.Module]
    renamed: Mapping[str, str] = {}
    unused: str = r"(?!)"
    twins: Mapping[str, str] = {}

    def name(self, found: str) -> str:
        """Return what a tensor is called today."""
        for pattern, replacement in self.renamed.items():
            found = re.sub(pattern, replacement, found)
        return found
