# Made from docs/source/pretrained-files.md (6c063b3a1c79). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_book.io.tensor_files import (
    FAULTS,
    check_regular,
    one_line,
    parse_json,
)


__all__ = ["Settings", "read_json", "read_small"]


_MAX_BYTES = 2**25  # of a file beside the weights
_MAX_SIZE = 2**20  # the largest number of anything
_MAX_TEXT = 200  # characters of a label


def read_small(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It is too large.
    """
    check_regular(path)
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(
            f"{path}: wanted at most {_MAX_BYTES} bytes, got more"
        )
    return data


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file holds.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It holds none.
    """
    try:
        found = parse_json(read_small(path).decode())
    except FAULTS as error:
        why = one_line(error)
        raise ValueError(f"{path}: wanted JSON, got {why}") from None
    if type(found) is not dict:
        raise ValueError(
            f"{path}: wanted an object of JSON, got {one_line(found, 60)}"
        )
    return found


class Settings:
    """What config.json says; each entry is checked when it is asked for.

    Args:
        entries: The object.
        max_layers: More than so many layers are not believed.
    """

    def __init__(
        self, entries: Mapping[str, Any], max_layers: int = 1000
    ) -> None:
        self.entries = entries
        self.max_layers = max_layers

    def count(self, name: str, default: int | None = None) -> int:
        """Return a whole number; ValueError if it is none, or too large."""
        got = self.entries.get(name)
        got = default if got is None else got
        if type(got) is not int or not 0 <= got <= _MAX_SIZE:
            raise ValueError(
                f"wanted {name} from 0 to {_MAX_SIZE}, got "
                f"{one_line(repr(got), 60)}"
            )
        return got

    def layers(self, name: str, default: int) -> int:
        """Return how many layers; ValueError if the file can't have them."""
        got = self.count(name, default)
        if got > self.max_layers:
            raise ValueError(
                f"wanted {name} of at most {self.max_layers}, as there are "
                f"too few tensors for more, got {got}"
            )
        return got

    def number(self, name: str, default: float) -> float:
        """Return a number of at most 1; ValueError if it is none."""
        got = self.entries.get(name)
        got = default if got is None else got
        if type(got) not in (int, float) or not 0 <= got <= 1:
            raise ValueError(
                f"wanted {name} from 0 to 1, got {one_line(repr(got), 60)}"
            )
        return float(got)

    def demand(self, **wanted: object) -> None:
        """Raise ValueError unless entries are so, or absent."""
        for name, value in wanted.items():
            got = self.entries.get(name, value)
            if got != value or type(got) is not type(value):
                raise ValueError(
                    f"wanted {name} = {value!r}, got {one_line(repr(got), 60)}"
                )

    def lookup(self, name: str, table: Mapping[str, str], default: str) -> str:
        """Return the book's word for an entry; ValueError if it has none."""
        got = self.entries.get(name, default)
        if type(got) is not str or got not in table:
            raise ValueError(
                f"wanted {name} to be one of {', '.join(table)}, got "
                f"{one_line(repr(got), 60)}"
            )
        return table[got]

    def labels(self) -> tuple[str, ...]:
        """Return the names of the classes, by default two."""
        found = self.entries.get("id2label")
        if found is None:
            found = {"0": "LABEL_0", "1": "LABEL_1"}
        numbers = [str(i) for i in range(len(found))]
        if type(found) is not dict or set(found) != set(numbers):
            raise ValueError(
                "wanted id2label to number its labels 0, 1, …, got "
                f"{one_line(found, 60)}"
            )
        for label in found.values():
            is_text = type(label) is str and label.isprintable()
            if not is_text or not 0 < len(label) <= _MAX_TEXT:
                raise ValueError(
                    "wanted labels to be printable texts of at most "
                    f"{_MAX_TEXT} characters, got "
                    f"{one_line(repr(label), 60)}"
                )
        return tuple(found[number] for number in numbers)
