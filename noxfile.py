"""The sessions of the book. `nox -l` lists them; `nox -s NAME -- …` passes more on."""

import hashlib
import itertools
import re
import sys
from pathlib import Path

import nox


nox.options.default_venv_backend = "none"
nox.options.sessions = ["tests", "slow", "lint", "wheel", "browser"]

ENV = Path(".nox/book").absolute()
BIN = ENV / ("Scripts" if sys.platform == "win32" else "bin")
CONSTRAINTS = "constraints.txt"


def book(session: nox.Session, *command: str, silent: bool = False) -> object:
    """Run `python …` in the one environment that all sessions share.

    It is made once, and again when what it is made of has changed.
    """
    recipe = [
        Path(name).read_bytes() for name in ("pyproject.toml", CONSTRAINTS)
    ]
    wanted = hashlib.sha256(
        b"".join([sys.version.encode(), *recipe])
    ).hexdigest()
    stamp, python = ENV / "made-of", str(BIN / "python")
    if not stamp.exists() or stamp.read_text() != wanted:
        session.log(f"installing into .nox/{ENV.name}, which takes minutes")
        session.run(
            sys.executable,
            "-m",
            "virtualenv",
            "--clear",
            str(ENV),
            silent=True,
            external=True,
        )
        install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--constraint",
            CONSTRAINTS,
        ]
        install += ["--no-compile", "--editable", ".[book]"]
        session.run(python, *install, external=True)
        # By all cores, while pip takes one. Not every file is for this Python.
        session.run(
            *(python, "-m", "compileall", "-qq", "-j", "0", str(ENV)),
            success_codes=[0, 1],
            external=True,
        )
        stamp.write_text(wanted)
    return session.run(python, *command, silent=silent, external=True)


@nox.session
def serve(session: nox.Session) -> None:
    """Read the book in a browser, both editions, with live reload."""
    book(session, "-m", "literate.build", "--serve", *session.posargs)


@nox.session
def site(session: nox.Session) -> None:
    """Build both editions, strictly, into site/."""
    book(session, "-m", "literate.build", *session.posargs)


@nox.session(name="print")
def paper(session: nox.Session) -> None:
    """Make a PDF and two EPUBs of each edition, one with MathML, one with pictures, in dist/."""
    book(session, "-m", "literate.build")
    book(session, "-m", "literate.paper", *session.posargs)


@nox.session
def cards(session: nox.Session) -> None:
    """Draw attention on one page, and a card for each myth, in dist/."""
    book(session, "-m", "literate.cards")


@nox.session
def offline(session: nox.Session) -> None:
    """Make a zip of each edition, in dist/, that is read without a network."""
    book(session, "-m", "literate.build")
    book(session, "-m", "literate.offline")


@nox.session
def tests(session: nox.Session) -> None:
    """Test the chapters and the package, but for what is slow."""
    everything = ["tests", "docs", "--ignore=docs/source"]
    book(session, "-m", "literate.test", *(session.posargs or everything))


@nox.session
def slow(session: nox.Session) -> None:
    """Test what is expensive and rarely red, every shape checked, and the annotated source."""
    paths = session.posargs or ["tests"]
    book(session, "-m", "literate.test", "--slow", *paths)
    if not session.posargs:
        book(session, "-m", "literate.test", "docs/source")


@nox.session
def doctests(session: nox.Session) -> None:
    """Run the chapters, or those named; `-- --update-outputs` rewrites what they print."""
    words = ["", *session.posargs]
    named = any(
        Path(word.split("::")[0]).exists()
        for option, word in itertools.pairwise(words)
        if option not in ("-k", "-m")  # whose next word is no path
    )
    paths = [] if named else ["docs"]
    book(session, "-m", "literate.test", *paths, *session.posargs)


@nox.session
def tangle(session: nox.Session) -> None:
    """Make the package from the chapters; `-- --stitch` goes the other way."""
    book(session, "-m", "literate.tangle", *session.posargs)


@nox.session
def labs(session: nox.Session) -> None:
    """Run the labs again, in place: they train for some twenty minutes."""
    book(session, "-m", "literate.labs", *session.posargs)


