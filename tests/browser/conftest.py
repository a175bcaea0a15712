"""The built site on a local server, and a real Chromium to walk it."""

import http.server
import threading
from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Request,
    Response,
    ViewportSize,
)

from literate import cards
from literate.chapter import ROOT


WIDE: ViewportSize = {"width": 1280, "height": 800}
QUIET = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-sync",
    "--no-first-run",
]


class Server(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None: ...

    def send_error(self, code: int, *args: object, **kwargs: object) -> None:
        """As hosts do: the root's 404 page for what is not there."""
        page = (ROOT / "site/404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page)


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the site, without a slash at its end."""
    assert (ROOT / "site/zh/index.html").exists(), "run: nox -s site"
    handler = partial(Server, directory=str(ROOT / "site"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with cards.chromium(*QUIET) as browser:
        yield browser


class Visitor:
    """A page that notes what no page of the book may do."""

    def __init__(self, page: Page, site: str) -> None:
        self.page = page
        self.site = site
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(f"{error}"))
        page.on("console", self.console)
        page.on("request", self.request)
        page.on("response", self.response)

    def console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def request(self, request: Request) -> None:
        url = request.url
        if not url.startswith((self.site, "data:", "blob:")):
            self.faults.append(f"asked another host: {url}")

    def response(self, response: Response) -> None:
        if response.status >= 400:
            self.faults.append(f"{response.status}: {response.url}")

    def open(self, path: str) -> Page:
        self.page.goto(self.site + path)
        return self.page


@pytest.fixture
def visit(
    chromium: Browser, site: str, request: pytest.FixtureRequest
) -> Iterator[Visitor]:
    """A fresh visitor; `@pytest.mark.parametrize("options", …)` sets how."""
    options = {"viewport": WIDE}
    if "options" in request.fixturenames:
        options |= request.getfixturevalue("options")
    context = chromium.new_context(**options)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor = Visitor(context.new_page(), site)
    yield visitor
    context.close()
    assert visitor.faults == []


@pytest.fixture(scope="session")
def walker(chromium: Browser, site: str) -> Iterator[Visitor]:
    context = chromium.new_context(viewport=WIDE)
    yield Visitor(context.new_page(), site)
    context.close()


@pytest.fixture
def tour(walker: Visitor) -> Iterator[Visitor]:
    """A visitor who goes from page to page, and keeps what is cached but no choice."""
    walker.faults.clear()
    walker.page.emulate_media(media="screen")  # whatever a test before left
    walker.page.set_viewport_size(WIDE)
    if walker.page.url.startswith(walker.site):
        walker.page.evaluate("localStorage.clear()")
    yield walker
    assert walker.faults == []
