"""The exercises of a chapter: a task in two languages, a stub, a check and an answer.

A task begins with `**练习 1，题目。** …` and its twin `**Exercise 1: title.** …`. Three Python
fences follow, each with the exercise's id: `exercise="multi-head-1"` holds the stub, then, folded,
`check="multi-head-1"` tests the names that the stub defines, and `answer="multi-head-1"` defines them.
A fold with a hint may stand below the stub.

A title that ends with stars, one to three for how hard it is, makes the task a step: its stub, check
and answer may use what the steps above it on the page define. The stub may be code with a bug.
"""

import ast
import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile, zip_longest
from pathlib import Path
from typing import NamedTuple

from literate.blocks import HAN, Block, ChapterError, names


Twin = tuple[Block, Block]
TASKS = (
    re.compile(r"\*\*练习 (\d+)，(.+?)(?:。|(?<=[？！]))\*\*\s*"),
    re.compile(r"\*\*Exercise (\d+): (.+?)(?:\.|(?<=[?!]))\*\*\s*"),
)
FORM = "`**练习 {0}，题目。** …` and its twin `**Exercise {0}: title.** …`"
HINT = "/// details | 提示 | Hint"
FOLDS = {"check": "/// details | 检查 | Check", "answer": "/// details | 答案 | Answer"}
STARS = re.compile(r"[^★]+ (★{1,3})")
# A link or emphasis, of which the text is left; or code or a formula, left as they are.
MARKS = re.compile(
    r"\[((?:`[^`]*`|[^]`])*)\](?:\([^)]*\)|\[[^]]*\])|\*\*(.+?)\*\*|(`+)(?:.|\n)*?\3|\$[^$]+\$"
)


class Exercise(NamedTuple):
    """An exercise, its title and its task in Chinese and in English."""

    id: str
    title: tuple[str, str]
    task: tuple[str, str]
    stub: Block
    check: Block
    answer: Block
    hint: tuple[str, str] = ("", "")
    above: "tuple[Exercise, ...]" = ()  # the steps that it builds on

    @property
    def wanted(self) -> list[str]:
        """The names that the stub defines; a check is given these and those of the steps above."""
        return names(self.stub.body, Path(), 0, imports=False)

    @property
    def is_step(self) -> bool:
        """Whether it is a step of a ladder."""
        return "★" in self.title[0]


def find(path: Path, parts: Sequence[Block | Twin]) -> list[Exercise]:
    """The exercises of a chapter, in order; a question may stand without code.

    Raises:
        ChapterError: One is not whole, not in order, or has a part that is not as it should be.
    """
    heads = [
        (at, part)
        for at, part in enumerate(parts)
        if not isinstance(part, Block) and part[0].text.startswith("**练习 ")
    ]
    starts = [at for at, _ in heads]
    for part in parts[: starts[0] if starts else None]:
        if isinstance(part, Block) and part.role:
            raise ChapterError(path, part.line, f"no task stands above; write {FORM.format(1)}")
    found: list[Exercise] = []
    for number, (start, twin) in enumerate(heads, 1):
        for block, pattern in zip(twin, TASKS, strict=True):
            head = pattern.match(block.text)
            if not head or int(head[1]) != number:
                fault = f"this is exercise {number} of the chapter; begin it {FORM.format(number)}"
                raise ChapterError(path, block.line, fault)
        own = parts[start : starts[number] if number < len(starts) else None]
        if any(isinstance(part, Block) and part.role for part in own):
            one = _exercise(path, own, f"{path.stem}-{number}")
            steps = [other for other in found if one.is_step and other.is_step]
            found.append(one._replace(above=tuple(steps)))
    return found


def _fences(path: Path, parts: Sequence[Block | Twin], id_: str) -> dict[str, Block]:
    """The stub, the check and the answer of an exercise, which follow its task in this order."""
    wanted = [f'```python exercise="{id_}"']
    if any(isinstance(part, Block) and part.text == HINT for part in parts):
        wanted += [HINT, "///"]
    for role, fold in FOLDS.items():
        wanted += [fold, f'```python {role}="{id_}"', "///"]
    marks = [p for p in parts if isinstance(p, Block) and (p.role or p.kind in ("open", "close"))]
    last = max(i for i, mark in enumerate(marks, 1) if mark.role)
    for want, mark in zip_longest(wanted, marks[: max(len(wanted), last)]):
        if not (want and mark) or mark.text.split("\n")[0] != want:
            got = f"got `{mark.text.splitlines()[0]}`" if mark else "and the exercise ends"
            line = (mark or marks[-1]).line
            due = f"go on with `{want}` here" if want else "be complete"
            raise ChapterError(path, line, f"{id_} should {due}, {got}")
    return {mark.role: mark for mark in marks if mark.role}


