"""Build the site, both editions and the page that picks one; or serve it.

python -m literate.build [--url https://…/]    build into site/
python -m literate.build --serve               build, serve, show each edit
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from literate import ROOT
from literate.root import write_root
from literate.weave import EDITIONS


SITE = ROOT / "site"
# What is said is read line by line, so that no line may be broken for a narrow terminal.
HOW = {"PYTHONIOENCODING": "utf-8", "NO_MKDOCS_2_WARNING": "1", "COLUMNS": "1000"}
DONE, FAILED = "\0done", "\0failed"  # how the answer of an edition's process ends


def python(*words: str, stdout: int | None = subprocess.PIPE) -> subprocess.Popen[str]:
    """Start `python -m …`; all that it says, tracebacks too, comes out of one pipe.

    Ctrl-C in a terminal does not reach it, so that it ends by `kill` and without a word. (On
    Windows it does, and must: there only the end of what a pipe brings interrupts our reading.)
    """
    return subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env={**os.environ, **HOW},
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    )


def kill(process: subprocess.Popen[str]) -> None:
    """End a process, whatever it does, and where there are groups what it has started."""
    if process.poll() is None:
        process.kill() if sys.platform == "win32" else os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the block is done, so that what it starts is known and can be ended."""
    held: list[object] = []
    before = signal.signal(signal.SIGINT, lambda *given: held.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt


class Editions:
    """A process for each edition (literate.edition), which builds it and renders its pages."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.draft = SITE.with_name(".cache") / "site"
        self.processes: list[subprocess.Popen[str]] = []

    def start(self) -> None:
        """Start the processes, which know the toolchain as it is now."""
        self.end()
        for name in EDITIONS:
            url = f"{self.url.rstrip('/')}/{name}/"
            with uninterrupted():
                process = python("literate.edition", name, str(self.draft / name), url)
                self.processes.append(process)

    def ask(self, command: str, first: int = len(EDITIONS)) -> tuple[bool, list[str]]:
        """Give both, or the first, a command; return whether it is done, and what they say."""
        asked = self.processes[:first]
        for process in asked:
            with suppress(OSError):  # it has ended, as its output will
                print(command, file=process.stdin, flush=True)
        answers = [self._answer(process) for process in asked]
        lines = dict.fromkeys(line for _, lines in answers for line in lines)
        return all(done for done, _ in answers), list(lines)

    def _answer(self, process: subprocess.Popen[str]) -> tuple[bool, list[str]]:
        lines: list[str] = []
        for line in map(str.rstrip, process.stdout or ()):
            if line in (DONE, FAILED):
                return line == DONE, lines
            if line and not line.startswith("INFO"):
                lines.append(line)
        raise SystemExit("\n".join(lines))  # a fault of the toolchain has ended it

    def end(self) -> None:
        """End the processes."""
        for process in self.processes:
            kill(process)
            process.communicate()  # closes its pipes
        self.processes = []


def run_chapters(editions: Editions) -> None:
    """Run the chapters that changed since they last passed, and so draw their figures."""
    sound, stale = editions.ask("stale", 1)
    if sound and stale:
        with python("literate.test", "-x", *stale, stdout=None) as test:
            try:
                test.communicate()
            finally:
                kill(test)
        if test.returncode:
            raise SystemExit("the site was not built: a chapter fails, see above")
        sound, stale = editions.ask("stale", 1)
        how = "has not passed as it stands; run: nox -s doctests"
        stale = [f"{path}:1: {how}" for path in stale] if sound else stale
    if stale:
        raise SystemExit("\n".join(stale))


def build(editions: Editions, *, run: bool = True) -> None:
    """Build both editions at once, beside the old ones, and put them in place together.

    The chapters run first, unless somebody waits for their pages.
    """
    editions.start()
    if run:
        run_chapters(editions)
    draft = editions.draft
    shutil.rmtree(draft, ignore_errors=True)
    done, lines = editions.ask("build")
    for line in lines:
        print(line, file=sys.stderr)
    if not done:
        raise SystemExit("the site was not built; the old one, if any, is as it was")
    write_root(draft, editions.url)
    shutil.rmtree(SITE, ignore_errors=True)
    draft.rename(SITE)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build or serve the book.")
    parser.add_argument("--serve", action="store_true", help="serve, and show each edit")
    parser.add_argument("--port", type=int, default=8000, help="where to serve (8000)")
    parser.add_argument("--url", default="http://127.0.0.1:8000/", help="where the site will stand")
    asked = parser.parse_args()
    if asked.serve:
        from literate.serve import serve  # which builds with this module

        serve(asked.port)
        return
    editions = Editions(asked.url)
    try:
        build(editions)
    finally:
        editions.end()


if __name__ == "__main__":
    main()
