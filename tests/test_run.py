"""Running a chapter: each test is a real pytest run in a process of its own."""

import random
import re
import runpy
import sys

import pytest
import torch
from markdown_it import MarkdownIt

from literate.chapter import ROOT, read, read_all
from literate.plots import figure_svg
from literate.run import Chapters, clean_slate, digest, fresh, same, stamp
from tests.book import Book


pytestmark = pytest.mark.slow  # each of them runs pytest

OUTPUT = "```python\nprint(1 + 1)\n```\n\n```output\n{}\n```\n"


def test_every_python_fence_is_tested() -> None:
    for path in sorted((ROOT / "docs").glob("**/*.md")):
        text = path.read_text("utf-8")
        found = re.findall(r"(?m)^\s*(?:```|~~~)+ *(?:python|py)\b", text)
        assert len(found) == len(read(path.relative_to(ROOT)).cells), path


def test_code_on_a_page_that_is_no_chapter_is_tested_too(book: Book) -> None:
    book.write("甲\n\nA\n")
    page = book.root / "docs/page.md"
    page.write_text("```python\nassert 1 + 1 == 2\n```\n")
    assert "1 passed" in book.run(str(page)).stdout
    page.write_text("```python\nassert 1 + 1 == 3\n```\n")
    result = book.run(str(page))
    assert "1 failed" in result.stdout
    assert "page.md" in result.stdout


def test_right_output_passes_and_wrong_output_fails(book: Book) -> None:
    book.write(OUTPUT.format(2))
    assert book.run().returncode == 0

    book.write(OUTPUT.format(3))
    result = book.run()
    assert result.returncode == 1
    assert "docs/fruit/apple.md:5: wrong output" in result.stdout
    assert "Expected:\n    3\nGot:\n    2" in result.stdout


@pytest.mark.parametrize(
    ("want", "got", "is_same"),
    [
        ("a ... c", "a b c", True),
        ("#...", "#... x", False),  # dots that are printed are no wildcard
        ("True", "1", False),
        ("", "2", False),
    ],
)
def test_output_may_be_elided_but_not_left_out(
    want: str, got: str, *, is_same: bool
) -> None:
    assert same(want, got) == is_same


def test_update_outputs_writes_what_is_printed(book: Book) -> None:
    """In place of what was there, if anything, in a fence that holds it."""
    cell = "```python\nfor i in range({}):\n    print(i)\n```\n\n"
    wrong = "```output\nno\n```\n\n"
    last = '```python\nprint("```\\n\\nx")\n```\n'
    book.write(cell.format(3) + wrong + cell.format(0) + wrong + last)
    assert book.run("--update-outputs").returncode == 0
    right = "```output\n0\n1\n2\n```\n\n"
    fence = "\n````output\n```\n\nx\n````\n"
    text = cell.format(3) + right + cell.format(0) + last + fence
    assert book.chapter.read_text() == text
    assert book.run().returncode == 0


@pytest.mark.parametrize(
    ("code", "counts"),
    [
        ("import pytest\n\npytest.skip()", "1 failed, 1 skipped"),
        ("print(3)", "1 failed, 1 passed"),
    ],
)
def test_one_block_that_does_not_pass_is_enough_for_no_stamp(
    book: Book, code: str, counts: str
) -> None:
    book.write(f"```python\n{code}\n```\n\n```python\nx = 1\n```\n")
    result = book.run()
    assert result.returncode == 1
    assert counts in result.stdout
    assert not (book.root / ".cache/ran/apple").exists()


def test_a_block_that_raises_is_named(book: Book) -> None:
    book.write("---\n\n```python\ndef f():\n    return 1 / 0\n\n\nf()\n```\n")
    result = book.run()
    assert result.returncode == 1
    assert "docs/fruit/apple.md:8: in <module>" in result.stdout
    assert "docs/fruit/apple.md:5: in f" in result.stdout
    assert "literate" not in result.stdout
    assert "return 1 / 0" in result.stdout
    assert "ZeroDivisionError: division by zero" in result.stdout


