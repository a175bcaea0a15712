"""For mkdocstrings: link each object of the API pages to the place that defines it."""

from typing import Any

import griffe

from literate.chapter import CHAPTERS, Chapter, dotted, names, read_all
from literate.weave import headings, title_of


class ChapterLinks(griffe.Extension):
    """End the docstring of each object with a link to its chapter."""

    def __init__(self, language: str = "en") -> None:
        self.language = language
        self.places: dict[tuple[str, str], tuple[Chapter, str]] = {}
        for chapter in read_all():
            for block, anchor in headings(chapter):
                for name in names(block.body, chapter.path, block.line, imports=False):
                    self.places[dotted(block.title), name] = chapter, anchor

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        del kwargs
        if obj.is_module or obj.parent is None or not obj.parent.is_module:
            return
        found = self.places.get((obj.module.path, obj.name))
        if found and obj.docstring:
            chapter, anchor = found
            word = "出自" if self.language == "zh" else "From"
            target = f"../{CHAPTERS.name}/{chapter.path.name}#{anchor}"
            link = f"[{title_of(chapter, self.language)}]({target})"
            obj.docstring.value += f"\n\n{word} {link}\n"
