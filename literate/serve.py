"""Serve the site, and show each edit: a page is woven and rendered again in both editions.

The other pages stay as they are. After an edit that may change any page, all are built anew.
Chapters whose code changed since they passed run in the background; until one has drawn its
figures, those of its last run stand there, or a pale frame.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from queue import Queue

from mkdocs.livereload import LiveReloadServer

from literate import ROOT
from literate.build import TEST, Editions, build, stale
from literate.chapter import pages, read
from literate.edition import SITE
from literate.run import fresh
from literate.weave import EDITIONS


WATCHED = ("docs", "literate", "attention_book", "experiments", "mkdocs.yml", "mkdocs.en.yml")
SOURCES = (".py", ".html", ".json", ".toml", ".yml")


class Tests(threading.Thread):
    """Runs chapters in the background, one at a time."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.asked: Queue[Path] = Queue()
        self.lock = threading.Lock()
        self.path = Path()
        self.process: subprocess.Popen[str] | None = None

    def ask(self, path: Path) -> None:
        """Run a chapter; if it runs as it was before, run it again instead."""
        if path not in self.asked.queue:
            self.asked.put(path)
        if path == self.path and self.process:
            kill(self.process)

    def run(self) -> None:
        while True:
            self.path = self.asked.get()
            with self.lock:
                self.process = start(self.path)
            said, _ = self.process.communicate()
            with self.lock:
                if self.path not in self.asked.queue:
                    say(self.path, f"failed\n{said}" if self.process.returncode else "passed")

    def end(self) -> None:
        """End what runs; nothing starts or is said after it."""
        self.lock.acquire()
        if self.process:
            kill(self.process)


def start(path: Path) -> subprocess.Popen[str]:
    """Run a chapter; Ctrl-C in a terminal does not reach it, so that it ends without a word."""
    return subprocess.Popen(
        [*TEST, path.as_posix()],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    )


def kill(process: subprocess.Popen[str]) -> None:
    """End a process, whatever it does, and where there are groups what it has started."""
    if process.poll() is None:
        process.kill() if sys.platform == "win32" else os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Preview:
    """The site while it is edited."""

    def __init__(self, url: str) -> None:
        self.editions = Editions(url)
        self.tests = Tests()
        self.seen: dict[Path, int] = {}
        self.refused: set[Path] = set()  # pages with a fault, to be tried again at each edit

    def update(self) -> None:
        """Show what changed since it was called last."""
        before, self.seen = self.seen, stamps()
        assets: set[Path] = set()
        edited: set[Path] = set()  # pages
        others = self.refused.copy()  # pages to be shown as well
        whole = not self.editions.processes
        for path in {path for path, _ in before.items() ^ self.seen.items()}:
            stays = path in before and path in self.seen
            match path.parts, path.suffix:
                case ("docs", "assets", *_), _:
                    assets |= {path} & self.seen.keys()
                case ("docs", "diagrams", _), ".py":
                    others |= showing(f"diagrams/{path.stem.replace('_', '-')}.svg")
                case ("docs", *_, "figures", name, figure), ".svg":
                    others |= showing(f"figures/{name}/{figure.split('.')[0]}.svg")
                case (("docs", "labs", _), ".ipynb") | (("docs", *_), ".md"):
                    edited |= {path}
                    whole |= not stays or path.parts[1] == "api"
                case (top, *_), suffix:
                    whole |= top != "docs" and suffix in SOURCES
        try:
            if whole:
                self.build()
                return
            for path in assets:
                copy(path)
            for path in (*sorted(edited), *sorted(others - edited)):
                self.show(path, is_edited=path in edited)
        except SystemExit as error:
            print(error, file=sys.stderr, flush=True)
            self.editions.end()

    def build(self) -> None:
        """Build both editions anew; pages that it refuses are no more ours to try."""
        self.refused.clear()
        build(self.editions)
        print("built", flush=True)
        chapters, problems = stale()
        print(*problems, sep="\n", end="", file=sys.stderr, flush=True)
        for path in chapters if not problems else ():
            self.tests.ask(path)

    def show(self, path: Path, *, is_edited: bool) -> None:
        """Show a page in both editions; run a chapter whose code was edited."""
        shown, faults = self.editions.ask("show", path)
        if not shown:
            self.refused.add(path)
            print(*faults, sep="\n", file=sys.stderr, flush=True)
            return
        self.refused.discard(path)
        say(path, "shown")
        if is_edited and path.suffix == ".md" and not fresh(read(path)):
            self.tests.ask(path)


def say(path: Path, what: str) -> None:
    print(f"{path.relative_to('docs').as_posix()}: {what}", flush=True)


def stamps() -> dict[Path, int]:
    """When each file was last written that the site depends on."""
    found = {}
    for top in WATCHED:
        for path in (ROOT / top, *(ROOT / top).rglob("*.*")):
            with suppress(OSError):  # an editor's, gone by now
                if path.is_file():
                    found[path.relative_to(ROOT)] = path.stat().st_mtime_ns
    return found


def showing(picture: str) -> set[Path]:
    """The pages of the site that show a picture."""
    found = (path for path in pages() if path.parts[0] == "docs")
    return {path for path in found if picture in (ROOT / path).read_text("utf-8")}


def copy(asset: Path) -> None:
    """Replace a file of docs/assets in both editions."""
    for edition in EDITIONS:
        place = SITE / edition / asset.relative_to("docs")
        draft = place.with_name(place.name + ".draft")
        shutil.copyfile(ROOT / asset, draft)
        draft.replace(place)


def serve(port: int) -> None:
    """Build the site, and serve it until Ctrl-C."""
    url = f"http://127.0.0.1:{port}/"
    preview = Preview(url)
    server = LiveReloadServer(preview.update, "127.0.0.1", port, str(SITE), polling_interval=0.2)
    server.error_handler = lambda code: (SITE / "404.html").read_bytes()
    for path in WATCHED:
        server.watch(str(ROOT / path))
    try:
        server.server_bind()  # now: that a port is taken shall not be known only after the build
        server.server_activate()
    except OSError as error:
        server.server_close()
        how = f"try: nox -s serve -- --port {port + 1}"
        raise SystemExit(f"port {port}: {error.strerror}; {how}") from None
    try:
        preview.tests.start()
        server.observer.start()
        preview.update()
        print(f"Read the book at {url}zh/ or {url}en/ (Ctrl-C ends)", flush=True)
        server.serve_thread.start()
        server._build_loop()  # type: ignore[no-untyped-call]
    except KeyboardInterrupt:
        pass
    finally:
        preview.tests.end()
        preview.editions.end()
        server.shutdown()
