"""Make a zip of each edition that can be read without a network, from the built site, into dist/.

A zip holds one edition, which stands as in the site beside models/, for its live pages. Links name
files, not folders, or lead to the project's home page; by offline.js the search and what needs no
worker run without a server.
"""

import base64
import json
import re
import zipfile
from pathlib import Path
from posixpath import normpath

from literate import ROOT
from literate.edition import SITE
from literate.publish import CANONICAL
from literate.setup import PROJECT
from literate.weave import EDITIONS


LEFT_OUT = {"404.html", "objects.inv", "sitemap.xml", "sitemap.xml.gz"}  # for servers and crawlers
LICENCES = "LICENSE", "LICENSE-PROSE", "NOTICE"
MOVED = "<title>Redirecting...</title>"  # where a page stood once, which nothing here links to
LINK = re.compile(r'(<(a|link|meta)\b[^>]*?\s(?:href|content)=")([^"]*)')
SCRIPT = re.compile(r'<script src="((?:\.\./)*assets/)book\.js" defer>')
IMPORT = re.compile(r'\bfrom "(\.[^"]+)"')
README = """\
打开 index.html 就能读。要用现场的网页，请在这个文件夹里运行 python -m http.server，再打开 http://localhost:8000/ 。
Open index.html to read. For the live pages run python -m http.server here, and open http://localhost:8000/ .
"""
INDEX = """\
<!doctype html>
<meta charset="utf-8">
<title>注意力之书 · The Attention Book</title>
<link rel="icon" href="{0}/assets/logo.svg">
<meta http-equiv="refresh" content="0; url={0}/index.html">
<a href="{0}/index.html">注意力之书 · The Attention Book</a>
"""


def linked(html: str, name: str, files: set[str], edition: str, built: str, url: str) -> str:
    """A page whose links lead to files of the zip, or else to the web."""

    def lead(found: re.Match[str]) -> str:
        before, tag, address = found.groups()
        if address.startswith(built):
            return before + url + address.removeprefix(built)
        path, mark, rest = address.partition("#")
        if tag == "meta" or not path or re.match(r"[a-z]+:", path):
            return found[0]
        place = normpath(f"{edition}/{name}/../{path}")
        if place != edition and not place.startswith(f"{edition}/"):
            return f"{before}{url}{place}{'/' * path.endswith('/')}{mark}{rest}"
        if place.removeprefix(f"{edition}/") not in files:  # then it is a folder
            path, place = f"{path.rstrip('/')}/index.html", f"{place}/index.html"
        if place.removeprefix(f"{edition}/") not in files:
            raise SystemExit(f"want a link to a page, got {address}; in {edition}/{name}")
        return before + path + mark + rest

    return SCRIPT.sub(r'<script src="\1offline.js" defer></script>\n\g<0>', LINK.sub(lead, html))


def modules(files: dict[str, bytes]) -> list[str]:
    """The scripts that pages import and that need no worker, nor need others that do."""

    def needs(name: str) -> set[str]:
        others = {normpath(f"{name}/../{other}") for other in IMPORT.findall(files[name].decode())}
        return {name}.union(*map(needs, others))

    live = [name for name in files if re.fullmatch(r"assets/live/\w+\.js", name)]
    alone = [name for name in live if not any(b"new Worker(" in files[n] for n in needs(name))]
    return ["assets/search.js", "pagefind/pagefind.js", *alone]


def contents(site: Path, edition: str, url: str) -> dict[str, bytes]:
    """The files of the zip."""
    folder = site / edition
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name not in LEFT_OUT]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    files = {name: text for name, text in files.items() if MOVED.encode() not in text}
    (built,) = CANONICAL.findall((site / "index.html").read_text("utf-8"))
    names = set(files)
    for name in filter(re.compile(r"\.html$").search, names):
        files[name] = linked(files[name].decode(), name, names, edition, built, url).encode()
    packed = {"modules": {name: files[name].decode() for name in sorted(modules(files))}}
    script = Path(__file__).with_suffix(".js").read_text("utf-8")
    found = (name for name in sorted(names) if name.startswith("pagefind/"))
    index = {name: base64.b64encode(files[name]).decode() for name in found}
    files["assets/offline.js"] = f"const packed = {json.dumps(packed)};\n{script}".encode()
    files["pagefind/packed.js"] = f"packed.index = {json.dumps(index)};\n".encode()
    models = {f"models/{path.name}": path.read_bytes() for path in site.glob("models/*")}
    licences = {name: (ROOT / name).read_bytes() for name in LICENCES}
    front = {"README.txt": README, "index.html": INDEX.format(edition)}
    files = {f"{edition}/{name}": text for name, text in files.items()} | models | licences
    return files | {name: text.encode() for name, text in front.items()}


def pack(site: Path, edition: str, url: str, dist: Path) -> Path:
    """Write the zip, the same for the same site."""
    made = dist / f"attention-book-{edition}-offline.zip"
    draft = made.with_suffix(".draft")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for name, text in sorted(contents(site, edition, url).items()):
            entry = zipfile.ZipInfo(f"attention-book-{edition}/{name}")  # of 1980, as all are
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            zipped.writestr(entry, text)
    return draft.replace(made)


def main() -> None:
    if not (SITE / "index.html").exists():
        raise SystemExit(f"no site in {SITE.relative_to(ROOT)}/; run: nox -s offline")
    (ROOT / "dist").mkdir(exist_ok=True)
    for edition in EDITIONS:
        made = pack(SITE, edition, PROJECT["urls"]["Homepage"], ROOT / "dist")
        print(f"{made.relative_to(ROOT)}  {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
