"""Experiments that take minutes, and the records that they leave."""
