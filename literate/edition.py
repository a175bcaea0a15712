"""One edition of the site, in a process that keeps in memory what MkDocs made of it.

`begin` is the first call in such a process, and `do` each other one. All that is private to
MkDocs is here, but for the loop that waits for edits (literate.serve).
"""

import logging
import multiprocessing
import os
import shutil
import threading
import traceback
from pathlib import Path
from typing import Any

from mkdocs.commands.build import _build_page, _populate_page, build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort, MkDocsException
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File, Files

from literate import ROOT, search
from literate.blocks import ChapterError
from literate.chapter import read
from literate.glossary import terms
from literate.weave import EDITIONS, WOVEN, Book, write_page, write_trees


SITE = ROOT / "site"


class Heard(logging.Handler):
    """Keeps the warnings of MkDocs and its plugins."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} - {record.getMessage()}")


class Edition(BasePlugin):  # type: ignore[type-arg, no-untyped-call]
    """An edition, which is also a plugin, to keep what MkDocs needs to render a page."""

    def __init__(self, name: str, draft: str, url: str) -> None:
        self.name = name
        self.place = {"site_dir": draft, "site_url": url}
        self.heard = Heard()
        logging.getLogger("mkdocs").addHandler(self.heard)
        logging.captureWarnings(capture=True)  # of Python, which are about no page

    def on_nav(self, nav: Any, files: Files, **_: Any) -> None:
        self.nav, self.files = nav, files

    def on_env(self, env: Any, **_: Any) -> None:
        self.env = env

    def build(self) -> None:
        """Weave and render all pages; a warning is an error."""
        self.woven = write_trees([self.name])
        self.book = load_config(EDITIONS[self.name], **self.place, strict=True)
        self.book.plugins["edition"] = self
        self.book.plugins.on_startup(command="build", dirty=False)
        build(self.book)
        site = Path(self.book.site_dir)
        shutil.rmtree(site / "assets/javascripts")  # the theme's, which no page loads
        for unused in site.glob("assets/stylesheets/*.map"):
            unused.unlink()
        search.index(site)

    def show(self, path: Path) -> None:
        """Weave and render a page; only when nothing is wrong with it, replace it in site/."""
        page = read(path).check()
        if not page.blocks:  # perhaps an editor has not written it yet
            raise ChapterError(page.path, 1, "is empty")
        woven = WOVEN / f"{self.name}.draft"
        shutil.rmtree(woven, ignore_errors=True)
        write_page(page, self.name, woven, Book(tuple(terms()), self.woven.uses))
        shutil.copytree(woven, self.book.docs_dir, dirs_exist_ok=True)
        found = [self.file(source.relative_to(woven)) for source in woven.rglob("*.*")]
        for file in found:
            self.render(file) if file.is_documentation_page() else file.copy_file()
        if self.heard.lines:
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


editions: list[Edition] = []  # of this process, one


def begin(name: str, draft: str, url: str) -> None:
    """Make this process that of an edition, until it or the one that began it ends."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    editions.append(Edition(name, draft, url))


def end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def do(command: str, *given: Path) -> tuple[bool, list[str]]:
    """Build this process's edition, or show a page; whether it is done, and what is wrong."""
    (edition,) = editions
    edition.heard.lines.clear()
    try:
        getattr(edition, command)(*given)
    except (ChapterError, MkDocsException) as error:
        return False, [*edition.heard.lines, str(error)]
    except Exception:  # such as in a diagram's script
        return False, [*edition.heard.lines, traceback.format_exc()]
    return True, [*edition.heard.lines]
