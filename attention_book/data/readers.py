# Made from docs/source/texts.md (b9cb8fbf447a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Readers of sentence pairs. Explained on the page "Real corpora"."""

from pathlib import Path
from typing import Any


__all__ = ["Pair", "read_dataset", "read_tsv"]


Pair = tuple[str, str]  # source, target


def read_tsv(path: str | Path) -> list[Pair]:
    """Read a text file: on each line source, tab, target; more is ignored.

    Raises:
        ValueError: The file is not such a text; says where and what came.
    """
    if Path(path).exists() and not Path(path).is_file():
        raise OSError(f"{path}: wanted a file, got a folder, device or pipe")
    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:x} at {error.start}"
        raise ValueError(f"{path}: wanted UTF-8, got {byte}") from None
    pairs = []
    for number, line in enumerate(text.split("\n"), 1):
        parts = [part.strip() for part in line.split("\t")]
        if line.strip() and (len(parts) < 2 or not all(parts[:2])):
            raise ValueError(
                f"{path}:{number}: wanted source, tab, target, "
                f"got {line.strip()[:40]!r}"
            )
        if line.strip():
            pairs.append((parts[0], parts[1]))
    return pairs


def read_dataset(
    name: str, source: str = "en", target: str = "zh", split: str = "train"
) -> list[Pair]:
    """Read a data set of the Hugging Face library, which must be installed.

    Its rows hold both languages, or a `translation` that holds both. A colon
    in the name leads to one of its configurations:
    Helsinki-NLP/opus-100:en-zh.

    Raises:
        ImportError: The library is not installed.
        OSError: It can't be reached.
        ValueError: There is none of that name, or a row lacks one of the
            languages; says which row.
    """
    try:
        import datasets
    except ImportError:
        raise ImportError("run first: pip install datasets") from None
    folder = Path(name).exists()  # and no name, where a colon means more
    path, _, part = (name, "", "") if folder else name.partition(":")
    try:
        rows: Any = datasets.load_dataset(path, part or None, split=split)
    except datasets.exceptions.DatasetsError as error:
        raise ValueError(f"{name}: {error}") from None
    pairs = []
    for number, row in enumerate(rows):
        row = row.get("translation", row)
        pair = row.get(source), row.get(target)
        if not all(isinstance(text, str) for text in pair):
            raise ValueError(
                f"{name}: wanted texts {source} and {target} in row {number}, "
                f"got {str(row)[:40]}"
            )
        pairs.append(pair)
    return pairs
