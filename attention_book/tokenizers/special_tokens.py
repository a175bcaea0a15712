# Made from docs/transformer/corpus.md (c37877881db1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Tokens that stand for no word. Explained in the chapter "A corpus"."""

__all__ = ["BOS", "EOS", "PAD", "SPECIAL_TOKENS"]


PAD = 0
BOS = 1  # beginning of sequence
EOS = 2  # end of sequence
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>")
