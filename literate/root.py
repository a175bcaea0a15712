"""What stands at the root of the site: the page that picks an edition, and what crawlers read."""

import re
import shutil
from pathlib import Path

from literate import ROOT, labs, summary
from literate.blocks import pick
from literate.chapter import PACKAGE, order, read, read_all
from literate.publish import landing, listing
from literate.release import version
from literate.weave import EDITIONS, title_of


MARK = '<meta charset="utf-8">\n'
NOT_LISTED = '<meta name="robots" content="noindex">\n'
ROBOTS = "User-agent: *\nAllow: /\n"
NAME = "注意力之书 | The Attention Book"
ABOUT = "一本讲注意力机制和 Transformer 的书，中英并排写成，每一段代码都经过测试。 | A book about attention and the Transformer, in Chinese and English, every line of code tested."


def write_root(site: Path, url: str) -> None:
    """Write the files of the root; `url` is where the site will stand."""
    url = url.rstrip("/") + "/"
    page = landing(url)
    (site / "index.html").write_text(page, "utf-8")
    lost = re.sub(r'<link rel="(?:canonical|alternate)".*\n', "", page)  # it stands at no address
    (site / "404.html").write_text(lost.replace(MARK, MARK + NOT_LISTED), "utf-8")
    (site / "versions.html").write_text(listing([version()]), "utf-8")
    maps = "".join(f"Sitemap: {url}{edition}/sitemap.xml\n" for edition in EDITIONS)
    (site / "robots.txt").write_text(ROBOTS + maps, "utf-8")
    (site / "llms.txt").write_text(llms(url), "utf-8")
    (site / ".nojekyll").touch()
    (site / "models").mkdir(exist_ok=True)  # which both editions run in the browser
    for model in (ROOT / PACKAGE / "models").glob("*.safetensors"):
        shutil.copy(model, site / "models")


def llms(url: str) -> str:
    """The list of all pages, with what they are about, for language models (llmstxt.org)."""
    parts = [f"# {pick(NAME, 'en')} · {pick(NAME, 'zh')}"]
    parts.append(f"> {pick(ABOUT, 'en')} {pick(ABOUT, 'zh')}")
    folders = dict.fromkeys(path.parent for path in order() if path.parent.name != "docs")
    firsts = [folder / "index.md" for folder in folders]
    everything = [read(path) for path in firsts if (ROOT / path).exists()] + read_all()
    everything += [
        read(path.relative_to(ROOT)) for path in sorted((ROOT / labs.LABS).glob("*.ipynb"))
    ]
    for edition, heading in (("en", "English"), ("zh", "中文")):
        lines = []
        for page in everything:
            number = f"{page.number} " if page.is_chapter else ""
            path = page.path.parent if page.is_part else page.path.with_suffix("")
            place = path.relative_to("docs").as_posix()
            title = f"{number}{title_of(page, edition)}"
            about = summary.description(page, edition)
            lines.append(f"- [{title}]({url}{edition}/{place}/): {about}")
        parts += [f"## {heading}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"
