"""Sentences with a shortcut or a bias planted in them, and changed sentences."""
