"""Put a release's site beside those of earlier releases: the newest at the root, all in folders.

python -m literate.publish VERSION PAGES    take site/, built for the address of the root

PAGES is what is published, such as a checkout of the branch gh-pages: the root, which is the
newest release, and a folder for each release, such as 0.1.0/, which stays as it is. Pages of the
same edition are at the same place in all of them, and versions.html leads from one to another.
It needs nothing but Python: what may write the branch runs nobody else's code.
"""

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from literate import ROOT


THEME = Path(__file__).parent / "theme"
VERSION = re.compile(r"\d+\.\d+\.\d+")
ROW = '<li><strong>{0}</strong>{1} <a href="{2}zh/">中文</a> <a href="{2}en/" lang="en">English</a>'
NEWEST = ' 最新 · <span lang="en">newest</span>'
CANONICAL = re.compile('<link rel="canonical" href="([^"]+)">')


def landing(url: str) -> str:
    """The page that picks an edition, for a site at this address."""
    page = (THEME / "landing.html").read_text("utf-8")
    return page.replace("{{ base }}", urlsplit(url).path).replace("{{ url }}", url)


def listing(versions: Sequence[str], root: str = "") -> str:
    """The page that leads to other versions, the newest first; `root` is where it stands from here.

    Where there is one version it is this one, and has no folder of its own yet.
    """
    rows = [ROW.format(versions[0], NEWEST, root)]
    rows += [ROW.format(version, "", f"{root}{version}/") for version in versions[1:]]
    page = (THEME / "versions.html").read_text("utf-8")
    return page.replace("{{ versions }}", "\n".join(rows))


def publish(site: Path, version: str, pages: Path) -> None:
    """Add a release, or put it in anew; the root changes if no other is newer."""
    if not VERSION.fullmatch(version):
        raise SystemExit(f"want a version such as 0.1.0, got {version}")
    pages.mkdir(parents=True, exist_ok=True)
    kept = [place.name for place in pages.iterdir() if VERSION.fullmatch(place.name)]
    versions = sorted({version, *kept}, key=_key, reverse=True)
    shutil.rmtree(pages / version, ignore_errors=True)
    shutil.copytree(site, pages / version)
    index = (site / "index.html").read_text("utf-8")
    (url,) = CANONICAL.findall(index)
    (pages / version / "index.html").write_text(landing(f"{url}{version}/"), "utf-8")
    if version == versions[0]:
        for old in pages.iterdir():
            if old.name != ".git" and old.name not in versions:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        shutil.copytree(site, pages, dirs_exist_ok=True)
    (pages / "versions.html").write_text(listing(versions), "utf-8")
    for each in versions:
        (pages / each / "versions.html").write_text(listing(versions, "../"), "utf-8")


def _key(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


if __name__ == "__main__":
    publish(ROOT / "site", sys.argv[1], Path(sys.argv[2]))
