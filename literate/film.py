"""Film the live page for the READMEs: a sentence is typed, its heads are seen, a layer falls silent.

python -m literate.film takes the built site and a real Chromium, and writes docs/assets/live.en.webp
and live.zh.webp.
"""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO

from PIL import Image
from playwright.sync_api import Page, ViewportSize

from literate import ROOT
from literate.cards import chromium, keep


SENTENCES = {"en": "She is reading a book in the library.", "zh": "我昨天在花园里找到了一把钥匙。"}
SIZE: ViewportSize = {"width": 840, "height": 500}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None: ...


def _film(page: Page, sentence: str) -> list[tuple[Image.Image, int]]:
    """What happens on the page: each frame, and for how many milliseconds it stands."""
    frames: list[tuple[Image.Image, int]] = []

    def shoot(milliseconds: int) -> None:
        page.wait_for_timeout(250)
        frames.append((Image.open(BytesIO(page.screenshot())).convert("RGB"), milliseconds))

    def show(selector: str) -> None:
        page.locator(selector).first.evaluate(
            "e => scrollTo(0, scrollY + e.getBoundingClientRect().top - 70)"
        )

    field = page.locator(".ask input")
    page.locator(".ask button").click()
    page.locator(".result:not(:empty)").wait_for()
    show(".ask")
    shoot(1200)
    field.fill("")
    step = max(1, len(sentence) // 10)
    for end in range(step, len(sentence) + step, step):
        field.fill(sentence[:end])
        page.wait_for_function("document.querySelector('[aria-busy=false] .result')?.textContent")
        shoot(350)
    frames[-1] = (frames[-1][0], 1800)
    show(".heads")
    shoot(1200)
    show(".views")
    for row in page.locator(".written button").all():
        row.evaluate("e => e.click()")
        shoot(700)
    show(".views ~ h2")
    shoot(1200)
    page.locator(".views ~ .row button").nth(3).evaluate("e => e.click()")  # the layer of the head
    page.locator(".measured :first-child").first.wait_for()
    shoot(4000)
    return frames


def main() -> None:
    """Film both editions."""
    handler = partial(_Quiet, directory=str(ROOT / "site"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with chromium() as browser:
        for edition, sentence in SENTENCES.items():
            page = browser.new_page(viewport=SIZE, reduced_motion="reduce")
            page.goto(f"http://127.0.0.1:{server.server_port}/{edition}/live/translate/")
            frames = _film(page, sentence)
            first, *rest = (image for image, _ in frames)
            film = BytesIO()
            first.save(
                film,
                "webp",
                save_all=True,
                append_images=rest,
                duration=[milliseconds for _, milliseconds in frames],
                loop=0,
                lossless=True,
                method=6,
            )
            keep(ROOT / f"docs/assets/live.{edition}.webp", film.getvalue())
    server.shutdown()


if __name__ == "__main__":
    main()
