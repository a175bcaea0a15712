"""Make the book on paper and for e-readers from the built site, into dist/.

python -m literate.paper [--url https://…/]    a PDF and two EPUBs of each edition
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pypandoc
import typst
from attention_book import __version__
from mkdocs.utils.yaml import yaml_load

from literate import ROOT
from literate.blocks import pick
from literate.chapter import NAV
from literate.drawing import draw
from literate.edition import SITE
from literate.paper.formulas import pictures
from literate.paper.leaves import Leaves
from literate.paper.still import still
from literate.weave import EDITIONS


HERE = Path(__file__).parent
DRAFT = ROOT / ".cache/paper"
DIST = ROOT / "dist"
LANGUAGE = {"zh": "zh-Hans", "en": "en-GB"}
WORDS = {
    "version": f"第 {__version__} 版 | Version {__version__}",
    "toc-title": "目录 | Contents",
    "left-out": "源码注解和软件包的参考手册只在网上。 | The annotated source and the reference of the package are on the web alone.",
}
FONTS = ("Noto Serif CJK SC", "Noto Sans CJK SC", "Noto Sans Mono CJK SC")


def fonts() -> typst.Fonts:
    """The fonts of the machine and those of the plots, all that are needed among them."""
    plots = DRAFT / "fonts"
    plots.mkdir(parents=True, exist_ok=True)
    for file in Path(mpl.get_data_path(), "fonts/ttf").glob("DejaVuSans*.ttf"):
        shutil.copy(file, plots)
    found = typst.Fonts(font_paths=[plots])
    if lost := [name for name in FONTS if name not in found.families()]:
        raise SystemExit(
            f"the PDF needs the font {lost[0]}, which is not here; install fonts-noto-cjk (Debian), "
            "noto-fonts-cjk (Arch) or google-noto-sans-cjk-fonts and google-noto-serif-cjk-fonts (Fedora)"
        )
    return found


def moment() -> int:
    """When the text is from, in seconds since 1970: SOURCE_DATE_EPOCH, or else the commit's."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    asked = ["git", "log", "-1", "--format=%ct"]
    log = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if log.returncode:
        raise SystemExit("no date: this is no git repository; set SOURCE_DATE_EPOCH")
    return int(log.stdout)


class Press:
    """An edition in the making."""

    def __init__(self, edition: str, url: str, when: int) -> None:
        self.edition, self.when = edition, when
        self.folder = DRAFT / edition
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        settings = yaml_load((ROOT / NAV).read_text("utf-8"))
        day = datetime.fromtimestamp(when, UTC)
        names = settings["site_name"].split(" | ")
        title, subtitle = names if edition == "zh" else names[::-1]
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        self.about = {
            "title": title,
            "subtitle": subtitle,
            "author": project["authors"][0]["name"],
            "lang": LANGUAGE[edition],
            "date": f"{day:%Y-%m-%d}",
            "description": pick(settings["site_description"].strip(), edition),
            "rights": pick(settings["copyright"], edition),
            **{name: pick(text, edition) for name, text in WORDS.items()},
        }
        self.address = f"{url.rstrip('/')}/{edition}/"
        dates = {"year": day.year, "month": day.month, "day": day.day}
        self.given = [f"--variable={name}={number}" for name, number in dates.items()]
        self.given.append(f"--variable=address={self.address}")
        if edition == "zh":
            self.given.append("--variable=is-zh")
        self.html = Leaves(edition, SITE, url, self.folder).bound()
        cover = still(draw("home", edition, ""))
        (self.folder / "cover.svg").write_text(cover, "utf-8")

    def pandoc(self, text: str, kind: str, *options: str) -> str:
        """Have pandoc turn HTML into something else; a warning is an error."""
        about = [f"--metadata={name}={value}" for name, value in self.about.items()]
        command = [pypandoc.get_pandoc_path(), "--from=html", f"--to={kind}", "--fail-if-warnings"]
        command += ["--wrap=none", f"--lua-filter={HERE / 'filter.lua'}"]
        done = subprocess.run(
            [*command, *about, *options],
            input=text,
            cwd=self.folder,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(self.when)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"pandoc cannot make the {self.edition} {kind}: {done.stderr}")
        return done.stdout

    def typst(self, text: str, name: str, **options: Any) -> Path:
        """Set a text for paper."""
        template = f"--template={HERE / 'book.typ'}"
        source, made = self.folder / f"{name}.typ", self.folder / name
        source.write_text(self.pandoc(text, "typst", template, *self.given), "utf-8")
        _, warnings = typst.compile_with_warnings(
            str(source), str(made), font_paths=fonts(), timestamp=self.when, **options
        )
        for warning in warnings:
            print(f"{source.name}: {warning}", file=sys.stderr)
        return made

    def epub(self, text: str, name: str, cover: Path) -> Path:
        """Make an EPUB."""
        made = self.folder / name
        self.pandoc(
            text,
            "epub3",
            f"--output={made}",
            f"--css={HERE / 'book.css'}",
            f"--epub-cover-image={cover}",
            f"--metadata=identifier={self.address}#{__version__}-{name}",
            *("--mathml", "--toc", "--toc-depth=3", "--split-level=2"),
        )
        return made

    def make(self) -> list[Path]:
        """The PDF and both EPUBs."""
        name = f"attention-book-{self.edition}"
        cover = self.typst("", "cover.png", format="png", ppi=144)
        with_pictures = pictures(self.html, self.folder, self.pandoc, fonts())
        return [
            self.typst(self.html, f"{name}.pdf", format="pdf"),
            self.epub(self.html, f"{name}.epub", cover),
            self.epub(with_pictures, f"{name}-pictures.epub", cover),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Make PDF and EPUB of the book.")
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
    default = urls.get("Homepage", "http://127.0.0.1:8000/")
    parser.add_argument("--url", default=default, help="where the site stands")
    asked = parser.parse_args()
    fonts()
    when = moment()
    DIST.mkdir(exist_ok=True)
    for edition in EDITIONS:
        for made in Press(edition, asked.url, when).make():
            place = DIST / made.name
            made.replace(place)
            print(f"{place.relative_to(ROOT)}  {place.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
