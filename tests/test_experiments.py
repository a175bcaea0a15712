"""Experiments are recorded, and the pages show what was recorded."""

import json
import re
from pathlib import Path

import pytest

from experiments import record
from experiments.__main__ import main
from literate import ROOT
from literate.blocks import ChapterError
from literate.chapter import Chapter, read
from literate.export import export
from literate.prose import check as check_prose
from literate.prose import problems
from literate.records import RECORDS, caption, check, layout, load, parse
from literate.weave import weave
from tests.book import Book


SCRIPT = '''"""Apples."""

from pathlib import Path

from experiments.record import percent, spread


SEEDS = range(3)


def run(seed):
    with Path("ran").open("a") as file:
        file.write(str(seed))
    if Path("stop").exists() and seed == 2:
        raise KeyboardInterrupt
    return {"sweet": 0.5 + 0.1 * seed, "sour": 2.0, "name": "apple"}


def tables(results):
    head = ["苹果 | apple", "`x|y`", "甜 | sweet"]
    row = [percent(results["sweet"]), spread(results["sour"], 1)]
    return {"taste": [head, ["青 | green", *row]]}
'''
FENCE = """```record apple/taste 滋味 | Taste
苹果 | apple  `x|y`              甜 | sweet
青 | green    60.0% (50.0–70.0)  2.0 (2.0–2.0)
```
"""
EMPTY = "```record apple/taste 滋味 | Taste\n```\n"


