# Made from docs/chapters/42-grammar.md (54a37f264fb9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import re


__all__ = ["detokenize", "tokenize"]


_HAN = r"[\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef]"


def tokenize(text: str) -> str:
    """Put spaces around the punctuation of an English sentence."""
    text = text.replace("’", "'")
    text = re.sub(r"\b([Cc]a)n't\b", r"\1n not", text)
    text = re.sub(r"\b([Ww])on't\b", r"\1ill not", text)
    text = re.sub(r"\b([Ss]ha)n't\b", r"\1ll not", text)
    text = re.sub(r"n't\b", " not", text)
    return " ".join(re.findall(r"'s\b|\w+|[^\w\s]", text))


def detokenize(text: str) -> str:
    """Remove the spaces that people don't type between tokens."""
    text = re.sub(r"\s+(?=[.,?!]|'s\b)", "", text)
    return re.sub(rf"(?<={_HAN})\s+(?={_HAN})", "", text)
