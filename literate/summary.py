"""What a page says of itself: a description, how long it takes to read, when it was tested."""

import re
from datetime import UTC, datetime
from importlib.metadata import version

from literate.chapter import Chapter, Twin
from literate.references import refer
from literate.run import stamp


# What people read in a minute: Chinese characters, English words (Brysbaert, Journal of Memory
# and Language 109, 2019, has 260 and 238 words; a Chinese word is some 1.5 characters), lines of
# code (our guess).
CHARACTERS = 390
WORDS = 238
LINES = 15
LINK = re.compile(r"!?\[((?:`[^`]*`|[^]`])*)\](?:\([^)]*\)|\[[^]]*\])")
SENTENCE = re.compile(r"[^。！？]+[。！？”）]+|.+?[.!?]+(?=\s|$)")
LONGEST = {"zh": 90, "en": 180}


def of(page: Chapter, edition: str) -> dict[str, str]:
    """What stands at the head of the woven page, for the templates."""
    about: dict[str, str] = {}
    if text := description(page, edition):
        about["description"] = text
    if page.is_chapter or page.is_source:
        about["minutes"] = str(minutes(page, edition))
        passed = stamp(page)
        if passed.exists() and page.cells:
            when = datetime.fromtimestamp(passed.stat().st_mtime, UTC)
            about["torch"] = version("torch").partition("+")[0]
            about["tested"] = f"{when:%Y-%m-%d}"
    return about


def description(page: Chapter, edition: str) -> str:
    """The first sentences of prose without formulas, as many as a search engine shows."""
    for part in page.parts:
        if not isinstance(part, Twin):
            continue
        short = ""
        text = re.sub(r"[*`\n]", "", LINK.sub(r"\1", refer(getattr(part, edition).text, page)))
        for sentence in SENTENCE.findall(text):
            if "$" in sentence or (short and len(short + sentence) > LONGEST[edition]):
                break
            short += sentence
        if short:
            return short.strip()
    return ""


def minutes(page: Chapter, edition: str) -> int:
    """About how long one reads a chapter, code and all; its exercises take longer."""
    prose = (getattr(part, edition).text for part in page.parts if isinstance(part, Twin))
    plain = LINK.sub(r"\1", "\n".join(prose))
    count = len(re.findall(r"[㐀-鿿]" if edition == "zh" else r"[A-Za-z][\w'’-]*", plain))
    code = sum(cell.code.body.count("\n") for cell in page.cells)
    return max(1, round(count / (CHARACTERS if edition == "zh" else WORDS) + code / LINES))
