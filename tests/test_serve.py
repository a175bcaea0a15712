"""The book while it is served: what an edit shows, what it leaves, and how it all ends."""

import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen
from uuid import uuid4

import pytest

from literate import serve
from tests.test_build import APPLE, changed, small_book


pytestmark = pytest.mark.slow  # each of them waits for builds and runs
CHAPTER = "docs/fruit/apple.md"
SHOWN = "fruit/apple.md: shown"


class Serving:
    """A server of the small book, in a process and with a terminal of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        command = [sys.executable, "-m", "literate.build", "--serve"]
        # Else it may be ignored, as in a script that runs in the background.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.mark = uuid4().hex  # by which its processes are known
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root), "MARK": self.mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.said = ""

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line)

    def wait(self, wanted: str) -> None:
        """Until it says so, for a minute at most."""
        line = ""
        while wanted not in line:
            try:
                line = self.lines.get(timeout=60)
            except queue.Empty:
                pytest.fail(f"it does not say {wanted}, but:\n{self.said}")
            self.said += line

    def get(self, path: str) -> str:
        with urlopen(f"http://127.0.0.1:{self.port}/{path}") as answer:
            return answer.read().decode()

    def processes(self) -> list[str]:
        """The commands of all processes that it started, and its own."""
        mark = f"MARK={self.mark}".encode()
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (place / "environ").read_bytes():
                    found.append((place / "cmdline").read_text())
            except OSError:  # another's, or gone
                continue
        return found

    def heeds_ctrl_c(self) -> bool:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        ignored = int(status.split("SigIgn:")[1].split()[0], 16)
        return not ignored & 1 << (signal.SIGINT - 1)

    def interrupt(self, *, all_of_them: bool) -> None:
        """Press Ctrl-C, which a terminal tells to a whole group; nothing may be left."""
        wait_until(self.heeds_ctrl_c)  # not while it starts its processes
        if all_of_them:
            os.killpg(self.process.pid, signal.SIGINT)
        else:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)
        wait_until(lambda: not self.processes())
        self.close()
        while not self.lines.empty():
            self.said += self.lines.get()

    def close(self) -> None:
        assert self.process.stdout
        self.process.wait(timeout=60)
        self.reader.join()
        self.process.stdout.close()


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    serving = Serving(small_book(tmp_path_factory.mktemp("served")))
    try:
        serving.wait("Read the book")
        yield serving
    finally:
        serving.process.kill()  # the processes that it started end as well
        wait_until(lambda: not serving.processes())
        serving.close()


def files(served: Serving) -> dict[str, int]:
    """When each file of the site was written."""
    site = served.root / "site"
    return {
        path.relative_to(site).as_posix(): path.stat().st_mtime_ns
        for path in site.glob("**/*.*")
        if path.is_file()
    }


def written_since(before: dict[str, int], served: Serving) -> set[str]:
    now = files(served)
    assert now.keys() >= before.keys()
    return {name for name in now if now[name] != before.get(name)}


def page(served: Serving, edition: str, name: str = "fruit/apple/") -> str:
    return (served.root / f"site/{edition}/{name}index.html").read_text(
        "utf-8"
    )


def both(*names: str) -> set[str]:
    return {f"{edition}/{name}" for edition in ("zh", "en") for name in names}


CHANGED = both("fruit/apple/index.html", "notebooks/apple.ipynb")


def test_an_edit_is_shown_in_both_editions_and_nowhere_else(
    served: Serving,
) -> None:
    old = served.get("zh/fruit/apple/")
    epoch = re.findall(r"livereload\((\d+), \d+\)", old)[0]
    before = files(served)
    with changed(
        served.root / CHAPTER, "Two causal masks", "Both causal masks"
    ):
        served.wait(SHOWN)
        assert int(served.get(f"livereload/{epoch}/1")) > int(epoch)
        for edition in ("zh", "en"):
            new = served.get(f"{edition}/fruit/apple/")
            assert 'Both <a class="term"' in re.sub("aria.*? ", "", new)
        assert written_since(before, served) == CHANGED
    served.wait(SHOWN)
    # Also what MkDocs and its plugins add: links to the API, to terms, to other pages.
    assert page(served, "zh") == re.sub(
        r"<script>\s*var livereload.*?</script>", "", old, flags=re.DOTALL
    )


def test_an_entry_of_the_glossary_is_shown(served: Serving) -> None:
    before = files(served)
    with changed(served.root / "docs/glossary.md", "A mask", "One"):
        served.wait("glossary.md: shown")
        assert written_since(before, served) == both("glossary/index.html")
        for edition in ("zh", "en"):
            assert "One" in page(served, edition, "glossary/")
    served.wait("glossary.md: shown")


def test_a_diagram_is_shown_where_it_stands_and_an_asset_copied(
    served: Serving,
) -> None:
    before = files(served)
    with changed(served.root / "docs/diagrams/tree.py", "a big", "a tall"):
        served.wait("index.md: shown")
        assert written_since(before, served) == both("index.html")
        assert "a tall tree" in page(served, "en", "")
        assert "大树" in page(served, "zh", "")
    served.wait("index.md: shown")
    before = files(served)
    style = served.root / "docs/assets/book.css"
    style.write_text("/* no style */")
    epoch = re.findall(r"livereload\((\d+), \d+\)", served.get("zh/"))[0]
    while int(served.get(f"livereload/{epoch}/1")) <= int(epoch):
        pass
    assert written_since(before, served) == both("assets/book.css")
    assert served.get("en/assets/book.css") == "/* no style */"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (APPLE, "", "apple.md:1: is empty"),
        ("\nTwo causal masks are left.\n", "", "apple.md:31: this Chinese"),
        ("glossary.md).\n", "glossary.md#no).\n", "'../glossary.md#no'"),
        ("[Peel](#peel)", "[Peel][a.b]", "cross-reference target 'a.b'"),
    ],
    ids=["empty", "twin", "anchor", "reference"],
)
def test_a_fault_is_named_and_the_old_page_stays(
    served: Serving, old: str, new: str, says: str
) -> None:
    before = files(served)
    with changed(served.root / CHAPTER, old, new):
        served.wait(says)
        with changed(served.root / "docs/index.md", "Small.", "Tiny."):
            served.wait("index.md: shown")
            assert written_since(before, served) == both("index.html")
        served.wait("index.md: shown")
    served.wait(SHOWN)  # the fault is gone
    assert "Traceback" not in served.said
    assert written_since(before, served) == CHANGED | both("index.html")


def test_a_page_with_a_fault_is_tried_again_when_another_is_edited(
    served: Serving,
) -> None:
    more = "Small.\n\n## 多 | More {#more}"
    with changed(
        served.root / CHAPTER, "glossary.md).\n", "index.md#more).\n"
    ):
        served.wait("'../index.md#more'")
        with changed(served.root / "docs/index.md", "Small.", more):
            served.wait("index.md: shown")
            served.wait(SHOWN)
            assert page(served, "en").count('href="../../#more"') == 1
    served.wait(SHOWN)


def test_edited_code_is_shown_at_once_and_run(served: Serving) -> None:
    chapter = served.root / CHAPTER
    with changed(chapter, "print(peel(3))", "print(peel(8) - 4)"):
        served.wait(SHOWN)
        assert "8" in re.sub("<.*?>", "", page(served, "zh"))
        served.wait("fruit/apple.md: failed")
        served.wait("docs/fruit/apple.md:27: wrong output")
        with changed(chapter, "\n2\n", "\n3\n"):
            served.wait(SHOWN)
            served.wait("fruit/apple.md: passed")
        served.wait("fruit/apple.md: failed")
    served.wait("fruit/apple.md: passed")


def test_a_new_figure_is_shown_when_it_is_drawn(served: Serving) -> None:
    code = """```python
import matplotlib.pyplot as plt
plt.figure("core")
```

