# Made from docs/chapters/41-grammar.md (6f176a887456). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import re


__all__ = ["detokenize", "tokenize"]


_HAN = r"[\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef]"

_WHO = "he|she|it|that|there|who|what|where|when"  # 's is "is" after these


def tokenize(text: str) -> str:
    """Put spaces around the punctuation of an English sentence."""
    text = text.replace("’", "'")
    text = re.sub(r"\b([Cc]a)n't\b", r"\1n not", text)
    text = re.sub(r"\b([Ww])on't\b", r"\1ill not", text)
    text = re.sub(r"\b([Ss]ha)n't\b", r"\1ll not", text)
    text = re.sub(r"n't\b", " not", text)
    text = re.sub(r"\b([Ii])'m\b", r"\1 am", text)
    text = re.sub(rf"\b({_WHO})'s\b", r"\1 is", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(you|we|they)'re\b", r"\1 are", text, flags=re.I)
    text = re.sub(
        rf"\b({_WHO}|I|you|we|they)'ll\b", r"\1 will", text, flags=re.I
    )
    text = re.sub(r"'S\b", "'s", text)
    return " ".join(re.findall(r"'s\b|\w+|[^\w\s]", text))


def detokenize(text: str) -> str:
    """Remove the spaces that people don't type between tokens."""
    text = re.sub(r"\s+(?=[.,?!]|'s\b)", "", text)
    return re.sub(rf"(?<={_HAN})\s+(?={_HAN})", "", text)