def test_each_block_runs_once_even_on_a_type_error(book: Book) -> None:
    book.write(
        "```python\nruns = []\n```\n\n"
        "```python\nruns.append(1)\nlen(5)\n```\n\n"
        "```python\nassert False\n```\n"
    )
    result = book.run()
    assert "1 passed" in result.stdout
    assert "2 failed" in result.stdout
    assert "TypeError: object of type 'int'" in result.stdout
    assert "apple.md:5: this block failed, so the one on" in result.stdout


def test_a_selected_block_brings_the_earlier_ones(book: Book) -> None:
    book.write("```python\nx = 1\n```\n\n```python\nassert x == 1\n```\n")
    result = book.run("-k", "line:5")
    assert result.returncode == 0
    assert "1 passed, 1 deselected" in result.stdout


def test_source_pickle_and_warnings_work_in_a_cell(book: Book) -> None:
    book.write(
        "```python\nimport inspect\nimport pickle\n\n\n"
        "class Core:\n    seeds = 5\n\n\ndef peel(n):\n    return n - 1\n\n\n"
        "assert inspect.getsource(peel).endswith('return n - 1\\n')\n"
        "assert inspect.getsource(Core) == 'class Core:\\n    seeds = 5\\n'\n"
        "assert pickle.loads(pickle.dumps(Core())).seeds == 5\n```\n"
    )
    assert book.run().returncode == 0


def test_titled_blocks_are_the_package(book: Book) -> None:
    title = '```python title="attention_book/apple.py"\n'
    book.write(
        f"{title}class Core:\n    pass\n```\n\n"
        "```python\nimport attention_book.apple\n\n"
        "assert Core is attention_book.apple.Core\n```\n"
    )
    said = book.run().stdout
    assert "apple.md:1: there is no attention_book/apple.py yet" in said
    assert book.tangle() == 0
    assert book.run().returncode == 0

    book.module.write_text("class Core:\n    seeds = 5\n")
    result = book.run()
    assert result.returncode == 1
    assert "apple.md:1: differs from attention_book/apple.py" in (
        result.stdout
    )


def test_no_block_of_a_wrong_chapter_passes(book: Book) -> None:
    wrong = "!!! note\n\n    ```python\n    assert False\n    ```\n\n"
    book.write(wrong + OUTPUT.format(2))
    result = book.run()
    assert "docs/fruit/apple.md:1: " in result.stdout
    assert "passed" not in result.stdout


def test_the_runner_is_what_pytest_markdown_docs_runs(book: Book) -> None:
    """It finds each fence and its line, gives it to ours, and asks ours what failed."""
    from pytest_markdown_docs import _runners, plugin

    page = book.root / "docs/page.md"
    page.write_text(OUTPUT.format(2) + '\n```python title="a.py"\n```\n')
    found = plugin.extract_fence_tests(
        MarkdownIt("commonmark"), page.read_text(), 0, source_path=page
    )
    assert [(test.start_line, test.runner_name) for test in found] == [
        (1, None), (9, None)
    ]  # fmt: skip
    runner = _runners.get_runner(None)
    assert isinstance(runner, Chapters)


def test_what_passed_is_remembered_until_code_changes(book: Book) -> None:
    prose = "一句。\n\nA sentence.\n\n"
    book.write(prose + OUTPUT.format(2))
    _, chapter = read_all(book.root)
    assert not fresh(chapter, book.root)
    book.run()
    assert fresh(chapter, book.root)

    book.write(prose.replace("一", "两") + OUTPUT.format(2))
    _, chapter = read_all(book.root)
    assert fresh(chapter, book.root)  # prose is not run

    nut = "from attention_book.nut import x\n"
    book.write("```python\nfrom attention_book.pear import x\n```\n")
    chapter = read(book.chapter.relative_to(book.root), book.root)
    before = digest(chapter, book.root)
    (book.root / "attention_book/nut.py").write_text("x = 1\n")
    assert digest(chapter, book.root) == before  # it imports no nut
    for name, text in (("pear", nut), ("nut", "x = 2\n")):
        (book.root / f"attention_book/{name}.py").write_text(text)
        assert digest(chapter, book.root) != before
        before = digest(chapter, book.root)
    assert not fresh(chapter, book.root)

    stamp(chapter, book.root).touch()
    book.write(OUTPUT.format(3))
    book.run()
    assert not list((book.root / ".cache/ran").iterdir())


