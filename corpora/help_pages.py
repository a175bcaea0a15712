"""English text that every Python brings along: what help() shows.

Files are parsed and not imported, so none of their code runs.
"""

import ast
import sysconfig
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from pydoc_data.topics import topics

import torch
from torch import Tensor

from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.special_tokens import BOS, EOS


__all__ = ["make_rows", "read_help", "split_pages"]


_DOCUMENTED = (
    ast.Module,
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
)
_LEFT_OUT = {"dist-packages", "site-packages", "test", "tests"}


def _read_docstrings(folder: Path, root: Path) -> Iterator[tuple[str, str]]:
    """Read the docstrings of each Python file in a folder and below it."""
    paths = (path.relative_to(root) for path in folder.rglob("*.py"))
    for name in sorted(path.as_posix() for path in paths):
        if _LEFT_OUT & set(name.split("/")):
            continue
        try:
            with warnings.catch_warnings():  # about the file's own code
                warnings.simplefilter("ignore")
                tree = ast.parse((root / name).read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        nodes = (x for x in ast.walk(tree) if isinstance(x, _DOCUMENTED))
        yield name, "\n\n".join(ast.get_docstring(x) or "" for x in nodes)


def _folders(package: str) -> list[Path]:
    """Where the files of an installed package are, without importing it."""
    try:
        spec = find_spec(package)
    except (AttributeError, ImportError, ValueError):  # for "", 5, "no.such"
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(
            "packages must be names of installed packages, such as "
            f"['torch'], got {package!r}"
        )
    return [Path(folder) for folder in spec.submodule_search_locations]


def _is_prose(text: str) -> bool:
    is_sentence = text[:1].isalpha() and text.endswith((".", ":", "!", "?"))
    return is_sentence and len(text) >= 40 and ">>>" not in text


def read_help(packages: str | Iterable[str] = ()) -> dict[str, list[str]]:
    """Read what help() shows of Python and of installed packages.

    That is the topics of the language and the docstrings of the standard
    library and of the packages, whose files are not imported. Tests are
    left out, and so is what is no prose.

    Args:
        packages: Names of packages, such as torch, or one name.

    Returns:
        The paragraphs of each page, a topic or a file. Each is on one line
        and on one page only.

    Raises:
        ValueError: A package is not installed, or is no folder of files.
    """
    names = [packages] if isinstance(packages, str) else packages
    folders = [folder for name in names for folder in _folders(name)]
    library = Path(sysconfig.get_path("stdlib"))
    pages = [(f"topics/{name}", topics[name]) for name in sorted(topics)]
    pages += _read_docstrings(library, library)
    for folder in folders:
        pages += _read_docstrings(folder, folder.parent)
    seen: set[str] = set()
    found: dict[str, list[str]] = {}
    for name, text in pages:
        lines = (" ".join(part.split()) for part in text.split("\n\n"))
        new = [x for x in dict.fromkeys(lines) if _is_prose(x)]
        if kept := [x for x in new if x not in seen]:
            found[name] = kept
            seen.update(kept)
    return found


def split_pages(
    pages: Mapping[str, Iterable[str]],
) -> tuple[list[str], list[str]]:
    """Return the paragraphs to train on, and those of every tenth page."""
    parts: tuple[list[str], list[str]] = [], []
    for i, paragraphs in enumerate(pages.values()):
        parts[i % 10 == 0].extend(paragraphs)
    return parts


def make_rows(
    paragraphs: Iterable[str], tokenizer: BPETokenizer, length: int
) -> Tensor:
    """Join the tokens of all paragraphs, and cut them into rows (rows, length)."""
    ids = []
    for text in paragraphs:
        ids += [BOS, *tokenizer.encode(text), EOS]
    n_rows = len(ids) // length
    return torch.tensor(ids[: n_rows * length]).view(n_rows, length)
