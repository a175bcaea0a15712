"""Figures in the prose are those of the record, in both languages."""

import json
from pathlib import Path

import pytest

from benchmarks import readme
from literate import ROOT
from literate.chapter import Chapter
from literate.quotes import RESULTS, faults, figures
from literate.records import RECORDS


FENCE = """```record apple/taste 滋味 | Taste
苹果 | apple  甜 | sweet
青 | green    61.3% (50.0–70.0)
红 | red      0.216 (0.198–0.246)
```
"""
RECORD = {
    "tables": {
        "taste": [
            ["苹果 | apple", "甜 | sweet"],
            ["青 | green", "61.3% (50.0–70.0)"],
            ["红 | red", "0.216 (0.198–0.246)"],
        ]
    },
    "results": {"sour, green": [0.12, 0.14, 0.16]},
}


@pytest.fixture
def orchard(tmp_path: Path) -> Path:
    """A root with one record, its experiment and one benchmark's results."""
    (tmp_path / RECORDS).mkdir(parents=True)
    (tmp_path / RECORDS / "apple.json").write_text(json.dumps(RECORD))
    (tmp_path / "experiments/apple.py").write_text("RATES = 3e-3, 0.01\n")
    (tmp_path / RESULTS).mkdir(parents=True)
    result = {"command": "python -m benchmarks.pear", "ratio": 0.7288}
    (tmp_path / RESULTS / "pear-cpu.json").write_text(json.dumps(result))
    return tmp_path


def found(root: Path, before: str, said: str, english: str = "") -> list[str]:
    """The faults of a page whose last passage says this, as both languages may."""
    zh, en = (
        (said, english) if english else (f"这里有 {said}。", f"Here: {said}.")
    )
    text = f"# 苹果 | Apple\n\n{before}\n{zh}\n\n{en}\n"
    page = Chapter(Path("docs/fruit/apple.md"), text)
    return [fault.partition(": ")[2] for fault in faults(page, root)]


@pytest.mark.parametrize(
    ("said", "english"),
    [
        ("61.3%, 61%, 70%, 0.22", ""),
        ("从 50 到 70%。", "From 50 to 70%."),
        ("学习率是 0.003。", "The rate is 0.003."),
        ("Smith 等人（2019）有 0.99。", "Smith et al. (2019) have 0.99."),
        ("见第 3.1 和 3.2 节。", "See sections 3.1 and 3.2."),
        ("1.3 亿个。", "There are 130 million."),
        ("1,000, 4", ""),
    ],
)
def test_what_the_record_has_may_be_quoted(
    orchard: Path, said: str, english: str
) -> None:
    assert found(orchard, FENCE, said, english) == []


@pytest.mark.parametrize(
    ("said", "figure"),
    [
        ("61.4%", "61.4%"),
        ("0.613", "0.613"),
        ("61.3", "61.3"),
        ("0.21", "0.21"),
        ("0.2161", "0.2161"),
        ("0.03", "0.03"),
    ],
)
def test_what_the_record_does_not_have_is_named(
    orchard: Path, said: str, figure: str
) -> None:
    fault = f"quotes {figure}, which the record does not have"
    assert found(orchard, FENCE, said) == [fault, fault]
    assert found(orchard, "", said) == []  # beside no record


def test_a_heading_ends_what_a_record_covers(orchard: Path) -> None:
    assert found(orchard, f"{FENCE}\n## 梨 | Pears\n", "0.9") == []
    before = f"有 0.9。\n\nIt has 0.9.\n\n{FENCE}\n## 梨 | Pears\n"
    assert len(found(orchard, before, "好。", "Good.")) == 2


def test_a_link_adds_a_table(orchard: Path) -> None:
    before = f"{FENCE}\n## 梨 | Pears {{#pears}}\n"
    link = "[61](#tab-apple-taste), "
    assert found(orchard, before, f"{link}61.3%") == []
    assert len(found(orchard, before, f"{link}61.4%")) == 2


def test_benchmarks_are_records_too(orchard: Path) -> None:
    named = "`python -m benchmarks.pear`"
    assert found(orchard, "", f"0.73, 73% ({named})") == []
    assert len(found(orchard, "", f"0.73, 74% ({named})")) == 2
    assert found(orchard, "", "0.73, 74%") == []


@pytest.mark.parametrize(
    ("comment", "fault"),
    [
        ("0.3 = 61.3 - 61", ""),  # of which an integer may be any
        ("0.14 of apple/sour, green; 0.3: a third", "nothing below quotes it"),
        ("0.3: a third", ""),
        ("0.3 = 61.3 - 60.8", "the record has no 60.8"),
        ("0.3 = 70.0 - 50.0", "70.0 - 50.0 is 20"),
        (
            "0.3 of apple/sour, green",
            "apple/sour, green is [0.12, 0.14, 0.16]",
        ),
        ("0.3 of apple/sweet", "apple/sweet is None"),
        ("0.3 of pear/sour", "pear/sour is None"),
        ("0.3", "write `4.5 = 97.7 - 93.2`"),
    ],
)
def test_a_comment_says_where_a_figure_is_from(
    orchard: Path, comment: str, fault: str
) -> None:
    before = f"{FENCE}\n<!-- figures: {comment} -->\n"
    said = found(orchard, before, "0.3")
    assert len(said) == bool(fault)
    assert all(fault in message for message in said)


def test_a_comment_may_name_any_result(orchard: Path) -> None:
    comment = "<!-- figures: 14% of apple/sour, green -->"
    assert found(orchard, f"{FENCE}\n{comment}\n", "14%") == []


def test_both_languages_quote_the_same() -> None:
    def unlike(zh: str, en: str) -> list[str]:
        return found(ROOT, "", zh, en)

    assert unlike("有 0.5 和 12%。", "It has 0.5 and 12%.") == []
    assert unlike("有 85% 到 88%。", "It has 85 to 88%.") == []
    assert unlike("七成。", "Some 70%.") == []
    assert unlike("$T = 0.5$ 时。", "At 0.5.") == []
    assert unlike("一成二。", "Some 12%.") == [
        "quotes 12%, and its twin does not"
    ]
    assert len(unlike("有 0.5。", "It has 0.6.")) == 2


def test_the_readmes_quote_the_same() -> None:
    both = [
        set(figures((ROOT / name).read_text("utf-8"), cited=True))
        for name in ("README.md", "README.zh.md")
    ]
    assert both[0] == both[1]


def test_the_page_on_benchmarks_is_made_from_the_records() -> None:
    made = readme.make()
    assert readme.README.read_text("utf-8") == made, (
        "run: python -m benchmarks.readme"
    )
    for path in (ROOT / RESULTS).glob("*.json"):
        command = json.loads(path.read_text("utf-8"))["command"]
        assert f"`{command}`" in made, f"no table is made of {path.name}"


def test_words_that_records_contradict_are_not_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(name: str) -> readme.Record:
        record = load(name)
        if "windows" in record:
            record["windows"]["a window, in blocks"] = 1.2
        return record

    load = readme.load
    monkeypatch.setattr(readme, "load", slow)
    with pytest.raises(ValueError, match="no longer say this: a mask saves"):
        readme.make()
