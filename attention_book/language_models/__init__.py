# Made from docs/chapters/17-language-models.md (218aa31e7032). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.language_models.models import (
    CausalLanguageModel,
    MaskedLanguageModel,
)


__all__ = ["CausalLanguageModel", "MaskedLanguageModel"]
