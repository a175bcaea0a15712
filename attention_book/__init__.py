# Made from docs/preface.md (f81b4f98a0b6). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention in all its forms: the tested code of the Attention Book."""

from typing import TYPE_CHECKING


if TYPE_CHECKING:  # for editors and checkers of types
    from attention_book._api import *  # noqa: F403
    from attention_book._api import __all__ as __all__
else:

    def __getattr__(name: str) -> object:
        """Import all public names when the first of them is asked for."""
        import attention_book._api as api

        globals().update({one: vars(api)[one] for one in api.__all__})
        globals()["__all__"] = api.__all__
        if name not in globals():
            raise AttributeError(f"{__name__} has no attribute {name!r}")
        return globals()[name]

    def __dir__() -> list[str]:
        """List the public names too."""
        return sorted({*globals(), *__getattr__("__all__")})


__version__ = "0.1.0"
