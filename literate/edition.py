"""One edition of the site, in a process that keeps in memory what MkDocs made of it.

python -m literate.edition zh|en DIRECTORY URL    does what its input says, a line each:

    stale [CHAPTER]    name the chapters, or the one, whose code changed since it passed
    build              weave and render the whole edition into the directory
    show PAGE          weave and render a page again, and replace it in site/

It answers with lines of text, the last of them DONE or FAILED.
"""

import logging
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

from mkdocs import utils
from mkdocs.__main__ import State, _enable_warnings
from mkdocs.commands.build import _build_page, _populate_page, build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort, MkDocsException
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File, Files

from literate import search
from literate.blocks import ChapterError
from literate.build import DONE, FAILED, SITE
from literate.chapter import read, read_all
from literate.glossary import terms
from literate.run import fresh
from literate.tangle import differences
from literate.weave import EDITIONS, WOVEN, Book, write_page, write_trees


class Edition(BasePlugin):  # type: ignore[type-arg, no-untyped-call]
    """An edition, which is also a plugin, to keep what MkDocs needs to render a page."""

    def __init__(self, name: str, draft: str, url: str) -> None:
        self.name = name
        self.place = {"site_dir": draft, "site_url": url}
        self.messages = State()  # type: ignore[no-untyped-call]  # MkDocs prints them
        self.warned = utils.CountHandler(level=logging.WARNING)
        self.messages.logger.addHandler(self.warned)

    def on_nav(self, nav: Any, files: Files, **_: Any) -> None:
        self.nav, self.files = nav, files

    def on_env(self, env: Any, **_: Any) -> None:
        self.env = env

    def stale(self, path: str = "") -> None:
        """Print the chapters, or the one, whose code changed since it passed."""
        chapters = [read(Path(path)).check()] if path else read_all()
        if not path and (problems := differences(chapters)):
            raise Abort("\n".join(problems))
        print(*(one.path.as_posix() for one in chapters if not fresh(one)), sep="\n")

    def build(self) -> None:
        """Weave and render all pages; a warning is an error."""
        self.woven = write_trees([self.name])
        _enable_warnings()  # type: ignore[no-untyped-call]
        # Never quiet: that hides warnings from strict, which counts them.
        self.book = load_config(EDITIONS[self.name], **self.place, strict=True)
        self.book.plugins["edition"] = self
        self.book.plugins.on_startup(command="build", dirty=False)
        build(self.book)
        search.index(Path(self.book.site_dir))

    def show(self, path: str) -> None:
        """Weave and render a page; only when nothing is wrong with it, replace it in site/."""
        page = read(Path(path)).check()
        if not page.blocks:  # perhaps an editor has not written it yet
            raise ChapterError(page.path, 1, "is empty")
        woven = WOVEN / f"{self.name}.draft"
        shutil.rmtree(woven, ignore_errors=True)
        write_page(page, self.name, woven, Book(tuple(terms()), self.woven.uses))
        shutil.copytree(woven, self.book.docs_dir, dirs_exist_ok=True)
        found = [self.file(source.relative_to(woven)) for source in woven.rglob("*.*")]
        self.warned.counts.clear()
        for file in found:
            self.render(file) if file.is_documentation_page() else file.copy_file()
        if self.warned.counts:
            raise Abort("the old page stays")
        for file in found:
            place = SITE / self.name / file.dest_uri
            place.parent.mkdir(parents=True, exist_ok=True)
            Path(file.abs_dest_path).replace(place)

    def file(self, path: Path) -> File:
        """A file that MkDocs knows, such as a page, or must know, such as a new figure."""
        if not (file := self.files.get_file_from_path(path.as_posix())):
            place = self.book.docs_dir, self.book.site_dir
            file = File(path.as_posix(), *place, self.book.use_directory_urls)
            self.files.append(file)
        return file

    def render(self, file: File) -> None:
        """Render a page into the draft of the site."""
        page: Any = file.page
        _populate_page(page, self.book, self.files)
        # Only this plugin: others would write anew what they make of all pages.
        self.book.plugins["autorefs"].on_env(self.env, config=self.book, files=Files([file]))
        pages = self.files.documentation_pages()
        _build_page(page, self.book, pages, self.nav, self.env)
        page.validate_anchor_links(files=self.files, log_level=logging.WARNING)


def main(*words: str) -> None:
    edition = Edition(*words)
    for line in sys.stdin:
        command, *rest = line.rstrip().split(" ", 1)
        said = FAILED
        try:
            getattr(edition, command)(*rest)
            said = DONE
        except (ChapterError, MkDocsException) as error:
            print(error)
        except Exception:  # such as in a diagram's script
            traceback.print_exc()
        print(said, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
