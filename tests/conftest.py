"""What several tests need: a small book of their own, and unchecked shapes.

It imports nothing at the top, because tests/gpu runs where there is only torch
and pytest.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from tests.book import Book


@pytest.fixture
def book(tmp_path: Path) -> "Book":
    from tests.book import Book

    return Book(tmp_path)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Without the tests' checking of shapes, as a reader runs the package."""
    from literate.run import unchecked as without_checks

    with without_checks():
        yield