@pytest.fixture
def orchard(
    book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A book of one experiment and one chapter, whose fence is empty."""
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments/apple.py").write_text(SCRIPT)
    book.write(f"# 苹果 | Apple\n\n{EMPTY}\n---\n")
    for name in ("README.zh.md", "CONTRIBUTING.md"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script(root: Path, old: str, new: str) -> None:
    path = root / "experiments/apple.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def page(root: Path) -> Chapter:
    return read(Path("docs/fruit/apple.md"), root)


def test_a_spread_is_mean_least_and_largest() -> None:
    assert record.spread([0.951, 0.979, 0.965]) == "0.965 (0.951–0.979)"
    assert record.spread([3, 1, 8], 0, " s") == "4 s (1–8)"
    assert record.percent([0.951, 0.979]) == "96.5% (95.1–97.9)"


def test_an_experiment_leaves_a_record_and_fills_its_fences(
    orchard: Path,
) -> None:
    assert main(["apple"], orchard) == 0
    found = load("apple", orchard)
    assert found["command"] == "nox -s experiments -- apple"
    assert found["seeds"] == [0, 1, 2]
    assert found["results"] == {
        "sweet": [0.5, 0.6, 0.7],
        "sour": [2.0, 2.0, 2.0],
        "name": ["apple"] * 3,
    }
    assert set(found["machine"]) >= {"processor", "cores", "threads"}
    assert set(found["versions"]) == {"python", "torch"}
    assert set(found["package"]) == {"version", "digest"}
    assert isinstance(found["seconds"], int)
    assert page(orchard).text == f"# 苹果 | Apple\n\n{FENCE}\n---\n"
    check(page(orchard), orchard)
    assert not list((orchard / ".cache/experiments").iterdir())


def test_the_fences_of_other_records_stay(orchard: Path) -> None:
    path = orchard / page(orchard).path
    other = EMPTY.replace("apple", "pear")
    path.write_text(f"{other}\n{EMPTY}")
    assert main([], orchard) == 0
    assert path.read_text() == f"{other}\n{FENCE}"


def test_a_run_that_was_broken_off_goes_on(orchard: Path) -> None:
    (orchard / "stop").touch()
    with pytest.raises(KeyboardInterrupt):
        main([], orchard)
    assert not (orchard / RECORDS).exists()
    (orchard / "stop").unlink()
    assert main([], orchard) == 0
    assert (orchard / "ran").read_text() == "0122"

    (orchard / "stop").touch()
    with pytest.raises(KeyboardInterrupt):
        main([], orchard)
    (orchard / "stop").unlink()
    script(orchard, "2.0,", "3.0,")  # another experiment, from its first seed
    assert main([], orchard) == 0
    assert (orchard / "ran").read_text() == "0122" + "012" + "012"


def test_tables_are_made_again_without_a_run(
    orchard: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([], orchard)
    script(orchard, '"sour"], 1)', '"sour"], 2)')
    script(orchard, '"""Apples."""', '"""Apples, tasted."""  # by five')
    assert main(["apple", "--tables"], orchard) == 0
    assert (orchard / "ran").read_text() == "012"
    assert "2.00 (2.00–2.00)" in page(orchard).text


def test_what_an_experiment_uses_beside_it_is_part_of_it(
    orchard: Path,
) -> None:
    """So that a run that was broken off does not go on as another."""
    helper = orchard / "experiments/orchard.py"
    helper.write_text("TREES = 5\n")
    given = (
        'from experiments.orchard import TREES\nPAGE = "docs/fruit/apple.md"'
    )
    script(orchard, "SEEDS =", f"{given}\n\nSEEDS =")
    path = orchard / "experiments/apple.py"
    before = record.digest_of_script(path, orchard)
    for file in (helper, orchard / "docs/fruit/apple.md"):
        file.write_text(file.read_text("utf-8") + "\n")
        after = record.digest_of_script(path, orchard)
        assert after != before
        before = after


def test_one_seed_is_tried_without_a_trace(
    orchard: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["apple", "--one"], orchard) == 0
    assert "'sweet': 0.5" in capsys.readouterr().out
    assert (orchard / "ran").read_text() == "0"
    assert not (orchard / RECORDS).exists()
    assert EMPTY in page(orchard).text


def test_an_experiment_is_named_by_its_beginning(
    orchard: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (orchard / "experiments/apple_seeds.py").write_text(SCRIPT)
    main(["apple_seeds.py", "--one"], orchard)
    assert (orchard / "ran").read_text() == "0"
    main(["apple", "--one"], orchard)
    assert (orchard / "ran").read_text() == "000"
    assert main(["app"], orchard) == 1
    said = capsys.readouterr().err
    assert "no experiment is called app; there are: apple, apple-seeds" in said


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("def run(", "def ran(", "apple.py must define run"),
        ("range(3)", "range(2)", "must have 3 seeds or more, got 2"),
        ("2.0,", 'float("nan"),', "sour must be finite, got nan"),
        ("2.0,", "2.0, str(seed): 1,", "each seed must give ['sweet',"),
        ('"`x|y`", ', "", "rows of taste must have 2 cells"),
        ("青 | green", "", "a cell of taste must be text"),
        ('"taste"', '"the taste"', "a table's name is a word, got 'the taste"),
    ],
)
def test_a_faulty_experiment_is_refused(
    orchard: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    says: str,
) -> None:
    script(orchard, old, new)
    assert main([], orchard) == 1
    assert says in capsys.readouterr().err
    assert not (orchard / RECORDS).exists()


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("apple", "pear", 3, "there is no experiments/records/pear"),
        ("taste", "colour", 3, "apple has no table colour; it has: taste"),
        ("`x|y`  ", "`y`  ", 4, "this fence '苹果 | apple  `y`  甜 | sweet'"),
        ("\n青 | green    60.0% (50.0–70.0)  2.0 (2.0–2.0)", "", 5, "'nothing'"),
    ],
)  # fmt: skip
def test_a_fence_that_is_not_its_record_is_named(
    orchard: Path, old: str, new: str, line: int, says: str
) -> None:
    main([], orchard)
    text = page(orchard).text
    assert old in text
    changed = Chapter(page(orchard).path, text.replace(old, new, 1)).check()
    with pytest.raises(ChapterError) as caught:
        check(changed, orchard)
    assert str(caught.value).startswith(f"docs/fruit/apple.md:{line}: ")
    assert says in str(caught.value)


def test_how_the_columns_are_laid_out_does_not_matter(orchard: Path) -> None:
    main([], orchard)
    text = page(orchard).text.replace("  ", "    ")
    assert text != page(orchard).text
    check(Chapter(page(orchard).path, text), orchard)
    table = [["甲乙 | a", "b"], ["x", "丙"]]
    assert layout(table) == "甲乙 | a  b\nx         丙\n"
    assert parse(layout(table)) == table


@pytest.mark.parametrize(
    "info", ["record apple/taste", "record apple 滋味 | Taste", "record"]
)
def test_a_fence_without_a_reference_is_refused(info: str) -> None:
    with pytest.raises(ChapterError, match=r":1: .* write `record name/tab"):
        Chapter(Path("docs/fruit/apple.md"), f"```{info}\n```\n").check()


def test_the_words_of_a_table_are_checked() -> None:
    text = "```record apple/taste 滋味 | Taste\n令牌 | token  5\n1  用softmax | x\n```\n"
    chapter = Chapter(Path("docs/fruit/apple.md"), text)
    first, second = problems(chapter, {"令牌": "词元"})
    assert "the glossary says 词元, not 令牌" in first
    assert "用 softmax" in second


def test_the_check_of_the_prose_refuses_a_wrong_fence(orchard: Path) -> None:
    main([], orchard)
    glossary = orchard / "docs/glossary.md"
    glossary.write_text("```glossary\n```\n")
    before = set(check_prose(orchard))  # a chapter of no prose
    path = orchard / page(orchard).path
    path.write_text(page(orchard).text.replace("60.0%", "61.0%"))
    (fault,) = set(check_prose(orchard)) - before
    assert "apple.md:5: apple/taste has here" in fault


@pytest.fixture
def shown(orchard: Path, monkeypatch: pytest.MonkeyPatch) -> Chapter:
    main([], orchard)
    for module in ("weave", "export"):
        monkeypatch.setattr(f"literate.{module}.load", kept_in(orchard))
    return page(orchard)


def kept_in(root: Path):
    return lambda name: load(name, root)


def test_the_page_shows_a_table_and_what_it_rests_on(shown: Chapter) -> None:
    woven = weave(shown, "en")
    assert "```record" not in woven
    assert '| apple<small lang="zh" class="twin"' in woven
    assert " | `x|y` | " in woven  # Python-Markdown knows code
    assert "\n|---|---:|---:|\n" in woven
    sweet, sour = (
        f'<span class="together">({spread})</span>'
        for spread in ("50.0–70.0", "2.0–2.0")
    )
    assert f"| 60.0% {sweet} | 2.0 {sour} |" in woven
    assert (
        '<figcaption markdown="span"><span class="number">Table 1.1</span> '
        "Taste. Mean (min–max) of 3 seeds, made again "
        "by `nox -s experiments -- apple`<small" in woven
    )
    assert "滋味。3 个种子的平均值（最小–最大）。重做：`nox" in weave(
        shown, "zh"
    )


def test_the_text_refers_to_a_table_by_its_number(shown: Chapter) -> None:
    link = "[{}](#tab-apple-taste)"
    text = f"{shown.text}\n{link.format('表')}\n\n{link.format('Table')}\n"
    woven = weave(Chapter(shown.path, text, shown.number), "en")
    assert '<figure id="tab-apple-taste" class="record"' in woven
    assert "[表\N{NO-BREAK SPACE}1.1](#tab-apple-taste)" in woven
    assert "[Table\N{NO-BREAK SPACE}1.1](#tab-apple-taste)" in woven


def test_a_number_below_zero_has_a_minus(
    orchard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(orchard, 'spread(results["sour"], 1)', "'-0.1 (-2–-1)'")
    main([], orchard)
    monkeypatch.setattr("literate.weave.load", kept_in(orchard))
    woven = weave(page(orchard), "en")
    assert '−0.1 <span class="together">(−2–−1)</span>' in woven
    assert "(50.0–70.0)" in woven


def test_a_plain_table_says_nothing_of_a_mean() -> None:
    found = {"command": "c", "seeds": [0, 1, 2]}
    assert caption("甲 | A", found, [["a"], ["1.0"]]) == (
        "甲。重做：`c` | A. Made again by `c`"
    )


def test_the_notebook_shows_it_in_one_language(shown: Chapter) -> None:
    (cell,) = json.loads(export(shown, "zh"))["cells"]
    text = "".join(cell["source"])
    assert "| 苹果 | `x\\|y` | 甜 |\n|---|---:|---:|\n| 青 | 60.0%" in text
    assert "\n\n*表 1.1 滋味。3 个种子的平均值（最小–最大）" in text
    assert "apple |" not in text


EXPERIMENTS = record.find()


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_a_record_is_that_of_its_experiment(name: str) -> None:
    found = load(name)
    path = EXPERIMENTS[name]
    module = record.load(path)
    assert found["seeds"] == list(module.SEEDS)
    assert all(
        len(x) == len(found["seeds"]) for x in found["results"].values()
    )
    how = f"run: nox -s experiments -- {name} --tables"
    assert found["tables"] == record.make_tables(module, found["results"]), how
    assert not re.search(r"/(?:home|root|tmp|Users|work)/", json.dumps(found))


def test_every_record_has_its_experiment() -> None:
    kept = {path.stem for path in (ROOT / RECORDS).glob("*.json")}
    assert kept == set(EXPERIMENTS) != set()
