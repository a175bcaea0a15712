"""The labs: twins, what they printed, the page, and that they still run."""

import re
import warnings
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from literate import labs
from literate.blocks import heading, split
from literate.chapter import ROOT, Chapter, read
from literate.prose import forbidden, problems


LABS = sorted((ROOT / labs.LABS).glob("*.ipynb"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
MACHINE = re.compile(r"/(?:home|root|tmp|Users|work|usr|var)/|[A-Z]:\\")


@pytest.fixture(params=LABS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture
def notebook(path: Path) -> Any:
    return labs.read(path)


def tagged(cell: Any) -> str:
    """`zh` or `en`; code has no language."""
    (tag,) = cell.metadata.get("tags", ()) or ("",)
    return str(tag)


def test_there_are_labs() -> None:
    assert LABS


def test_each_text_is_followed_by_its_twin(notebook: Any) -> None:
    tags = [tagged(cell) for cell in notebook.cells]
    for cell, tag, after in zip(notebook.cells, tags, tags[1:], strict=False):
        assert (cell.cell_type == "markdown") == (tag in ("zh", "en"))
        assert tag != "zh" or after == "en", cell.source
    assert ("en", "en") not in pairwise(tags)
    assert tags[0] == "zh"


def test_twins_say_the_same_and_say_it_well(path: Path, notebook: Any) -> None:
    """As a chapter would have them: its checks of twins and prose apply."""
    texts = []
    twins = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    for zh, en in zip(twins[::2], twins[1::2], strict=True):
        assert LINK.findall(zh.source) == LINK.findall(en.source)
        marks = [re.match(r"(#* )?(.*)\n*", cell.source) for cell in (zh, en)]
        a, b = (found for found in marks if found)
        assert a[1] == b[1], "one has a heading"
        title = f"{a[1]}{a[2]} | {b[2]} {{#h{len(texts)}}}" if a[1] else ""
        cut = (len(a[0]), len(b[0])) if a[1] else (0, 0)
        texts += [title, zh.source[cut[0] :], en.source[cut[1] :]]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            texts.append(f"```python\n{cell.source}\n```")
    text = "\n\n".join(filter(None, texts))
    chapter = Chapter(path.relative_to(ROOT), text).check()
    assert list(problems(chapter, forbidden())) == []


def test_links_lead_to_pages_and_headings(path: Path, notebook: Any) -> None:
    for cell in notebook.cells:
        for target in LINK.findall(cell.source):
            if cell.cell_type != "markdown" or target.startswith("http"):
                continue
            file, _, anchor = target.partition("#")
            there = (path.parent / file).resolve().relative_to(ROOT)
            blocks = split(there, read(there).text)
            found = {heading(b)[2] for b in blocks if b.kind == "heading"}
            assert not anchor or anchor in found, target


def test_it_was_run_from_top_to_bottom(path: Path, notebook: Any) -> None:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    counts = [cell.execution_count for cell in code]
    assert counts == list(range(1, len(code) + 1))
    for cell in code:
        assert "execution" not in cell.metadata
        assert cell.outputs or not re.search(r"print\(|plt\.sub", cell.source)
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr"
            told = {"text/plain": output.get("text", "")}
            told |= output.get("data", {})
            for kind, text in told.items():
                assert not MACHINE.search(text), kind
                if kind.startswith("image/"):
                    assert set(cell.metadata["alt"]) == {"zh", "en"}
    assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_its_page_is_like_the_others(path: Path, edition: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what others' imports say
        from mkdocs_jupyter.convert import nb2html
    other = {"zh": "en", "en": "zh"}[edition]
    notebook = labs.read(path)
    html = nb2html(str(path), remove_tag_config={"remove_cell_tags": [other]})
    page = labs.page(html, notebook, edition, lambda to: f"[{to}]", "here")
    assert "<style" not in page
    assert "<script" not in page
    assert "jp-" not in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert "No description" not in page
    for cell in notebook.cells:
        if alt := cell.metadata.get("alt"):
            assert escape(alt[edition]) in page
    ids = re.findall(r'<h[1-3] id="([^"]+)"', page)
    assert ids == [anchor for _, _, anchor in labs.headings(notebook, "zh")]
    assert len(ids) == len(set(ids))
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert page.count('class="language-python highlight"') == len(code)
    assert page.count("<figure>") == page.count("<img alt=")
    assert page.count('href="[../chapters/') > 0
    shown = labs.BeautifulSoup(page, "html.parser")
    formulas = [x.decompose() for x in shown.select(".arithmatex")]
    for code in shown.select("code, pre"):
        code.decompose()
    assert "$" not in shown.text
    texts = [c.source for c in notebook.cells if tagged(c) == edition]
    wanted = re.sub(r"`[^`]*`", "", "\n\n".join(texts)).count("$") / 2
    assert len(formulas) == wanted


def test_the_notebook_of_an_edition_has_one_language(notebook: Any) -> None:
    for edition in ("zh", "en"):
        kept = labs.in_edition(notebook, edition).cells
        assert {tagged(cell) for cell in kept} == {edition, ""}
    assert {tagged(cell) for cell in notebook.cells} == {"zh", "en", ""}


def printed(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a copy in little time, in a folder of its own; return what it says."""
    copy = folder / path.name
    copy.write_bytes(path.read_bytes())
    monkeypatch.setenv("LAB_MINUTES", "0.02")
    monkeypatch.setenv("TMPDIR", str(folder))
    labs.run(copy)
    outputs = [
        o for cell in labs.read(copy).cells for o in cell.get("outputs", ())
    ]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    return "".join(o.text for o in outputs if o.get("name") == "stdout")


def test_it_still_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also outside of a checkout, without catalogues and without results."""
    monkeypatch.setenv("LAB_CATALOGUES", str(tmp_path / "nothing"))
    said = printed(path, tmp_path, monkeypatch)
    wanted = {
        "translate": "No message catalogues here",
        "speed": "No results of the benchmarks here",
    }
    assert said
    assert wanted.get(path.stem, "") in said
    if path.stem == "translate":
        assert (tmp_path / "attention-book/translate.safetensors").exists()