def _exercise(path: Path, parts: Sequence[Block | Twin], id_: str) -> Exercise:
    """Put an exercise together when its three fences say what they should."""
    fences = _fences(path, parts, id_)
    stub, check, answer = (fences[role] for role in ("exercise", *FOLDS))
    task = parts[: parts.index(stub)]
    for part in task:
        if isinstance(part, Block) and part.kind != "math":
            fault = f"between task and stub stands the {part.kind} of line {part.line}; move it"
            raise ChapterError(path, stub.line, fault)
    _check_stub(path, stub)
    _check_asserts(path, check)
    wanted, given = (
        set(names(block.body, path, block.line, imports=False)) for block in (stub, answer)
    )
    if missing := wanted - given:
        fault = f"the answer does not define {', '.join(sorted(missing))}, as the stub does"
        raise ChapterError(path, answer.line, fault)
    (title, text), (title_en, text_en) = _task(task, 0), _task(task, 1)
    stars = [STARS.fullmatch(half) for half in (title, title_en) if "★" in title + title_en]
    if len({found and found[1] for found in stars}) > 1 or None in stars:
        fault = "both titles end with a space and the same 1 to 3 stars"
        raise ChapterError(path, stub.line, fault)
    hint, hint_en = (plain(_texts(_hint(parts), language)) for language in (0, 1))
    both = (title, title_en), (text, text_en)
    return Exercise(stub.id, *both, stub, check, answer, (hint, hint_en))


def _hint(parts: Sequence[Block | Twin]) -> Sequence[Block | Twin]:
    """What stands in the fold of the hint, if there is one."""
    fold = dropwhile(lambda part: getattr(part, "text", "") != HINT, parts)
    return [*takewhile(lambda part: getattr(part, "kind", "") != "close", fold)][1:]


def _task(parts: Sequence[Block | Twin], language: int) -> tuple[str, str]:
    """The title of a task and its text, in one language."""
    _, title, text = TASKS[language].split(_texts(parts, language), maxsplit=1)[1:]
    return plain(title), plain(text)


def _texts(parts: Sequence[Block | Twin], language: int) -> str:
    """What parts say in one language."""
    texts = [part.text if isinstance(part, Block) else part[language].text for part in parts]
    return "\n\n".join(texts)


def _parse(path: Path, block: Block) -> ast.Module:
    try:
        return ast.parse(block.body)
    except SyntaxError as error:
        raise ChapterError(path, block.line + (error.lineno or 1), error.msg) from None


def _check_stub(path: Path, stub: Block) -> None:
    """Refuse a stub that defines nothing, or does not say what."""
    tops = [
        node for node in _parse(path, stub).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    if not tops or not all(map(ast.get_docstring, tops)):
        fault = "a stub defines a function or a class with a docstring; write one"
        raise ChapterError(path, stub.line, fault)


def _check_asserts(path: Path, check: Block) -> None:
    """Refuse an assert that does not say in both languages what is wrong."""
    asserts = [node for node in ast.walk(_parse(path, check)) if isinstance(node, ast.Assert)]
    if not asserts:
        raise ChapterError(path, check.line, "a check asserts something; add an assert")
    for node in asserts:
        zh, _, en = _words(node.msg).partition(" | ")
        if not HAN.search(zh) or not en.strip():
            fault = 'this assert needs a message, "中文 | English", that says what is wrong'
            raise ChapterError(path, check.line + node.lineno, fault)


def _words(node: ast.expr | None) -> str:
    """The text of a string or an f-string, `{}` for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_words(value) or "{}" for value in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else ""


def plain(text: str) -> str:
    """Markdown for a terminal: links and bold as their text, code and formulas as they are."""
    return MARKS.sub(lambda found: found[1] or found[2] or found[0], text)
