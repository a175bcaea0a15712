"""The ladder: its answers climb in one file, and no step takes wrong code."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from attention_book.cli import check_worker
from attention_book.cli.app import app
from literate.chapter import ROOT, read


pytestmark = pytest.mark.slow


STEPS = {
    step.id: step for step in read(Path("docs/source/ladder.md")).exercises
}
GIVEN = json.loads((ROOT / "attention_book/exercises.json").read_bytes())
BUGS = {  # what is observed of the code that has one
    "ladder-5": "the outputs of the first 3 change by",
    "ladder-10": "got 1.000, 0.316, 0.100, 0.032",
    "ladder-12": "in a batch of one",
}


@pytest.fixture(scope="module")
def climb(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The texts of a reader's file at each step: as added, and answered."""
    file = tmp_path_factory.mktemp("ladder") / "ladder.py"
    found = {}
    for name, step in STEPS.items():
        said = CliRunner().invoke(app, ["exercise", name, "--into", str(file)])
        assert said.exit_code == 0, said.output
        text = file.read_text("utf-8")
        before, stub, after = text.rpartition(step.stub.body)
        assert (bool(stub), after) == (True, "")
        file.write_text(before + step.answer.body, "utf-8")
        found[name] = [text, before + step.answer.body]
    return found


@pytest.fixture
def attempt(tmp_path: Path) -> Iterator[Any]:
    """Check one step of a text as the command's process does."""

    def run(name: str, text: str) -> dict[str, Any]:
        file = tmp_path / "ladder.py"
        file.write_text(text, "utf-8")
        names = [*list(STEPS)[: list(STEPS).index(name) + 1]]
        return check_worker._try(
            str(file),
            [
                (each, GIVEN[each]["names"], "\n".join(check))
                for each in names
                for check in [GIVEN[each]["check"] if each == name else []]
            ],
        )

    yield run
    for name in ("exercise", "check"):
        sys.modules.pop(name, None)


def test_each_step_has_stars_a_hint_and_the_one_before_it() -> None:
    before = None
    for name, step in STEPS.items():
        assert step.is_step
        assert all(step.hint)
        assert GIVEN[name].get("after") == before
        before = name
    stars = {step.title[0].count("★") for step in STEPS.values()}
    assert stars == {1, 2, 3}


def test_no_step_redefines_what_another_has_defined() -> None:
    names = [name for step in STEPS.values() for name in step.wanted]
    assert len({*names}) == len(names)


@pytest.mark.parametrize("name", STEPS)
def test_the_code_that_is_given_does_not_pass(
    name: str, climb: dict[str, list[str]], attempt: Any
) -> None:
    result = attempt(name, climb[name][0])
    assert result["id"] == name
    if name in BUGS:
        assert result["kind"] == "failed"
        assert BUGS[name] in result["text"]
    else:
        assert result["kind"] == "unwritten"


@pytest.mark.parametrize("name", STEPS)
def test_the_answer_passes(
    name: str, climb: dict[str, list[str]], attempt: Any
) -> None:
    result = attempt(name, climb[name][1])
    assert result == {"kind": "passed", "id": name}


