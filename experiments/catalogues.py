"""The messages of this machine's programs, for "Scoring translations"."""

import gettext
import re
import struct
import warnings
from collections.abc import Iterable
from pathlib import Path


Pair = tuple[str, str]  # source, target
CATALOGUES = [  # folders where systems keep what their programs say
    "/usr/share/locale",
    "/usr/share/locale-langpack",
    "/usr/local/share/locale",
    "/opt/homebrew/share/locale",
]
_SHORTCUT = r"\s*[(（][_&](\w)[)）]"  # 打开(_O)


def without_shortcut(pair: Pair) -> Pair:
    """Remove the marks of a keyboard shortcut from both sides.

    Those of _Open and E&xit go if the translation names the key: without it
    they stay, as R&D and pg_dump must.
    """
    source, target = (re.sub(_SHORTCUT, "", text) for text in pair)
    if found := re.search(_SHORTCUT, pair[1]):
        mark = f"[_&](?={found[1]})"
        source = re.sub(mark, "", source, count=1, flags=re.IGNORECASE)
    return source, target


def read_catalogues(
    language: str = "zh_CN", folders: Iterable[str | Path] = CATALOGUES
) -> list[Pair]:
    """Read the messages of this machine's programs, with translations.

    Plural forms come as the singular; catalogues that can't be read are
    left out with a warning.
    """
    pairs: dict[str, str] = {}
    for folder in folders:
        for path in sorted(Path(folder).glob(f"{language}/*/*.mo")):
            try:
                with path.open("rb") as file:
                    found = gettext.GNUTranslations(file)
            except (OSError, ValueError, LookupError, struct.error) as error:
                warnings.warn(f"{path}: left out: {error}", stacklevel=2)
                continue
            # gettext looks up and does not list: there is no public way
            for key, text in vars(found)["_catalog"].items():
                message, form = key if isinstance(key, tuple) else (key, 0)
                if form == 0 and message:  # an empty one is the heading
                    # a context may stand before the message
                    pairs.setdefault(message.split("\x04")[-1], text)
    return [without_shortcut(pair) for pair in pairs.items()]
