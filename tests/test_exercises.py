"""Exercises that a reader can check: read, run, tangled, shown."""

import json
from pathlib import Path

import pytest

from literate.blocks import ChapterError
from literate.chapter import Chapter
from literate.export import export
from literate.tangle import EXERCISES, exercises
from literate.weave import weave
from tests.book import Book


pytestmark = pytest.mark.slow  # each of them runs pytest

CHAPTER = '''# 苹果 | Apples {#apples}

## 练习 | Exercises {#exercises}

**练习 1，削皮。** 写一个函数 `peel(n)`，见[第二章](apple.md)。

把 **n** 减一。

**Exercise 1: peel it.** Write a function `peel(n)`, see [chapter 2](apple.md).

Take one off **n**.

$$
n - 1
$$

```python exercise="apple-1"
def peel(n):
    """Take one off."""
    raise NotImplementedError
```

/// details | 检查 | Check

```python check="apple-1"
import math

assert peel(math.floor(3.5)) == 2, "3 减 1 是 2 | 3 less 1 is 2"
```

///

/// details | 答案 | Answer

减一就行。

Subtract.

```python answer="apple-1"
def peel(n):
    """Take one off."""
    return n - 1
```

///
'''
SECOND = CHAPTER[CHAPTER.index("**练习 1") :].replace("apple-1", "apple-2")
SECOND = SECOND.replace("练习 1", "练习 2").replace("Exercise 1", "Exercise 2")
STUB, CHECK, ANSWER = (
    CHAPTER[: CHAPTER.index(f"```python {role}=")].count("\n") + 1
    for role in ("exercise", "check", "answer")
)


def chapter(text: str) -> Chapter:
    return Chapter(Path("docs/fruit/apple.md"), text, 2).check()


def without(role: str) -> str:
    start = CHAPTER.index(f"```python {role}=")
    return CHAPTER[:start] + CHAPTER[CHAPTER.index("```\n", start) + 4 :]


def test_an_exercise_is_read() -> None:
    (one,) = chapter(CHAPTER).exercises
    assert one.id == "apple-1"
    assert one.title == ("削皮", "peel it")
    assert one.task == (
        "写一个函数 `peel(n)`，见第二章。\n\n把 n 减一。\n\n$$\nn - 1\n$$",
        "Write a function `peel(n)`, see chapter 2.\n\n"
        "Take one off n.\n\n$$\nn - 1\n$$",
    )
    assert one.wanted == ["peel"]
    first, second = chapter(CHAPTER + "\n" + SECOND).exercises
    assert (first.id, second.id) == ("apple-1", "apple-2")


def test_a_question_may_be_a_title_and_stand_without_code() -> None:
    text = "**练习 1，为什么？** 想一想。\n\n**Exercise 1: why?** Think.\n"
    assert chapter(text).exercises == []
    (found,) = chapter(text + "\n" + SECOND).exercises
    assert found.id == "apple-2"
    assert chapter(CHAPTER.replace("削皮。", "削皮？")).exercises[0].title == (
        "削皮？",
        "peel it",
    )


STEP = SECOND.replace("削皮。**", "再削 ★★。**")
STEP = STEP.replace("peel it.**", "peel again ★★.**")
STEP = STEP.replace("peel(", "peel_twice(")
STEP = STEP.replace(
    "raise NotImplementedError\n```\n",
    "return peel(n)  # a bug\n```\n\n"
    "/// details | 提示 | Hint\n\n看[第二章](apple.md)。\n\n"
    "See **chapter** 2.\n\n///\n",
)
STEP = STEP.replace("math.floor(3.5)) == 2", "4) == peel(3)")
STEP = STEP.replace("return n - 1", "return peel(peel(n))")
LADDER = CHAPTER.replace("削皮。**", "削皮 ★。**")
LADDER = LADDER.replace("peel it.**", "peel it ★.**")


def test_a_step_has_a_hint_and_those_above_it() -> None:
    plain, *_ = chapter(CHAPTER).exercises
    assert (plain.is_step, plain.above, plain.hint) == (False, (), ("", ""))
    first, second = chapter(LADDER + "\n" + STEP).exercises
    assert first.is_step
    assert first.title == ("削皮 ★", "peel it ★")
    assert second.above == (first,)
    assert second.hint == ("看第二章。", "See chapter 2.")
    assert second.wanted == ["peel_twice"]
    _, second = chapter(CHAPTER + "\n" + STEP).exercises
    assert second.above == ()  # the first is no step
    _, second = chapter(LADDER + "\n" + SECOND).exercises
    assert second.above == ()

    found = json.loads(exercises([chapter(LADDER + "\n" + STEP)]))
    assert not {"after", "hint"} & found["apple-1"].keys()
    assert found["apple-2"]["after"] == "apple-1"
    assert found["apple-2"]["hint"] == {
        "zh": "看第二章。",
        "en": "See chapter 2.",
    }


