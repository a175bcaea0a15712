# Made from docs/source/cli.md (713fc7818925). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Options of several commands. Explained on the page "The command line"."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from attention_book.compute import Precision


__all__ = ["BEAM_SIZE", "BeamSize", "DeviceName", "ModelFile", "PrecisionName"]


ModelFile = Annotated[
    Path,
    Option(help="A file made by train.", show_default="the book's own model"),
]
BEAM_SIZE = 4  # the default
BeamSize = Annotated[  # even small vocabularies have more than 100 tokens
    int,
    Option(help="Hypotheses to keep; 1 is greedy.", min=1, max=100),
]
DeviceName = Annotated[
    str, Option(help="auto, cpu, cuda, cuda:N or mps; auto: the best here.")
]
PrecisionName = Annotated[
    Literal["auto", Precision],
    Option(help="Precision to compute in; auto: what suits the device."),
]
