"""The labs: pages like the others, what they printed, and that they still run."""

import ast
import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from mkdocs.config import load_config
from mkdocs_jupyter.convert import nb2html
from nbformat import v4

from experiments.everyday_data import ALL
from literate import labs
from literate.blocks import ChapterError
from literate.chapter import ROOT, Chapter, Twin, read
from literate.export import export
from literate.prose import problems
from literate.weave import EDITIONS, weave_lab


KEPT = re.compile(  # names of programs and classes, and pieces of an example
    r"\w*[A-Z].*|timm|transformers|x-transformers|torch\.nn|\S*-(cpu|pytorch)|small|tiny"
    r"|want|to|drink|glass|of|water|&lt;\w+&gt;"
)
LABS = sorted((ROOT / labs.LABS).glob("*.ipynb"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
MACHINE = re.compile(r"/(?:home|root|tmp|Users|work|usr|var)/|[A-Z]:\\")


@pytest.fixture(params=LABS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture
def notebook(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


@pytest.fixture
def small() -> Any:
    """A notebook with a pair of twins and a cell that prints and draws."""
    texts = {
        "zh": "# 苹果\n\n一个苹果，见[章](../attention/pooling.md#a)。",
        "en": "# Apple\n\nAn apple, see [chapter](../attention/pooling.md#a).",
    }
    cells = [
        v4.new_markdown_cell(text, id=tag, metadata={"tags": [tag]})
        for tag, text in texts.items()
    ]
    printed = v4.new_output("stream", name="stdout", text="1\n```\n")
    drawn = v4.new_output("display_data", {"image/svg+xml": "<svg\n/>"})
    code = v4.new_code_cell("draw()", id="code", outputs=[printed, drawn])
    code.metadata["alt"] = {"zh": "一个苹果", "en": "An apple"}
    return v4.new_notebook(cells=[*cells, code])


def lab(notebook: Any) -> Chapter:
    return Chapter(labs.LABS / "apple.ipynb", nbformat.writes(notebook))


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_a_lab_is_woven_as_a_notebook_with_both_languages(
    small: Any, edition: str
) -> None:
    book = nbformat.reads(weave_lab(lab(small), edition, {"a": "b"}), 4)
    assert [cell.metadata.get("tags") for cell in book.cells] == [
        *(["zh"], ["en"]) * 2,
        None,
    ]
    titles = [cell.source for cell in book.cells[:2]]
    assert titles == ["# 苹果", "# Apple"]
    assert (
        "，见[第\xa01\xa0章](../attention/pooling.md#a)"
        in book.cells[2].source
    )
    assert book.metadata[labs.ABOUT] == {"a": "b", "ids": ["apple"]}
    alt = {"zh": "一个苹果", "en": "An apple"}[edition]
    figure = book.cells[4].outputs[1].data
    assert figure.keys() == {"text/html"}
    for shade, file in (("light", "code-0"), ("dark", "code-0.dark")):
        image = f'class="{shade}" loading="lazy" alt="" src="{file}.svg"'
        assert image in figure["text/html"]
    number = {"zh": "图 1", "en": "Figure 1"}[edition]
    below = f'<figcaption><span class="number">{number}</span> {alt}<'
    assert below in figure["text/html"]
    drawn = labs.figures(labs.LABS / "apple.ipynb", small.cells[2])
    assert drawn == {"apple/code-0.svg": "<svg\n/>"}


def test_words_in_figures_of_labs_are_chinese_there(small: Any) -> None:
    text = "<text>{}</text><text>losses</text><text>train-loss</text>".format
    svg = f'<svg><g id="loss">{text("loss (%)")}<text>2, loss</text></g></svg>'
    small.cells[2].outputs[1].data["image/svg+xml"] = svg
    labels = {"loss": "损失", "loss (%)": "损失百分比"}
    (drawn,) = labs.figures(Path("a.ipynb"), small.cells[2], labels).values()
    wanted = (
        f'<svg><g id="loss">{text("损失百分比")}<text>2, 损失</text></g></svg>'
    )
    assert drawn == wanted


@pytest.mark.parametrize("path", LABS, ids=lambda path: path.stem)
def test_no_word_of_a_labs_figures_is_left_in_english(path: Path) -> None:
    notebook = nbformat.read(path, 4)
    labels = notebook.metadata["labels"]
    assert labels
    for cell in notebook.cells:
        drawn = "".join(labs.figures(path, cell, labels).values())
        for text in re.findall("<text[^>]*>([^<]*)</text>", drawn):
            assert not re.findall(r"[a-z]{3,}", KEPT.sub("", text)), text


def shown(notebook: Any, edition: str, file: Path) -> str:
    """What mkdocs-jupyter, set as the edition sets it, makes of a lab."""
    file.write_text(weave_lab(lab(notebook), edition), "utf-8")
    config = load_config(str(ROOT / EDITIONS[edition]))
    plugin = config.plugins["mkdocs-jupyter"].config
    options = inspect.signature(nb2html).parameters.keys() & plugin.keys()
    return str(nb2html(str(file), **{key: plugin[key] for key in options}))


def page(html: str) -> str:
    return labs.page(html, ["apple"], lambda to: f"<{to}>", "Link")


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_mkdocs_jupyter_shows_a_lab_in_one_language(
    small: Any, edition: str, tmp_path: Path
) -> None:
    """The cells of the other are left out by their tags, and by the plugin."""
    small.cells[0].source += "\n\n有 $a < b$ 和`$c$`。"
    small.cells[1].source += "\n\nThere are $a < b$ and `$c$`."
    html = page(shown(small, edition, tmp_path / "apple.ipynb"))
    title, other = {"zh": ("苹果", "Apple"), "en": ("Apple", "苹果")}[edition]
    mark = '<a class="headerlink" href="#apple" title="Link">#</a>'
    assert f'<h1 id="apple">{title}{mark}</h1>' in html
    assert other not in html
    assert 'href="&lt;../attention/pooling.md#a&gt;"' in html
    assert r'<span class="arithmatex">\(a &lt; b\)</span>' in html
    assert "<code>$c$</code>" in html
    assert 'language-python highlight"><pre><code>' in html
    printed = '<div class="jp-OutputArea-output output no-copy highlight">'
    assert f"{printed}<pre><code>1\n```\n</code></pre></div>" in html
    assert '<figure id="fig-code-0">' in html


def test_nothing_of_its_styles_and_scripts_is_left(
    small: Any, tmp_path: Path
) -> None:
    html = shown(small, "en", tmp_path / "apple.ipynb")
    assert len(html) > 100_000
    assert "<script" in html
    html = page(html)
    assert len(html) < 3_000
    assert not re.search("<script|<style|https?:|jp-InputPrompt", html)


def test_a_lab_that_mkdocs_jupyter_did_not_show_is_refused() -> None:
    with pytest.raises(ValueError, match="not from mkdocs-jupyter"):
        page("<h1>Apple</h1>")


@pytest.mark.parametrize(
    ("cell", "old", "new", "where", "says"),
    [
        (0, "# 苹果\n\n", "", "source", "begin this cell and its twin with"),
        (1, "An apple", "- an apple", "- an apple", "a list of 1 items"),
        (0, "一个", "一个令牌", "一个令牌", "the glossary says 词元"),
        (2, "draw()", f"x\n# {'o' * 80}", "ooo", "a line of 82 characters"),
    ],
)
def test_a_fault_is_named_with_its_line_of_the_notebook(
    small: Any, cell: int, old: str, new: str, where: str, says: str
) -> None:
    small.cells[cell].source = small.cells[cell].source.replace(old, new)
    page = lab(small)
    try:
        message = next(problems(page.check(), {"令牌": "词元"}))
    except ChapterError as error:
        message = str(error)
    file, line, fault = message.split(":", 2)
    assert file == "docs/labs/apple.ipynb"
    assert where in page.text.split("\n")[int(line) - 1]
    assert says in fault


def test_a_cell_without_its_twin_is_named(small: Any) -> None:
    del small.cells[1]
    with pytest.raises(ChapterError, match=r"apple.ipynb:\d+: a cell tagged"):
        lab(small).check()


def test_a_figure_needs_words_for_those_who_do_not_see_it(small: Any) -> None:
    del small.cells[2].metadata["alt"]["en"]
    with pytest.raises(ChapterError, match="alternative text must be"):
        lab(small).check()


def test_twins_link_to_the_same_places(path: Path) -> None:
    for part in read(path.relative_to(ROOT)).parts:
        if isinstance(part, Twin):
            assert LINK.findall(part.zh.text) == LINK.findall(part.en.text)


def test_it_was_run_from_top_to_bottom(path: Path, notebook: Any) -> None:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    counts = [cell.execution_count for cell in code]
    assert counts == list(range(1, len(code) + 1))
    for cell in code:
        assert "execution" not in cell.metadata
        assert cell.outputs or not re.search(r"print\(|plt\.sub", cell.source)
        for output in cell.outputs:
            shown = output.get("data", {"stdout": output.get("text")})
            assert output.get("name", "stdout") == "stdout"
            assert shown.keys() & {"stdout", "image/svg+xml"}
            for kind, text in shown.items():
                assert not MACHINE.search(text), kind
    assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_the_notebook_of_an_edition_has_one_language(
    small: Any, edition: str
) -> None:
    cells = nbformat.reads(export(lab(small), edition), 4).cells
    text, install, code = cells
    assert install.source.startswith('%pip install --quiet "attention-book')
    assert text.metadata["tags"] == [edition]
    assert "](pooling.ipynb)" in text.source
    assert code == small.cells[2]


def test_the_translator_is_that_of_the_experiment() -> None:
    """The one on the amount of data trains the lab's model, with three seeds."""
    cells = nbformat.read(ROOT / labs.LABS / "translate.ipynb", 4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    tree = ast.parse(re.sub(r"^%", "#", "\n".join(code), flags=re.MULTILINE))
    given: dict[str, Any] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="TransformerConfig" | "TrainingConfig"),
                keywords=keywords,
            ):
                given |= {
                    word.arg or "": word.value.value
                    for word in keywords
                    if isinstance(word.value, ast.Constant)
                }
    assert given.pop("norm") == "pre"
    assert given.pop("d_ff") == 4 * given["d_model"]
    recipe = dataclasses.asdict(ALL)
    recipe |= {"max_steps": 2500, "dropout": 0.3}  # as it was run
    assert given == {name: recipe[name] for name in given}
    assert f"pair), {ALL.vocab_size}, DIRECTIONS" in "\n".join(code)


def printed(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a copy in little time, in a folder of its own; return what it says."""
    copy = folder / path.name
    copy.write_bytes(path.read_bytes())
    monkeypatch.setenv("LAB_MINUTES", "0.02")
    monkeypatch.setenv("TMPDIR", str(folder))
    labs.run(copy)
    cells = nbformat.read(copy, as_version=4).cells
    outputs = [o for cell in cells for o in cell.get("outputs", ())]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    return "".join(o.text for o in outputs if o.get("name") == "stdout")


@pytest.mark.slow
def test_it_still_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also outside of a checkout, without pairs and without results."""
    monkeypatch.setenv("LAB_PAIRS", str(tmp_path / "nothing"))
    said = printed(path, tmp_path, monkeypatch)
    wanted = {
        "translate": "No cmn.txt here",
        "speed": "No results of the benchmarks here",
    }
    assert said
    assert wanted.get(path.stem, "") in said
    if path.stem == "translate":
        assert (tmp_path / "attention-book/translate.safetensors").exists()
