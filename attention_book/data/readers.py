# Made from docs/source/texts.md (a092d52d3008). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Files of sentence pairs. Explained on the page "Real corpora"."""

from pathlib import Path


__all__ = ["Pair", "read_tsv"]


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
