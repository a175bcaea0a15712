"""Build the site, both editions and the page that picks one; or serve it.

python -m literate.build [--url https://…/]    build into site/
python -m literate.build --serve               build, serve, show each edit
"""

import argparse
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from literate import ROOT
from literate.blocks import ChapterError
from literate.chapter import read_all
from literate.edition import SITE, begin, do
from literate.root import write_root
from literate.run import fresh
from literate.tangle import differences
from literate.weave import EDITIONS


os.environ["NO_MKDOCS_2_WARNING"] = "1"
TEST = [sys.executable, "-m", "literate.test", "-x"]


class Editions:
    """A process for each edition (literate.edition), which builds it and renders its pages."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.draft = SITE.with_name(".cache") / "site"
        self.processes: list[ProcessPoolExecutor] = []

    def start(self) -> None:
        """Start the processes, which know the toolchain as it is now."""
        self.end()
        on_ctrl_c = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as they will, too
        for name in EDITIONS:
            process = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
            process.submit(begin, name, str(self.draft / name), f"{self.url.rstrip('/')}/{name}/")
            self.processes.append(process)
        signal.signal(signal.SIGINT, on_ctrl_c)

    def ask(self, command: str, *given: Path) -> tuple[bool, list[str]]:
        """Have both do something; return whether it is done, and what is wrong."""
        asked = [process.submit(do, command, *given) for process in self.processes]
        try:
            answers = [future.result() for future in asked]
        except BrokenProcessPool:
            raise SystemExit("a fault of the toolchain, see above") from None
        lines = dict.fromkeys(line for _, lines in answers for line in lines)
        return all(done for done, _ in answers), list(lines)

    def end(self) -> None:
        """End the processes, and then the threads that wait for them."""
        for child in multiprocessing.active_children():
            child.kill()
            child.join()
        for process in self.processes:
            process.shutdown(cancel_futures=True)
        self.processes = []


def stale() -> tuple[list[Path], list[str]]:
    """The chapters whose code changed since it passed; and what is wrong, in them or the package."""
    try:
        chapters = read_all()
        problems = differences(chapters)
    except ChapterError as error:
        return [], [str(error)]
    return [chapter.path for chapter in chapters if not fresh(chapter)], problems


def run_chapters() -> None:
    """Run the chapters that changed since they last passed, and so draw their figures."""
    paths, problems = stale()
    if paths and not problems:
        test = subprocess.run([*TEST, *map(Path.as_posix, paths)], cwd=ROOT, check=False)
        if test.returncode:
            raise SystemExit("the site was not built: a chapter fails, see above")
        paths, problems = stale()
        how = "has not passed as it stands; run: nox -s doctests"
        problems += [f"{path.as_posix()}:1: {how}" for path in paths]
    if problems:
        raise SystemExit("\n".join(problems))


def build(editions: Editions) -> None:
    """Build both editions at once, beside the old ones, and put them in place together."""
    editions.start()
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
    run_chapters()
    editions = Editions(asked.url)
    try:
        build(editions)
    finally:
        editions.end()


if __name__ == "__main__":
    main()