WRONG = [  # step, right code, wrong code, what is said of it
    ("1", " / math.sqrt(len(q))", "", "not yet divided"),
    ("1", "math.sqrt(len(q))", "len(q)", "got 2.75"),
    ("1", "q @ k", "q * k", "got a shape of (4,)"),
    ("2", " - scores.amax(dim=-1, keepdim=True)", "", "infinity or nan"),
    ("2", "amax(dim=-1, keepdim=True)", "max()", "500 above the other rows"),
    ("2", "sum(dim=-1, keepdim=True)", "sum()", "a row sum to 1, got"),
    ("3", "softmax(scores)", "softmax(scores / 2)", "the scale applied twice"),
    ("3", "score(q, k)", "q @ k", "what comes of no scale"),
    ("3", " @ V", "", "so has the output, got shape (5,)"),
    ("4", "K.transpose(-2, -1)", "K.transpose(0, -1)", "RuntimeError"),
    ("4", "~mask", "mask", "True means may attend"),
    ("4", "-torch.inf", "0.0", "that are hidden"),
    ("4", " / math.sqrt(Q.shape[-1])", "", "equal attend(q, K, V)"),
    ("5", "tril()", "tril(1)", "causal mask of 3 tokens is"),
    ("5", ", causal_mask(Q.shape[-2])", "", "the first 3 change by"),
    (
        "6",
        "x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)",
        "x.view(len(x), n_heads, x.shape[1], -1)",
        "the first 4 numbers of the second token are [12,",
    ),
    (
        "6",
        "x.transpose(-3, -2).flatten(-2)",
        "x.reshape(len(x), x.shape[2], -1)",
        "the first token is what it was",
    ),
    ("7", "Q, K, V =", "Q, V, K =", "Which half are the keys?"),
    ("7", "x if memory is None else memory", "x", "given memory, keys and"),
    ("7", ", mask)))", ")))", "given a mask, the output is wrong"),
    ("7", "self.out_proj(merge_heads", "(merge_heads", "Is out_proj used?"),
    ("7", "2 * d_model", "d_model", "kv_proj.weight"),
    ("8", "unbiased=False", "unbiased=True", "variance (by d) of 1"),
    ("8", "(variance + 1e-5).sqrt()", "(variance.sqrt() + 1e-5)", "before"),
    ("8", " * self.weight + self.bias", " + self.bias", "times weight, plus"),
    ("8", "x + sublayer(self.norm(x))", "sublayer(self.norm(x))", "as it is"),
    ("8", "x + sublayer(self.norm(x))", "x + sublayer(x)", "x normalised"),
    ("9", "torch.relu(self.up_proj(x))", "self.up_proj(x)", "no ReLU"),
    ("9", "torch.relu", "nn.functional.gelu", "should be down_proj(relu"),
    ("10", "x * math.sqrt(d_model)", "x", "times √d_model"),
    ("10", "torch.arange(length)[", "torch.arange(1, length + 1)[", "on 0 is"),
    (
        "10",
        "stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)",
        "cat([angles.sin(), angles.cos()], dim=-1)",
        "position 0 is 0 and 1 in turn, got [0.0, 0.0",
    ),
    ("11", "return self.norm(x)", "return x", "is the final norm in use?"),
    ("11", "layer(x, mask)", "layer(x)", "every layer needs the mask"),
    (
        "11",
        "for _ in range(2)",
        "for _ in range(3)",
        "from the book's encoder",
    ),
    ("12", "x.shape[1]", "len(x)", "in a batch of one"),
    (
        "12",
        ", memory_mask)\n        )",
        ")\n        )",
        "other padding in the",
    ),
    ("13", "tokens.weight.T", "tokens.weight.T / 16", "the logits differ"),
    ("13", "(source), mask)", "(source))", "are positions and mask in use?"),
    ("13", "    model.load_state_dict(", "    dict(", "not those of the file"),
    ("14", "return found[1:]", "return found", "should not begin with <bos>"),
    ("14", "found[1:]", "found[1:-1]", "should end in <eos>"),
    ("14", "<= max_length", "< max_length", "this should stop at"),
]


@pytest.mark.parametrize(
    ("number", "right", "wrong", "says"),
    [
        pytest.param(*each, marks=pytest.mark.slow if seconds else ())
        for each in WRONG
        for seconds in [each[0] in ("13", "14")]
    ],
)
def test_wrong_code_is_told_what_is_wrong(
    number: str,
    right: str,
    wrong: str,
    says: str,
    climb: dict[str, list[str]],
    attempt: Any,
) -> None:
    name = f"ladder-{number}"
    before, mark, last = climb[name][1].rpartition("# attention-book ")
    assert right in last
    result = attempt(name, before + mark + last.replace(right, wrong))
    assert (result["id"], result["kind"]) != (name, "passed")
    assert says in result["text"], result
    if result["kind"] == "failed":
        zh, _, en = result["text"].partition(" | ")
        assert zh
        assert en


@pytest.mark.slow
def test_the_top_translates_as_the_book_does(
    climb: dict[str, list[str]], tmp_path: Path
) -> None:
    """Every step is checked, in a process, by the command."""
    file = tmp_path / "ladder.py"
    file.write_text(climb["ladder-14"][1], "utf-8")
    command = [sys.executable, "-m", "attention_book", "check", str(file)]
    found = subprocess.run(
        [*command, "--language", "en"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=300,
    )
    *printed, last = found.stdout.splitlines()
    assert last == "Exercise ladder-14 passed", found
    assert len(printed) == 6
    assert "明天会下雨吗？ → Will it rain tomorrow?" in printed
    assert found.returncode == 0
