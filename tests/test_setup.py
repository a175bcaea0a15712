"""What a notebook installs and fetches before it runs, and where it opens."""

import json
import re
from pathlib import Path

import pytest

from attention_book import __version__
from literate import ROOT, setup
from literate.chapter import Chapter
from literate.notebooks import pages
from literate.weave import Book, write_page


PAGES = pages()
PLOT = 'import matplotlib.pyplot as plt\nplt.title("苹果")\n'


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("import torch\nimport os\n", ""),
        (PLOT, "[plot]"),
        ("def f():\n    import sacrebleu\n", "[corpus]"),
        ("from PIL import Image\n" + PLOT, "[plot,vision]"),
        ("torch.onnx.export(model)", " onnxscript"),
        ("train, test = load_digits()", " scikit-learn"),
        ("import sklearn.datasets\nimport einops\n", " einops scikit-learn"),
        ("from corpora.exam import read_exam\n", ""),
        ("from attention_book.generation.scores import score", "[corpus]"),
    ],
)
def test_what_the_code_imports_is_installed(code: str, wanted: str) -> None:
    extras, space, others = wanted.partition(" ")
    pinned = f'"attention-book{extras}=={__version__}"{space}{others}'
    assert setup.install([code]) == f"%pip install --quiet {pinned}"


@pytest.mark.parametrize("name", PAGES)
def test_it_is_called_as_where_it_is_published(name: str) -> None:
    """By the names in constraints.txt, not those under which it is imported."""
    line = setup.install([cell.code.body for cell in PAGES[name].cells])
    book, *others = line.removeprefix("%pip install --quiet ").split()
    extras = re.findall(r"\w+", book.partition("[")[2].partition("]")[0])
    assert {*extras} <= setup.optional().keys()
    pinned = (ROOT / "constraints.txt").read_text("utf-8")
    for other in others:
        assert re.search(rf"^{other}==", pinned, re.M)


def test_what_is_in_the_repository_alone_is_fetched() -> None:
    code = "from experiments.local_processes import run_processes\n"
    said, (_, fetch) = setup.setup([code], "en")
    assert "The second cell fetches them by git." in said
    command = f"clone -q --depth 1 -b v{__version__} {setup.SOURCE}\n"
    assert command in fetch
    assert 'sys.path.append("attention-book")' in fetch
    said, cells = setup.setup(["import torch\n"], "zh")
    assert "第二格" not in said
    assert "Python 3.11 以上" in said
    assert len(cells) == 1


def test_plots_with_chinese_get_a_font() -> None:
    for code, n_cells in {PLOT: 2, PLOT.replace("苹果", "apple"): 1}.items():
        said, cells = setup.setup([code], "zh")
        assert len(cells) == n_cells
        assert ("font_manager" in said) == (n_cells == 2)


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_a_page_says_where_colab_opens_it(
    edition: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Chapter(Path("docs/fruit/apple.md"), "# 苹果 | Apple\n", 1)
    write_page(page, edition, tmp_path, Book())
    woven = (tmp_path / "fruit/apple.md").read_text("utf-8")
    place = "attention-book/attention-book/blob/gh-pages"
    release = f"{place}/{__version__}/{edition}"
    address = f"{setup.COLAB}{release}/notebooks/apple.ipynb"
    assert f"\ncolab: {json.dumps(address)}\n" in woven
    assert (tmp_path / "notebooks/apple.ipynb").exists()
    monkeypatch.setattr(setup, "SOURCE", "https://example.org/book")
    assert setup.colab("notebooks/apple.ipynb", edition) == ""