def test_chapters_do_not_see_each_others_settings(book: Book) -> None:
    book.write(
        "```python\nimport os\n\nimport matplotlib.pyplot as plt\n"
        "import torch\n\ntorch.set_printoptions(precision=1, sci_mode=True)\n"
        "torch.set_default_dtype(torch.float64)\n"
        "torch.set_grad_enabled(False)\n"
        'plt.rcParams["lines.linewidth"] = 99\nos.chdir("/")\n```\n'
    )
    other = book.chapter.with_name("03-pear.md")
    other.write_text(
        "```python\nimport os\n\nimport matplotlib.pyplot as plt\n"
        "import torch\n\nprint(torch.tensor(0.25), torch.get_default_dtype())\n"
        "print(torch.is_grad_enabled())\n"
        'print(plt.rcParams["lines.linewidth"], os.getcwd() == "/")\n```\n\n'
        "```output\ntensor(0.2500) torch.float32\nTrue\n1.8 False\n```\n"
    )
    result = book.run(str(other), "-n", "0")
    assert "2 passed" in result.stdout, result.stdout


def test_a_chapter_does_not_go_on_with_the_seed_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    random.seed(7)
    before = random.getstate()
    torch.manual_seed(7)
    clean_slate(ROOT)
    assert torch.initial_seed() != 7
    assert random.getstate() != before


def test_the_tests_take_the_options_of_pytest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[str] = []
    monkeypatch.setattr(pytest, "main", lambda words: found.extend(words) or 5)
    program = str(ROOT / "literate/test.py")
    for words, spread in (
        (["tests/test_run.py", "-x"], ["-n", "0"]),
        (["-x"], ["-n", "auto"]),
        (["tests/test_run.py", "README.md"], ["-n", "auto"]),
    ):
        found.clear()
        monkeypatch.setattr(sys, "argv", ["test", *words])
        with pytest.raises(SystemExit, match="5"):
            runpy.run_path(program, run_name="__main__")
        assert found[-len(words) :] == words
        start = found.index("-n")
        assert found[start : start + 2] == spread


def test_a_figure_must_really_be_drawn(book: Book) -> None:
    book.write(
        '```python\n# plt.figure("core")\nx = 1\n```\n\n'
        '![图 | A](figures/apple/core.svg "图 | A")\n'
    )
    result = book.run()
    assert result.returncode == 1
    assert "apple.md:6: no block drew figures/apple/core.svg" in result.stdout

    book.write(
        "```python\nimport matplotlib.pyplot as plt\n\nplt.figure()\n```\n"
    )
    result = book.run()
    assert result.returncode == 1
    assert "apple.md:1: figures/apple/.svg is drawn and never" in result.stdout


def test_a_figure_left_open_is_not_the_next_chapters(book: Book) -> None:
    book.write(
        "```python\nimport matplotlib.pyplot as plt\n\n"
        'plt.figure("core")\nraise ValueError\n```\n\n'
        '![图 | A](figures/apple/core.svg "图 | A")\n'
    )
    other = book.chapter.with_name("03-pear.md")
    other.write_text("```python\nx = 1\n```\n")
    assert "1 failed, 1 passed" in book.run(str(other), "-n", "0").stdout
    assert not (book.chapter.parent / "figures").exists()


def test_an_edit_made_meanwhile_is_not_lost(book: Book) -> None:
    book.write(
        "```python\nfrom pathlib import Path\n\n"
        f'chapter = Path("{book.chapter}")\n'
        'text = chapter.read_text()\nchapter.write_text(text + "\\n---\\n")\n'
        "print(1)\n```\n"
    )
    assert "changed while it ran" in book.run("--update-outputs").stdout
    assert book.chapter.read_text().endswith("```\n\n---\n")


