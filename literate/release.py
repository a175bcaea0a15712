"""See that all that names the version names one, and print what the changelog says of it.

python -m literate.release             package, changelog and citation agree
python -m literate.release v0.1.0      so does the tag, and the changelog has a date
python -m literate.release --notes     what is new in this version

It needs nothing but Python, so that a release which cannot be stops before anything is built.
"""

import re
import sys
from pathlib import Path

from literate import ROOT


HEAD = r"^## (\S+) \((.+)\)$"
DATE = r"\d{4}-\d\d-\d\d"


def version(root: Path = ROOT) -> str:
    """The version that the package gives itself."""
    return _first(r'^__version__ = "(.+)"$', root / "attention_book/__init__.py")


def disagreements(tag: str = "", root: Path = ROOT) -> list[str]:
    """Each place that does not agree with the package on the version."""
    package = version(root)
    changelog, citation = root / "CHANGELOG.md", root / "CITATION.cff"
    date = _first(HEAD, changelog, 2)
    released = date if re.fullmatch(DATE, date) else "none"
    checks = [
        ("CHANGELOG.md, at the top", package, _first(HEAD, changelog)),
        ("CITATION.cff, version", package, _first("^version: (.+)$", citation)),
        ("CITATION.cff, date-released", released, _first("^date-released: (.+)$", citation)),
    ]
    if tag:
        checks.append(("the tag", f"v{package}", tag))
        wanted = date if released == date else "the day of the release"
        checks.append(("CHANGELOG.md, at the top", wanted, date))
    return [f"{place}: want {wanted}, got {got}" for place, wanted, got in checks if wanted != got]


def notes(root: Path = ROOT) -> str:
    """What the changelog says of the newest version."""
    return re.split(HEAD, (root / "CHANGELOG.md").read_text("utf-8"), flags=re.M)[3].strip()


def _first(pattern: str, file: Path, group: int = 1) -> str:
    found = re.search(pattern, file.read_text("utf-8"), re.M)
    return found[group] if found else "none"


def main(argument: str = "") -> int:
    if argument == "--notes":
        print(notes())
        return 0
    found = disagreements(argument)
    for line in found:
        print(line, file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
