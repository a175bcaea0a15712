# Made from docs/source/cli.md (93ff5fc0e3b5). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Options of train that need not be said. Explained in "The command line"."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from typer import Context

from attention_book.io.tensors import open_tensors


__all__ = ["KEPT", "RECIPES", "recall", "take_recipe"]


# What a run is made of, and its file remembers.
KEPT = """corpus max_steps batch_tokens accumulation_steps learning_rate
warmup_steps schedule label_smoothing seed size d_model n_heads n_layers
n_decoder_layers dropout vocab_size both_directions""".split()

RECIPES: dict[str, dict[str, Any]] = {
    "everyday": {  # for the pairs of Tatoeba
        "both_directions": True,
        "vocab_size": 4000,
        "d_model": 256,
        "n_heads": 4,
        "n_layers": 6,
        "n_decoder_layers": 2,
        "dropout": 0.3,
        "label_smoothing": 0.1,
        "batch_tokens": 2000,
        "accumulation_steps": 2,  # so that two processes can share a step
        "learning_rate": 1.2e-3,
        "max_steps": 5500,
        "warmup_steps": 500,
    }
}


def take_recipe(context: Context, name: str | None) -> str | None:
    """Let what is not said be as in a recipe."""
    if name:  # options are read before the argument, and recall comes later
        context.default_map = RECIPES[name]
    return name


def recall(context: Context, out: Path) -> Path:
    """Let what is not said be as in the run that left this file."""
    with suppress(OSError, ValueError), open_tensors(out) as file:
        options = json.loads(file.metadata.get("options", "{}"))
        context.default_map = options | dict(context.default_map or {})
    return out
