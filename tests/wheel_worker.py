"""What the `wheel` session runs where only the built wheel is installed.

It is given the wheel and the sdist, looks into both, and uses the package.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path


def main(wheel: Path, sdist: Path) -> None:
    inside = zipfile.ZipFile(wheel).namelist()
    modules = {name for name in inside if ".dist-info/" not in name}
    assert {
        "attention_book/__init__.py",
        "attention_book/__main__.py",
        "attention_book/exercises.json",
        "attention_book/models/everyday.safetensors",
        "attention_book/py.typed",
    } <= modules
    assert all(
        name.startswith("attention_book/")
        and name.endswith(
            (".py", "py.typed", ".safetensors", "exercises.json")
        )
        for name in modules
    ), modules
    for name in ("LICENSE", "NOTICE"):
        assert any(path.endswith(f"licenses/{name}") for path in inside)

    with tarfile.open(sdist) as archive:
        parts = [name.split("/", 1)[1] for name in archive.getnames()]
    for wanted in (
        "attention_book/exercises.json",
        "docs/attention/scoring.md",
        "README.md",
        "noxfile.py",
    ):
        assert wanted in parts
    unwanted = ("site", ".nox", ".cache", ".git/")
    drawn = [name for name in parts if "/figures/" in name]
    assert not [name for name in parts if name.startswith(unwanted)] + drawn

    import torch

    import attention_book

    home = Path(attention_book.__file__).parent
    assert "site-packages" in home.parts, home
    version = importlib.metadata.version("attention-book")
    assert version == attention_book.__version__
    requires = importlib.metadata.requires("attention-book") or []
    needed = [line for line in requires if "extra ==" not in line]
    assert len(needed) == 5, needed

    x = torch.randn(2, 3, 5, 7)
    mask = attention_book.padding_mask(torch.tensor([5, 3]), 5)
    fused = attention_book.fused_attention(x, x, x, mask)
    plain, _ = attention_book.scaled_dot_product_attention(x, x, x, mask)
    torch.testing.assert_close(fused, plain)

    said = run("translate", "I love you.", "我爱你。")
    assert said == "我爱你。\nI love you.\n", said
    module = [sys.executable, "-m", "attention_book", "--version"]
    assert subprocess.check_output(module, text=True) == f"{version}\n"
    an_exercise_is_printed_and_checked()
    compiled_training_is_eager_training()
    print(f"attention-book {version} works from {wheel.name}")


def run(*arguments: str) -> str:
    """What the installed command prints."""
    command = Path(sys.executable).with_name("attention-book")
    return subprocess.run(
        [command, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=os.environ | {"PYTHONUTF8": "1"},
    ).stdout


def an_exercise_is_printed_and_checked() -> None:
    """As its stub, which is not written, and with code that is wrong."""
    command = Path(sys.executable).with_name("attention-book")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "ex.py")
        text = run("exercise", "by-hand-2", "--language", "en")
        for code, status in (
            ("raise NotImplementedError", 1),
            ("return (Q @ K.T).softmax(1) @ V", 1),
        ):
            attempt = text.replace("raise NotImplementedError", code)
            file.write_text(attempt, "utf-8")
            found = subprocess.run([command, "check", file], check=False)
            assert found.returncode == status, code


def compiled_training_is_eager_training() -> None:
    """By inductor, which takes most of a minute."""
    import torch

    from attention_book.io.tensors import read_tensors

    if not shutil.which(os.environ.get("CXX", "g++")):
        print("no C++ compiler here: train --compile was NOT tried")
        return
    options = "--max-steps 3 --batch-tokens 300 --dropout 0 --d-model 16"
    options += " --n-layers 1 --n-heads 2"  # no chances: each has its own
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        for how in ([], ["--compile"]):
            out = str(Path(folder) / f"model{len(how)}")
            run("train", out, *options.split(), *how)
            losses.append(read_tensors(Path(out))[0]["losses"])
    torch.testing.assert_close(*losses, atol=1e-4, rtol=0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
