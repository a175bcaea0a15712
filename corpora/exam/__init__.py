"""Sentences that translators are examined on, and how one of them did.

Nothing is trained on or chosen by them; README.md says how translations are
judged.
"""

import csv
from pathlib import Path


__all__ = ["VERDICTS", "read_exam", "read_rows"]


VERDICTS = Path(__file__).with_name("verdicts.tsv")


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read a table of tab-separated columns."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, dialect="excel-tab"))


def read_exam(name: str = "everyday") -> list[dict[str, str]]:
    """Read a part of the exam, everyday or outside.

    A row has kind, english, english_2, chinese and chinese_2.
    """
    return read_rows(Path(__file__).with_name(f"{name}.tsv"))
