"""The book on paper and in e-readers: `python -m literate.paper` makes it from the built site."""
