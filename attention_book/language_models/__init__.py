# Made from docs/chapters/59-text-generation.md (e0eed9dbbf43). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.language_models.generation import (
    Candidate,
    fill_blank,
    generate_text,
)
from attention_book.language_models.masking import (
    IGNORED,
    MaskedTokens,
    mask_tokens,
)
from attention_book.language_models.models import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.language_models.ngrams import NGramModel


__all__ = [
    "IGNORED",
    "Candidate",
    "CausalLanguageModel",
    "MaskedLanguageModel",
    "MaskedTokens",
    "NGramModel",
    "fill_blank",
    "generate_text",
    "mask_tokens",
]
