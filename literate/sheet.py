r"""All of attention on one page: what each cell shows, taken from the chapter where it stands.

A cell names a chapter, or one of its sections, which gives the title. A formula and a picture are
named by their anchors, and a sentence by how it begins in both languages, so that whoever changes
a chapter changes the sheet, and what is there no longer is an error.
"""

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from literate import glossary
from literate.blocks import FIGURE, HAN, Block, ChapterError, heading, pick
from literate.chapter import Chapter, Twin, read
from literate.drawing import draw
from literate.finish import typeset
from literate.references import LABEL, anchor, refer


class Cell(NamedTuple):
    """A section, such as `attention/scoring#scaled`; what it says; anchors of what it shows."""

    place: str
    says: str
    anchors: str


# `place: 中文开头 | English beginning; anchors`, a cell a line.
COLUMNS = (
    """
attention/pooling: 查询是要找的 | The query is what you look for; fig-weighted-average eq-weighted-average
attention/scoring#scaled: 掩码里 … 掩码必须 | In a mask; fig-scaled-dot-product eq-attention
attention/scoring#why-scale: 分量独立 | For independent components; fig-score-widths
""",
    """
attention/multi-head: 每个头是一组 | Each head is a complete; fig-multi-head eq-multi-head
attention/positions#sinusoidal: 正弦编码是 | The sinusoidal encoding is; eq-sinusoidal
attention/positions#rotary: 旋转位置编码旋转 | Rotary positions rotate; fig-rotary eq-rotary
attention/positions#alibi: ALiBi 从得分里 | ALiBi subtracts; fig-distance-bias eq-alibi
""",
    """
transformer/encoder#layer: 注意力在词元之间 | Attention takes information; eq-encoder-layer
transformer/residuals#pre-post: 后置归一化是 | Post-norm is … Pre-norm is;
transformer/decoder#layer: 一层有三个子层 | A layer has three; eq-decoder-layer
transformer/transformer: 解码器先关注 | The decoder attends; fig-transformer
transformer/recipe#loss: 损失的下限是 | The lowest expected loss; eq-label-smoothing
""",
    """
transformer/beam-search: 束搜索同时留 | Beam search keeps; eq-beam-score
language/language-models: 两个模型都由 … BERT 的掩码 | Both are stacks … BERT sees; fig-families
fast/cache: 键值头少于查询头 | With fewer heads; fig-cache-sizes eq-latent
fast/flash: softmax 可以边走边算 | Softmax can be computed; fig-flash-tiles eq-online
""",
    """
fast/long: 窗口叠 | $L$ layers … A dilated; fig-long-patterns
fast/linear: 去掉 softmax | Without softmax; fig-linear-state eq-state
fast/generating-fast: 推测解码以概率 | Speculative decoding accepts;
beyond/vit: 图像切成块 | Cut an image into patches; eq-vit
trust/interpret: 权重说明模型看了 | Weights say where … takes a change; eq-effect
""",
)
# Where a sentence ends; the stop of `et al.` has no capital after it.
END = {"zh": r"[。！？]”?", "en": r"[.!?]”?(?=$|\s+[A-Z“$`\[])"}


def cells(edition: str) -> list[list[dict[str, str]]]:
    """The columns of the sheet: of each cell its number, title, sentence, and what it shows."""
    rows = (column.strip().split("\n") for column in COLUMNS)
    return [[_cell(Cell(*re.split("[:;] ?", row)), edition) for row in column] for column in rows]


def _cell(cell: Cell, edition: str) -> dict[str, str]:
    name, _, section = cell.place.partition("#")
    page = read(Path(f"docs/{name}.md"))
    titles = [heading(block) for block in page.blocks if block.kind == "heading"]
    title = next((t for t in titles if section in (t[2], "")), None)
    if not title:
        raise missing(page, f"section #{section}")
    shown = "".join(show(page, name, edition) for name in cell.anchors.split())
    return {
        "number": str(page.number),
        "title": inline(title[edition == "en"], edition),
        "shown": shown,
        "sentence": sentence(page, cell.says, edition),
    }


def missing(page: Chapter, what: str) -> ChapterError:
    return ChapterError(page.path, 1, f"has no {what}, which a card or the sheet shows")


def show(page: Chapter, name: str, edition: str) -> str:
    """A diagram or a formula of a chapter, by its anchor, without its number."""
    for block in page.blocks:
        if anchor(block) == name:
            return _drawn(block, edition)
    raise missing(page, name)


def _drawn(block: Block, edition: str) -> str:
    if block.kind == "math":
        tex = LABEL.sub("", block.text).strip("$ \n")
        if "&" not in tex:  # one line, which is too long for a cell where it has two parts
            lines = tex.replace(r"\qquad", r"\\")
            tex = rf"\begin{{gathered}}{lines}\end{{gathered}}"
        return f'<div class="formula">{typeset(tex, True)}</div>'
    alternative, path, _ = FIGURE.findall(block.text)[0]
    name = Path(path).stem
    return f"<figure>{draw(name, edition, pick(alternative, edition))}</figure>"


def sentence(page: Chapter, begins: str, edition: str) -> str:
    """The HTML of what begins so, in the passage that has both beginnings, to the sentence's end.

    Where there is ` … ` in what begins, the sentences between are taken too.
    """
    starts = {side: pick(begins, side) for side in END}
    for twin in (part for part in page.parts if isinstance(part, Twin)):
        texts = {"zh": twin.zh.text, "en": twin.en.text}
        found = {side: _said(texts[side], starts[side], side) for side in END}
        if all(found.values()):
            return inline(refer(found[edition], page), edition)
    raise missing(page, f"passage with “{begins}”")


def _said(text: str, begins: str, edition: str) -> str:
    pattern = ".*?".join(re.escape(part) for part in begins.split(" … "))
    found = re.search(f"{pattern}.*?(?:{END[edition]})", text, re.M)
    return found[0] if found else ""


def inline(text: str, edition: str) -> str:
    """A line of Markdown as HTML without links; Chinese says where its words end."""
    return _markdown(edition).renderInline(text)


@cache
def _markdown(edition: str) -> MarkdownIt:
    md = MarkdownIt("commonmark", {"typographer": True}).enable("smartquotes")
    md.use(dollarmath_plugin, renderer=lambda tex, _: typeset(tex, False))
    for unlinked in ("link_open", "link_close"):
        md.add_render_rule(unlinked, lambda *_: "")
    if edition == "zh":
        md.add_render_rule("text", lambda _, tokens, at, *__: _words(tokens[at].content))
    return md


def _words(text: str) -> str:
    """Chinese that may break between words, where a style sheet keeps all together."""
    written = ""
    for word in glossary.words(tuple(glossary.terms())).cut(text):
        between = HAN.match(written[-1:]) and HAN.match(word)
        written += "<wbr>" * bool(between) + escape(word)
    return written
