# Made from docs/source/package.md (7cdf72420971). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Measures of robustness and fairness.

Explained in the chapter "Robustness and fairness".
"""
