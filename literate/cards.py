"""Draw the pictures that stand beside a link to the book where it is shared.

python -m literate.cards    draw docs/assets/card.zh.png and card.en.png again, in Chromium
"""

import shutil

from playwright.sync_api import ViewportSize, sync_playwright

from literate import ROOT
from literate.blocks import pick
from literate.drawing import draw
from literate.root import ABOUT, NAME
from literate.weave import EDITIONS


ASSETS = ROOT / "docs/assets"
SIZE: ViewportSize = {"width": 1200, "height": 630}
PAGE = """<!doctype html><html lang="{lang}"><meta charset="utf-8">
<base href="{base}"><link rel="stylesheet" href="diagram.css">
<style>
  body {{ display: grid; grid-template-columns: 1fr 1.15fr; gap: 50px; align-items: center; height: 630px;
    margin: 0; padding: 0 60px; box-sizing: border-box; border-bottom: 14px solid #b3261e;
    background: #fffdf8; color: #1d1b16; font: 27px/1.6 system-ui, "Noto Sans CJK SC", sans-serif }}
  h1 {{ margin: 0 0 24px; font: 700 56px/1.2 Georgia, "Noto Serif CJK SC", serif }}
  p {{ margin: 0 }}
  .diagram {{ max-width: none }}
</style>
<div><h1>{name}</h1><p>{about}</p></div><div>{picture}</div></html>"""


def main() -> None:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for edition in EDITIONS:
            picture = draw("home", edition, "")
            texts = {"name": pick(NAME, edition), "about": pick(ABOUT, edition)}
            draft = ASSETS / f"card.{edition}.html"
            draft.write_text(
                PAGE.format(lang=edition, base=f"{ASSETS.as_uri()}/", picture=picture, **texts),
                "utf-8",
            )
            page = browser.new_page(viewport=SIZE)
            page.goto(draft.as_uri())
            page.evaluate("document.fonts.ready")
            page.screenshot(path=draft.with_suffix(".png"))
            draft.unlink()
        browser.close()


if __name__ == "__main__":
    main()
