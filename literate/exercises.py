"""The exercises of a chapter: a task in two languages, a stub, a check and an answer.

A task begins with `**练习 1，题目。** …` and its twin `**Exercise 1: title.** …`. Three Python
fences follow, each with the exercise's id: `exercise="multi-head-1"` holds the stub, then, folded,
`check="multi-head-1"` tests the names that the stub defines, and `answer="multi-head-1"` defines them.
"""

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from literate.blocks import HAN, Block, ChapterError


Twin = tuple[Block, Block]
TASKS = (
    re.compile(r"\*\*练习 (\d+)，(.+?)(?:。|(?<=[？！]))\*\*\s*"),
    re.compile(r"\*\*Exercise (\d+): (.+?)(?:\.|(?<=[?!]))\*\*\s*"),
)
FORM = "`**练习 {0}，题目。** …` and its twin `**Exercise {0}: title.** …`"
FOLDS = {"check": "/// details | 检查 | Check", "answer": "/// details | 答案 | Answer"}
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

    @property
    def wanted(self) -> list[str]:
        """The names that the stub defines: all that the check is given."""
        return defined(ast.parse(self.stub.body))


def defined(tree: ast.Module) -> list[str]:
    """The names that a module binds at its top level, imports aside."""
    names = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            names += [n.id for n in ast.walk(target) if isinstance(n, ast.Name)] if target else []
    return names


def find(path: Path, parts: Sequence[Block | Twin]) -> list[Exercise]:
    """The exercises of a chapter, in order.

    Raises:
        ChapterError: One is not whole, not in order, or has a part that is not as it should be.
    """
    found: list[Exercise] = []
    folds: list[str] = []  # the /// blocks that are open
    task: list[Block | Twin] = []  # all since the last `**练习 1，`, up to the stub
    fences: dict[str, Block] = {}  # of the exercise that is being read
    number = 0
    for part in parts:
        if not isinstance(part, Block) and part[0].text.startswith("**练习 "):
            _whole(path, fences)
            number += 1
            _numbered(path, part, number)
            fences, task = {}, [part]
        elif isinstance(part, Block) and part.role:
            if fault := _misplaced(part, f"{path.stem}-{number}", task, fences, folds):
                raise ChapterError(path, part.line, fault)
            fences[part.role] = part
            if part.role == "answer":
                found.append(_exercise(path, task, fences))
        else:
            if isinstance(part, Block) and part.kind == "open":
                folds.append(part.text)
            if isinstance(part, Block) and part.kind == "close":
                folds.pop()
            if task and not fences:
                task.append(part)
    _whole(path, fences)
    return found


def _numbered(path: Path, twin: Twin, number: int) -> None:
    """Refuse a task whose number is not the next, in either language."""
    for block, pattern in zip(twin, TASKS, strict=True):
        head = pattern.match(block.text)
        if not head or int(head[1]) != number:
            fault = f"this is exercise {number} of the chapter; begin it {FORM.format(number)}"
            raise ChapterError(path, block.line, fault)


def _whole(path: Path, fences: dict[str, Block]) -> None:
    """Refuse an exercise that ends too early."""
    for role in ("check", "answer") if fences else ():
        if role not in fences:
            stub = fences["exercise"]
            fault = f"exercise {stub.id} has no {role}; write it in `{FOLDS[role]}`"
            raise ChapterError(path, stub.line, f'{fault} as ```python {role}="{stub.id}"')


def _misplaced(
    block: Block, id_: str, task: list[Block | Twin], fences: dict[str, Block], folds: list[str]
) -> str:
    """Why a fence cannot stand where it is, and what to do, or nothing."""
    order = ["exercise", *FOLDS]
    due = order[len(fences)] if len(fences) < len(order) else ""
    if not task:
        return f"no task stands above; write {FORM.format(1)}"
    if block.id != id_:
        return f'the task above is that of {id_}, not {block.id}; write {block.role}="{id_}"'
    if block.role != due:
        what = f"here stands the {due} of {id_}" if due else f"{id_} is complete"
        return f"{what}, not another {block.role}; each has a stub, a check, an answer, in order"
    if block.role == "exercise":
        if folds:
            return "a stub is not folded; close the /// block above it"
        if odd := next((b for b in task if isinstance(b, Block) and b.kind != "math"), None):
            return f"between task and stub stands the {odd.kind} of line {odd.line}; move it"
    elif folds[-1:] != [FOLDS[block.role]]:
        return f"the {block.role} of {id_} must stand folded, in `{FOLDS[block.role]}`"
    return ""


def _exercise(path: Path, task: list[Block | Twin], fences: dict[str, Block]) -> Exercise:
    """Put an exercise together when its three fences say what they should."""
    stub, check, answer = (fences[role] for role in ("exercise", *FOLDS))
    wanted = _check_stub(path, stub)
    _check_asserts(path, check)
    missing = set(wanted) - set(defined(_parse(path, answer)))
    if missing:
        fault = f"the answer does not define {', '.join(sorted(missing))}, as the stub does"
        raise ChapterError(path, answer.line, fault)
    (title, text), (title_en, text_en) = _task(task, 0), _task(task, 1)
    return Exercise(stub.id, (title, title_en), (text, text_en), stub, check, answer)


def _task(parts: list[Block | Twin], language: int) -> tuple[str, str]:
    """The title of a task and its text, in one language."""
    texts = [part.text if isinstance(part, Block) else part[language].text for part in parts]
    text = "\n\n".join(texts)
    head = TASKS[language].match(text)
    if not head:  # _numbered saw to it
        raise AssertionError(text)
    return plain(head[2]), plain(text[head.end() :])


def _parse(path: Path, block: Block) -> ast.Module:
    try:
        return ast.parse(block.body)
    except SyntaxError as error:
        raise ChapterError(path, block.line + (error.lineno or 1), error.msg) from None


def _check_stub(path: Path, stub: Block) -> list[str]:
    """The names that the stub defines, if it is one."""
    tree = _parse(path, stub)
    tops = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    if not tops or not all(map(ast.get_docstring, tops)):
        fault = "a stub defines a function or a class with a docstring; write one"
        raise ChapterError(path, stub.line, fault)
    return defined(tree)


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
