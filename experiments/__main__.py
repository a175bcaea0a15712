"""Run the experiments, or those that are named: nox -s experiments -- robust …

Each leaves a record, and the tables of the pages that show it are rewritten.
"""

import argparse
import sys
from pathlib import Path

from experiments import record
from literate import ROOT
from literate.blocks import ChapterError
from literate.records import rewrite


def chosen(words: list[str], root: Path) -> dict[str, Path]:
    """The experiments that the words begin, such as robust or robust-typos."""
    found = record.find(root)
    if not words:
        return found
    picked: dict[str, Path] = {}
    for word in words:
        start = word.replace("_", "-").removesuffix(".py")
        fit = [name for name in found if f"{name}-".startswith(f"{start}-")]
        if not fit:
            raise record.ExperimentError(
                f"no experiment is called {word}; there are: "
                + ", ".join(found)
            )
        picked |= {name: found[name] for name in fit}
    return picked


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(
        prog="nox -s experiments --",
        description=(__doc__ or "").split("\n")[0],
    )
    parser.add_argument(
        "names", nargs="*", help="robust, or robust-typos; all"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--tables",
        action="store_true",
        help="run nothing: remake tables from what was recorded",
    )
    how.add_argument(
        "--one", action="store_true", help="run the first seed, write nothing"
    )
    asked = parser.parse_args(argv)
    try:
        for name, path in chosen(asked.names, root).items():
            if asked.one:
                module = record.load(path)
                print(name, module.run(next(iter(module.SEEDS))))
                continue
            if asked.tables:
                written = record.remake_tables(name, path, root)
            else:
                written = record.perform(name, path, root, tell)
            print(f"wrote {written.relative_to(root).as_posix()}")
            for page in rewrite(name, root):
                print(f"wrote {page.as_posix()}")
    except (ChapterError, record.ExperimentError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
