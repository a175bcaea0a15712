# Made from docs/source/package.md (879c6e72fe71). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Models of transformers, read from folders and written back.

The idea is explained in the chapter "Pretrained weights", the code on the
page "Folders of pretrained models".
"""
