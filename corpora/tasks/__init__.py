"""Labelled sentences for tagging and classification."""
