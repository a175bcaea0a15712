# Made from docs/chapters/33-texts.md (a91ae7849233). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.texts.cleaning import (
    clean,
    dedup_key,
    normalize_message,
    split_pairs,
)
from attention_book.texts.help_pages import read_help
from attention_book.texts.readers import (
    CATALOGUES,
    Pair,
    read_catalogues,
    read_dataset,
    read_tsv,
)
from attention_book.texts.subwords import (
    BPETokenizer,
    tokenizer_from_json,
    tokenizer_to_json,
)


__all__ = [
    "CATALOGUES",
    "BPETokenizer",
    "Pair",
    "clean",
    "dedup_key",
    "normalize_message",
    "read_catalogues",
    "read_dataset",
    "read_help",
    "read_tsv",
    "split_pairs",
    "tokenizer_from_json",
    "tokenizer_to_json",
]