def test_a_step_runs_below_the_answers_above_it(book: Book) -> None:
    book.write(LADDER + "\n" + STEP)
    assert "6 passed" in book.run().stdout
    book.write(CHAPTER + "\n" + STEP)
    assert "name 'peel' is not defined" in book.run().stdout
    book.write(LADDER + "\n" + STEP.replace("peel(n)  #", "peel(peel(n))  #"))
    assert "passes though nothing is written yet" in book.run().stdout


def test_every_name_of_a_stub_is_wanted() -> None:
    start = 'exercise="apple-1"\n'
    more = "import math\nfrom math import pi\n\nSEEDS, core = 5, [i for i in (1, 2)]\n"
    text = CHAPTER.replace(start, start + more)
    text = text.replace(
        'answer="apple-1"\n', 'answer="apple-1"\nSEEDS, core = 6, 1\n'
    )
    assert chapter(text).exercises[0].wanted == ["SEEDS", "core", "peel"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (
            without("check"),
            CHECK + 1,
            'go on with ````python check="apple-1',
        ),
        (
            CHAPTER[: CHAPTER.index("/// details")],
            STUB,
            "go on with `/// details | 检查 | Check` here, and the exercise",
        ),
        (
            CHAPTER + "\n" + CHAPTER[CHAPTER.index("/// details | 答案") :],
            ANSWER + 8,
            "apple-1 should be complete, got `/// details | 答案",
        ),
        (CHAPTER.replace("练习 1", "练习 2"), 5, "this is exercise 1 of the"),
        (CHAPTER.replace("peel it.**", "peel it**."), 9, "begin it `**练习 1"),
        (CHAPTER.replace("**练习 1", "练习 1"), STUB, "no task stands above"),
        (
            CHAPTER.replace("$$\nn - 1\n$$", "---"),
            STUB - 2,
            "between task and stub stands the hr of line 13",
        ),
        (
            CHAPTER.replace('    """Take one off."""\n', "", 1),
            STUB,
            "a function or a class with a docstring",
        ),
        (CHAPTER.replace("(n):", "(n:", 1), STUB + 1, "was never closed"),
        (
            CHAPTER.replace("assert peel", "print(peel")
            .replace('== 2, "3', '== 2), ("3')
            .replace('is 2"', 'is 2")'),
            CHECK,
            "a check asserts something; add an assert",
        ),
        (
            CHAPTER.replace(', "3 减 1 是 2 | 3 less 1 is 2"', ""),
            28,
            "a message",
        ),
        (CHAPTER.replace(" | 3 less 1 is 2", ""), 28, "says what is wrong"),
        (
            LADDER.replace("★.", "★★."),
            STUB,
            "both titles end with a space and the same 1 to 3 stars",
        ),
        (LADDER.replace("★", "★★★★"), STUB, "the same 1 to 3 stars"),
        (LADDER.replace(" ★", "★"), STUB, "end with a space"),
        (LADDER.replace(" ★。", "。"), STUB, "both titles end with"),
        (
            CHAPTER.replace(
                'def peel(n):\n    """Take one off."""\n    return',
                "def skin(n):\n    return",
            ),
            ANSWER,
            "the answer does not define peel, as the stub does",
        ),
    ],
)
def test_an_exercise_that_is_not_whole_is_named(
    text: str, line: int, says: str
) -> None:
    with pytest.raises(ChapterError) as caught:
        chapter(text)
    message = str(caught.value)
    assert message.startswith(f"docs/fruit/apple.md:{line}: "), message
    assert says in message


TITLE = '```python title="attention_book/apple.py"\ndef peel(n):\n    return n\n```\n\n'


def test_an_answer_must_pass_its_check_and_a_stub_must_not(book: Book) -> None:
    book.write(CHAPTER)
    assert "3 passed" in book.run().stdout

    book.write(CHAPTER.replace("return n - 1", "return n - 2"))
    said = book.run().stdout
    assert "1 failed, 2 passed" in said
    assert f"apple.md:{CHECK + 3}: in <module>" in said
    assert "3 减 1 是 2 | 3 less 1 is 2" in said

    book.write(CHAPTER.replace("raise NotImplementedError", "return n - 1"))
    said = book.run().stdout
    assert "1 failed, 2 passed" in said
    assert f"apple.md:{STUB}: its check passes though nothing is" in said


def test_a_stub_must_fail_because_it_is_not_written(book: Book) -> None:
    book.write(CHAPTER.replace("raise NotImplementedError", "return m", 1))
    said = book.run().stdout
    assert "1 failed, 2 passed" in said
    assert "name 'm' is not defined" in said


