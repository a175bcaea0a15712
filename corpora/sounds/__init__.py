"""Synthetic words, and a recogniser trained and tested on them."""
