"""Makers of the models that the wheel carries."""