def test_a_cell_meets_the_package_as_a_reader_does(book: Book) -> None:
    title = '```python title="attention_book/apple.py"\n'
    book.write(
        f"{title}def peel(n: int) -> int:\n    return n\n```\n\n"
        '```python\nassert peel("no int") == "no int"\n```\n'
    )
    book.tangle()
    assert book.run().returncode == 0


def test_a_missing_figure_makes_a_chapter_stale(book: Book) -> None:
    book.write(
        "```python\nimport matplotlib.pyplot as plt\n\n"
        'plt.figure("core")\n```\n\n'
        '![图 | A](figures/apple/core.svg "图 | A")\n'
    )
    book.run()
    _, chapter = read_all(book.root)
    assert fresh(chapter, book.root)
    (book.chapter.parent / "figures/apple/core.en.svg").unlink()
    assert not fresh(chapter, book.root)


LABELLED = """```python
import matplotlib.pyplot as plt

figure, axes = plt.subplots(num="core")
axes.bar(["苹果 | apple", "梨 | pear"], [1, 2], label="重量 | weight")
axes.plot([0, 1], [2, 1], label=f"第 {1} 条 | line {1}")
axes.set_yticks([0, 2], ["没有 | none", "很多 | much"])
axes.set_title("左：P(y | x) | Left: P(y | x)")
axes.set_xlabel("水果 | fruit")
axes.annotate("最大 | largest", (1, 2))
axes.legend(title="图例 | Legend")
figure.suptitle("两种 | Two kinds")
image = axes.scatter([0], [1], c=[1])
figure.colorbar(image, label="深浅 | shade")
```

```python
assert axes.get_xlabel() == "水果 | fruit"
```

![图 | A](figures/apple/core.svg "图 | A")
"""
SIDES = {
    "zh": "苹果 梨 重量 没有 很多 水果 最大 图例 两种 深浅",
    "en": "apple pear weight none much fruit largest Legend shade",
}


def test_a_figure_is_saved_in_each_language(book: Book) -> None:
    book.write(LABELLED)
    result = book.run()
    assert result.returncode == 0, result.stdout
    for edition, side in SIDES.items():
        path = book.chapter.parent / f"figures/apple/core.{edition}.svg"
        texts = re.findall(r">([^<>]+)</text>", path.read_text("utf-8"))
        assert set(side.split()) <= set(texts)
        others = [
            w for e, s in SIDES.items() if e != edition for w in s.split()
        ]
        assert not set(others) & set(texts)
        titles = {
            "zh": {"左：P(y | x)", "第 1 条", "两种"},
            "en": {"Left: P(y | x)", "line 1", "Two kinds"},
        }
        assert titles[edition] <= set(texts)


def test_chinese_is_as_wide_as_it_will_be() -> None:
    """Though the glyphs are not here: one em for each character."""
    from matplotlib.figure import Figure

    widths = {}
    for length in (4, 8):
        figure = Figure(figsize=(4, 1))
        figure.text(0, 0.5, "宽" * length, fontsize=10)
        svg = figure_svg(figure, "zh")
        widths[length] = float(re.findall(r'width="([\d.]+)pt"', svg)[0])
    assert widths[8] - widths[4] == pytest.approx(40, rel=0.03)


def test_chinese_and_a_formula_in_one_label_are_refused(book: Book) -> None:
    """As matplotlib would set a sign for what is missing in their place."""
    book.write(
        "```python\nimport matplotlib.pyplot as plt\n\n"
        'plt.figure("core")\nplt.xlabel("宽 $d_k$ | width $d_k$")\n```\n\n'
        '![图 | A](figures/apple/core.svg "图 | A")\n'
    )
    result = book.run()
    assert result.returncode == 1
    assert "apple.md:1: figures/apple/core.svg: no Chinese" in result.stdout
