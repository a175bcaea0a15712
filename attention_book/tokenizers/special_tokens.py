# Made from docs/transformer/corpus.md (34dcba4b3829). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
__all__ = ["BOS", "EOS", "PAD", "SPECIAL_TOKENS", "UNSURE"]
PAD = 0
BOS = 1  # beginning of sequence
EOS = 2  # end of sequence
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>")
UNSURE = "…"  # stands for the translation of what is no known sentence
