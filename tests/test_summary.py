"""What a page says of itself."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from literate import summary
from literate.chapter import Chapter


TEXT = """# 甲 | A

**一**个[词](a.md)`x`。第二句？$x$ 是数。

**One** [word](a.md) `x`. A second? $x$ is a number.

```python
print(1)
```
"""


@pytest.fixture
def page() -> Chapter:
    return Chapter(Path("docs/fruit/x.md"), TEXT, 7)


def test_a_description_is_the_first_sentences(page: Chapter) -> None:
    assert summary.description(page, "zh") == "一个词x。第二句？"
    assert summary.description(page, "en") == "One word x. A second?"
    long = TEXT.replace("第二句", "很长" * 50).replace(
        "A second", "So long" * 50
    )
    page = Chapter(page.path, long)
    assert summary.description(page, "zh") == "一个词x。"
    assert summary.description(page, "en") == "One word x."
    assert summary.description(Chapter(page.path, "# 甲 | A\n"), "zh") == ""
    figure = '![a | b](figures/x/one.svg "c | d")\n\n'
    numbered = TEXT.replace("一**", "一**看[图](#fig-one)的").replace(
        "```python", figure + "```python"
    )
    page = Chapter(page.path, numbered, 7)
    space = "\N{NO-BREAK SPACE}"
    said = summary.description(page, "zh")
    assert said == f"一看图{space}7.1 的个词x。第二句？"


def test_minutes_count_prose_and_code() -> None:
    prose = f"{'字' * 3900}。\n\n{'word ' * 1190}.\n\n"
    code = "```python\n" + "x = 1\n" * 45 + "```\n"
    page = Chapter(Path("docs/fruit/x.md"), f"# 甲 | A\n\n{prose}{code}")
    assert summary.minutes(page, "zh") == 10 + 3
    assert summary.minutes(page, "en") == 5 + 3


def test_a_chapter_says_when_it_passed(
    page: Chapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = tmp_path / "x"
    monkeypatch.setattr(summary, "stamp", lambda _: passed)
    assert "tested" not in summary.of(page, "zh")
    passed.touch()
    when = datetime(2026, 5, 4, tzinfo=UTC).timestamp()
    os.utime(passed, (when, when))
    about = summary.of(page, "zh")
    assert about["tested"] == "2026-05-04"
    assert about["torch"][0].isdigit()
    assert about["minutes"] == "1"
    part = Chapter(Path("docs/fruit/index.md"), TEXT)
    assert set(summary.of(part, "zh")) == {"description"}
