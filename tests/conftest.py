"""What several tests need: a small book of their own, and unchecked shapes.

It imports nothing at the top, because tests/gpu runs where there is only torch
and pytest.
"""

import gc
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from tests.book import Book


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage in half a million objects that stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# Files that take long, whole as they are given to one of two processes: begun
# last, they would keep the other waiting.
LONGEST = ("processes", "labs", "serve", "pretrained", "language-models")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first."""
    items.sort(key=lambda item: not item.path.stem.endswith(LONGEST))


@pytest.fixture
def book(tmp_path: Path) -> "Book":
    from tests.book import Book

    return Book(tmp_path)


@pytest.fixture
def alone_in_a_group() -> Iterator[None]:
    """A group of processes that is this one alone."""
    import torch.distributed as dist

    dist.init_process_group(
        "gloo", store=dist.HashStore(), rank=0, world_size=1
    )
    yield
    dist.destroy_process_group()


def _switch_checks_off() -> Iterator[None]:
    """Without the tests' checking of shapes, as a reader runs the package."""
    config = getattr(sys.modules.get("jaxtyping"), "config", None)
    if config is None:  # without jaxtyping nothing is checked
        yield
        return
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", before)


unchecked = pytest.fixture(_switch_checks_off)
unchecked_module = pytest.fixture(scope="module")(_switch_checks_off)
