"""Build the site, both editions and the page that picks one; or serve it.

python -m literate.build [--url https://…/]    build into site/
python -m literate.build --serve               build, serve, rebuild on each change
"""

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from literate import ROOT, search
from literate.blocks import ChapterError
from literate.chapter import read_all
from literate.root import write_root
from literate.run import fresh
from literate.tangle import differences
from literate.weave import EDITIONS, write_trees


SITE = ROOT / "site"


def run_chapters() -> None:
    """Run the chapters that changed since they last passed, and so draw their figures."""
    if problems := differences(read_all()):
        raise SystemExit("\n".join(problems))
    stale = [str(chapter.path) for chapter in read_all() if not fresh(chapter)]
    test = [sys.executable, "-m", "literate.test", "-x", *stale]
    if stale and subprocess.run(test, cwd=ROOT).returncode:
        raise SystemExit("the site was not built: a chapter fails, see above")
    for chapter in read_all():
        if not fresh(chapter):
            raise ChapterError(chapter.path, 1, "has not passed as it stands; run: nox -s doctests")


def build(url: str) -> None:
    """Build both editions at once, beside the old ones, and put them in place together."""
    try:
        run_chapters()
        write_trees()
    except ChapterError as error:
        raise SystemExit(str(error)) from None
    draft = SITE.with_name(".cache") / "site"
    shutil.rmtree(draft, ignore_errors=True)

    def make(edition: str) -> subprocess.CompletedProcess[str]:
        # Never --quiet: it hides warnings from --strict, which counts them.
        strict = [sys.executable, "-m", "mkdocs", "build", "--strict"]
        command = [*strict, "-f", EDITIONS[edition], "-d", str(draft / edition)]
        env = {"BOOK_URL": f"{url.rstrip('/')}/{edition}/", "NO_MKDOCS_2_WARNING": "1"}
        return subprocess.run(
            command, env=os.environ | env, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )

    with ThreadPoolExecutor() as pool:
        made = list(pool.map(make, EDITIONS))
    lines = dict.fromkeys(line for one in made for line in one.stderr.splitlines())
    print(*(line for line in lines if not line.startswith("INFO")), sep="\n", file=sys.stderr)
    if any(one.returncode for one in made):
        raise SystemExit("the site was not built; the old one, if any, is as it was")
    for edition in EDITIONS:
        search.index(draft / edition)
    write_root(draft, url)
    shutil.rmtree(SITE, ignore_errors=True)
    draft.rename(SITE)


def serve(port: int) -> None:
    from mkdocs.livereload import LiveReloadServer  # slow to import

    url = f"http://127.0.0.1:{port}/"

    def rebuild() -> None:
        try:
            build(url)
        except SystemExit as error:
            print(error, file=sys.stderr)

    rebuild()
    server = LiveReloadServer(rebuild, "127.0.0.1", port, str(SITE))
    server.error_handler = lambda code: (SITE / "404.html").read_bytes()
    watched = ("docs", "literate", "attention_book", "experiments", "mkdocs.yml", "mkdocs.en.yml")
    for path in watched:
        server.watch(str(ROOT / path))
    print(f"Read the book at {url}zh/ or {url}en/ (Ctrl-C ends)")
    try:
        server.serve()  # type: ignore[no-untyped-call]
    except KeyboardInterrupt:
        server.shutdown()
    except OSError as error:
        server.server_close()
        how = f"try: nox -s serve -- --port {port + 1}"
        raise SystemExit(f"port {port}: {error.strerror}; {how}") from None


def main() -> None:
    parser = argparse.ArgumentParser(description="Build or serve the book.")
    parser.add_argument("--serve", action="store_true", help="serve with live reload")
    parser.add_argument("--port", type=int, default=8000, help="where to serve (8000)")
    parser.add_argument("--url", default="http://127.0.0.1:8000/", help="where the site will stand")
    asked = parser.parse_args()
    serve(asked.port) if asked.serve else build(asked.url)


if __name__ == "__main__":
    main()
