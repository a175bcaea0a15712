# Made from docs/transformer/corpus.md (5c0f9fc8e0b7). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Tokens that stand for no word. Explained in the chapter "A corpus"."""

__all__ = ["BOS", "EOS", "PAD", "SPECIAL_TOKENS", "UNSURE"]


PAD = 0
BOS = 1  # beginning of sequence
EOS = 2  # end of sequence
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>")
UNSURE = "…"  # stands for the translation of what is no known sentence