![一个核。 | A core.](figures/apple/core.svg "核 | A core")

还剩"""
    with changed(served.root / CHAPTER, "还剩", code):
        served.wait(SHOWN)
        assert 'src="../figures/apple/core.svg"' in page(served, "en")
        figure = "en/fruit/figures/apple/core.svg"
        assert "dasharray" in served.get(figure)  # a frame in its place
        served.wait("apple.md: passed")
        wait_until(lambda: "matplotlib" in served.get(figure))
        with changed(
            served.root / CHAPTER, '("core")', '("core").text(0, 0, "seed")'
        ):
            wait_until(lambda: "seed" in served.get(figure))


def test_what_may_change_any_page_is_built_anew(served: Serving) -> None:
    """By new processes: the edited toolchain counts. And a mistake there is no end."""
    before = files(served)
    weave = served.root / "literate/weave.py"
    with changed(weave, "import re\n", "import r e\n"):
        served.wait("SyntaxError")
        with pytest.raises(HTTPError, match="404"):
            served.get("zh/nowhere/")
    with (
        changed(weave, "导入与公开的名字", "折叠"),
        changed(served.root / "mkdocs.yml", "注意力之书", "苹果之书"),
    ):
        served.wait("built")
        assert "折叠" in page(served, "zh")
        assert "苹果之书" in served.get("zh/glossary/")
        assert not before.items() & files(served).items()
    served.wait("built")


def test_the_book_is_shown_before_its_chapters_have_run(
    tmp_path: Path,
) -> None:
    """As in a fresh clone; and one that fails keeps nobody from the others."""
    chapter = small_book(tmp_path) / CHAPTER
    text = chapter.read_text("utf-8")
    wait = "import pathlib, time\nwhile not pathlib.Path('go').exists():\n"
    code = f"{wait}    time.sleep(0.1)\nprint(peel(3))"
    chapter.write_text(text.replace("print(peel(3))", code), "utf-8")
    serving = Serving(tmp_path)
    try:
        serving.wait("Read the book")
        assert "Two causal masks" in re.sub(
            "<.*?>", "", serving.get("en/fruit/apple/")
        )
        assert "passed" not in serving.said
        (tmp_path / "go").touch()
        serving.wait("apple.md: passed")
    finally:
        serving.interrupt(all_of_them=True)
        serving.close()


@pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="needs /proc"
)
@pytest.mark.parametrize(
    ("during", "all_of_them"),
    [
        ("edits", True),
        ("build", False),
        ("run", False),
        ("test", True),
    ],
)
def test_ctrl_c_ends_all_processes(
    tmp_path: Path, during: str, *, all_of_them: bool
) -> None:
    chapter = small_book(tmp_path) / CHAPTER
    slow = 'import time\nopen("runs", "w").close()\ntime.sleep(60)\nprint(peel(3))'
    text = chapter.read_text("utf-8").replace("print(peel(3))", slow)
    if during == "run":
        chapter.write_text(text, "utf-8")
    serving = Serving(tmp_path)
    try:
        if during == "run":
            wait_until((tmp_path / "runs").exists)
        else:
            wait_until(lambda: "spawn_main" in "".join(serving.processes()))
        if during in ("edits", "test"):
            with changed(tmp_path / "docs/index.md", "Small.", "Tiny."):
                serving.wait(
                    "index.md: shown"
                )  # though edited during the build
            chapter.write_text(text, "utf-8")
            wait_until((tmp_path / "runs").exists)
        if during == "edits":
            with changed(chapter, "sleep(60)", "sleep(0)"):
                serving.wait("apple.md: passed")
            assert "failed" not in serving.said  # as the run that was ended
        serving.interrupt(all_of_them=all_of_them)
        assert serving.process.returncode == 0
        assert "Traceback" not in serving.said
    finally:
        serving.process.kill()
        serving.close()


def test_a_port_that_is_taken_is_named_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(serve, "build")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        wanted = f"^port {port}: .*; try: nox -s serve -- --port {port + 1}$"
        with pytest.raises(SystemExit, match=wanted):
            serve.serve(port)