@nox.session
def experiments(session: nox.Session) -> None:
    """Run the experiments, or those named (`-- robust`), and record what comes out."""
    book(session, "-m", "experiments", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, prose, workflows, and that chapters and package agree."""
    book(session, "-m", "ruff", "check", ".")
    book(session, "-m", "ruff", "format", "--check", ".")
    book(session, "-m", "mypy")
    book(session, "-m", "literate.prose")
    book(session, "-m", "literate.tangle", "--check")
    zizmor = str(BIN / "zizmor")  # reads the workflows as an attacker would
    session.run(zizmor, "--offline", "--quiet", ".github", external=True)


@nox.session(venv_backend="virtualenv", reuse_venv=True)
def wheel(session: nox.Session) -> None:
    """Build the package into dist/, install it into a clean environment, use it there."""
    out = Path("dist").absolute()
    for old in out.glob("attention_book-*"):
        old.unlink()
    book(session, "-m", "build", "--quiet", "--outdir", str(out), ".")
    (built,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    session.run(
        "python",
        "-m",
        "pip",
        "uninstall",
        "--quiet",
        "--yes",
        "attention-book",
    )
    # What is imported is compiled then; the rest of PyTorch need not be.
    session.install("--no-compile", "--constraint", CONSTRAINTS, str(built))
    example = Path("tests/wheel_worker.py").absolute()
    session.chdir(out)  # so that the package is not found in the working tree
    session.run("python", str(example), str(built), str(sdist))


@nox.session(venv_backend="virtualenv")
def notebooks(session: nox.Session) -> None:
    """Run every notebook, or those named, where only the built wheel is installed."""
    env = Path(session.bin).parent.absolute()
    out = env / "dist"
    book(session, "-m", "build", "--quiet", "--outdir", str(out), ".")
    (built,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    pinned = "--no-compile", "--constraint", CONSTRAINTS
    session.install(*pinned, str(built), "ipykernel")
    kernel = "--sys-prefix", "--name", "reader"
    session.run("python", "-m", "ipykernel", "install", *kernel)
    session.env["JUPYTER_PATH"] = str(env / "share/jupyter")
    session.env["PIP_CONSTRAINT"] = str(Path(CONSTRAINTS).absolute())
    run = "-m", "literate.notebooks", "reader", str(sdist)
    book(session, *run, *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Walk the built site in headless Chromium."""
    book(session, "-m", "literate.build")
    # A browser that answers no more ends its test, not the whole day.
    guard = ["-o", "faulthandler_timeout=150"]
    guard += ["-o", "faulthandler_exit_on_timeout=true"]
    command = ["-m", "pytest", "-q", "-n", "2", *guard, "tests/browser"]
    book(session, *command, *session.posargs)


@nox.session
def film(session: nox.Session) -> None:
    """Film the live page of the built site, for the READMEs."""
    book(session, "-m", "literate.build")
    book(session, "-m", "literate.film")


@nox.session
def gpu(session: nox.Session) -> None:
    """Run the GPU tests; without a GPU, say so and skip."""
    check = "import torch; print(torch.cuda.is_available())"
    if "True" not in str(book(session, "-c", check, silent=True)):
        session.skip("no GPU here: 0 GPU tests run")
    book(session, "-m", "pytest", "tests/gpu", *session.posargs)


# What tests the toolchain, to which it is all the same which PyTorch there is.
TOOLCHAIN = (
    *("build", "cards", "chapter", "drawing", "exercises", "experiments"),
    *("finish", "glossary", "labs", "live_engine", "live_training"),
    *("live_vit", "notebooks", "onnx", "package", "paper", "plots", "prose"),
    *("quotes", "release", "run", "search", "serve", "setup", "summary"),
    *("tangle", "weave"),
)


@nox.session(venv_backend="virtualenv", reuse_venv=True)
def zensical(session: nox.Session) -> None:
    """Build both editions with Zensical, into .cache/zensical; it lacks what a page says."""
    book(session, "-m", "literate.zensical")
    engine = ("zensical", "mkdocstrings[python]")
    session.install("--constraint", CONSTRAINTS, *engine)
    for edition in ("zh", "en"):
        config = f".cache/zensical.{edition}.yml"
        session.run("zensical", "build", "--clean", "--config-file", config)


NIGHTLY = "https://download.pytorch.org/whl/nightly/cpu"


@nox.session(venv_backend="virtualenv", reuse_venv=True)
def torch(session: nox.Session) -> None:
    """Test the package with the oldest PyTorch allowed; or `-- pinned`, newest or nightly."""
    asked = [*session.posargs]
    named = asked and asked[0] in ("floor", "pinned", "newest", "nightly")
    which = asked.pop(0) if named else "floor"
    project = Path("pyproject.toml").read_text("utf-8")
    (floor,) = re.findall(r'"torch>=([\d.]+)"', project)
    oldest = [f"torch=={floor}", "numpy<2.4"]  # as its Triton interprets
    wanted = oldest if which == "floor" else ["torch"]
    pins = Path(CONSTRAINTS).read_text("utf-8").splitlines()
    if which != "pinned":
        free = re.compile("torch|triton|numpy")
        pins = [pin for pin in pins if not free.match(pin)]
    if which == "newest":
        wanted.append("--upgrade")
    if which == "nightly":
        session.install("--pre", "--upgrade", "--index-url", NIGHTLY, "torch")
    others = Path(session.create_tmp()) / "constraints.txt"
    others.write_text("\n".join(pins), "utf-8")
    pinned = ("--constraint", str(others))
    session.install(*pinned, *wanted, "--editable", ".[book]")
    skipped = [f"--ignore=tests/test_{name}.py" for name in TOOLCHAIN]
    test = ("python", "-m", "literate.test")
    session.run(*test, *(asked or [*skipped, "tests"]))
    if not asked and sys.platform == "linux":  # of processes and compilers
        session.run(*test, "--slow", *skipped, "tests")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure this machine: roofline, attention, training, decoding, ViT."""
    book(session, "-m", "benchmarks.machine", *session.posargs)
