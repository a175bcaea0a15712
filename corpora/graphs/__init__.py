"""Random graphs whose right answers are known."""