def test_an_exercise_sees_nothing_but_itself(book: Book) -> None:
    """Neither the chapter nor, in its check, what the answer imports."""
    cell = "```python\nSEEDS = 1\n```\n\n"
    book.write(cell + CHAPTER)
    assert "4 passed" in book.run().stdout
    book.write(cell + CHAPTER.replace("return n - 1", "return n - SEEDS"))
    assert "name 'SEEDS' is not defined" in book.run().stdout

    used = CHAPTER.replace("import math\n\nassert", "assert")
    used = used.replace(
        'answer="apple-1"\n', 'answer="apple-1"\nimport math\n\n\n'
    )
    book.write(used)
    said = book.run().stdout
    assert "2 failed, 1 passed" in said  # with the answer as with the stub
    assert "name 'math' is not defined" in said

    book.write(CHAPTER + "\n```python\npeel(3)\n```\n")
    assert "name 'peel' is not defined" in book.run().stdout


def test_an_exercise_runs_alone_and_counts_for_the_chapter(book: Book) -> None:
    failing = "```python\nassert False\n```\n\n"
    book.write(failing + CHAPTER)
    alone = book.run("-k", f"line:{ANSWER + failing.count(chr(10))}").stdout
    assert "1 passed, 3 deselected" in alone
    stamp = book.root / ".cache/ran/apple"
    assert not stamp.exists()
    book.write(CHAPTER)
    book.run("-k", f"line:{ANSWER}")
    assert not stamp.exists()
    book.run()
    assert stamp.exists()
    book.write(CHAPTER.replace("n - 1\n```", "n - 2\n```"))
    book.run()
    assert not stamp.exists()


def test_tangle_writes_all_but_the_answers(
    book: Book, capsys: pytest.CaptureFixture[str]
) -> None:
    book.write(TITLE + CHAPTER)
    assert book.tangle() == 0
    file = book.root / EXERCISES
    text = file.read_text("utf-8")
    assert "n - 1" in text  # of the task
    assert "return n - 1" not in text
    assert json.loads(text) == {
        "apple-1": {
            "chapter": {"number": 1, "zh": "苹果", "en": "Apples"},
            "title": {"zh": "削皮", "en": "peel it"},
            "task": {
                "zh": "写一个函数 `peel(n)`，见第二章。\n\n把 n 减一。\n\n$$\nn - 1\n$$",
                "en": "Write a function `peel(n)`, see chapter 2.\n\n"
                "Take one off n.\n\n$$\nn - 1\n$$",
            },
            "names": ["peel"],
            "stub": [
                "def peel(n):",
                '    """Take one off."""',
                "    raise NotImplementedError",
            ],
            "check": [
                "import math",
                "",
                "assert peel(math.floor(3.5)) == 2, "
                '"3 减 1 是 2 | 3 less 1 is 2"',
            ],
        }
    }
    assert book.tangle("--check") == 0
    file.write_text(text.replace("削皮", "切开"), "utf-8")
    assert book.tangle("--check") == 1
    said = capsys.readouterr().err
    assert 'exercises.json:9: has \'   "zh": "切开",\', the chapter' in said
    assert "and is older; run: nox -s tangle" in said
    assert book.tangle() == 0
    assert file.read_text("utf-8") == text

    book.module.write_text(book.module.read_text().replace("n\n", "+n\n"))
    assert book.tangle("--stitch") == 0
    assert file.read_text("utf-8") == text

    book.write(TITLE)
    assert book.tangle("--check") == 1
    assert book.tangle() == 0
    assert json.loads(file.read_text("utf-8")) == {}


def test_a_task_refers_to_formulas_by_number() -> None:
    text = CHAPTER.replace("n - 1\n$$", "n - 1 \\label{eq-peel}\n$$", 1)
    text = text.replace("把 **n** 减一。", "照[式](#eq-peel)算。")
    text = text.replace("Take one off **n**.", "Use [Equation](#eq-peel).")
    task = json.loads(exercises([chapter(text)]))["apple-1"]["task"]
    assert "\n\n照式 (2.1) 算。\n\n" in task["zh"]
    assert "\n\nUse Equation (2.1).\n\n" in task["en"]


def test_the_page_labels_a_stub_and_says_how_to_check_it() -> None:
    woven = weave(chapter(CHAPTER), "zh")
    assert '```python title="练习 apple-1"\ndef peel(n):' in woven
    assert "```python\nimport math\n" in woven
    assert woven.index("{#exercises") < woven.index("exercise apple-1 > ex.py")
    assert woven.index("exercise apple-1 > ex.py") < woven.index("练习 1，")
    english = weave(chapter(CHAPTER), "en")
    assert '```python title="Exercise apple-1"' in english
    assert english.count("attention-book check ex.py") == 2  # one is hidden
    none = CHAPTER[: CHAPTER.index("**练习")]
    assert "attention-book" not in weave(chapter(none), "zh")


def test_a_notebook_folds_checks_and_answers() -> None:
    book = json.loads(export(chapter(CHAPTER), "en"))
    codes = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    _, stub, check, answer = [cell["metadata"] for cell in codes]
    assert stub == {}
    folded = {"jupyter": {"source_hidden": True}}
    assert check == {"tags": ["raises-exception"], **folded}
    assert answer == folded
