"""Makers of training data and of the bundled models; no part of the wheel."""
