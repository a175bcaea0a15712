# Made from docs/source/grammar.md (f32ac9ff9bfb). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Between tokens with spaces around them and text as people type it.

Explained on the page "A grammar and its lexicon".
"""

import re


__all__ = ["detokenize", "tokenize"]


_HAN = r"[\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef]"

_WHO = "he|she|it|that|there|who|what|where|when"  # 's is "is" after these
_CONTRACTIONS = [
    (r"\b(ca)n't\b", r"\1n not"),
    (r"\b(w)on't\b", r"\1ill not"),
    (r"\b(sha)n't\b", r"\1ll not"),
    (r"n't\b", " not"),
    (r"\b(I)'m\b", r"\1 am"),
    (rf"\b({_WHO})'s\b", r"\1 is"),
    (r"\b(you|we|they)'re\b", r"\1 are"),
    (rf"\b(I|you|we|they|{_WHO})'ll\b", r"\1 will"),
    (r"'s\b", "'s"),
]


def tokenize(text: str) -> str:
    """Put spaces around the punctuation of an English sentence."""
    text = text.replace("’", "'")
    for pattern, written_out in _CONTRACTIONS if "'" in text else ():
        text = re.sub(pattern, written_out, text, flags=re.IGNORECASE)
    return " ".join(re.findall(r"'s\b|\w+|[^\w\s]", text))


def detokenize(text: str) -> str:
    """Remove the spaces that people don't type between tokens."""
    text = re.sub(r"\s+(?=[.,?!]|'s\b)", "", text)
    return re.sub(rf"(?<={_HAN})\s+(?={_HAN})", "", text)
