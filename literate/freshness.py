"""Remember which chapters ran, so that no page shows code that does not pass."""

import hashlib
from pathlib import Path

from literate.chapter import CHAPTERS, PACKAGE, ROOT, Chapter
from literate.tangle import write


STAMPS = Path(".cache/ran")


def figure_file(chapter: Chapter, name: str, root: Path = ROOT) -> Path:
    """Where the figure that a cell calls `name` is saved."""
    return root / CHAPTERS / "figures" / chapter.name / f"{name}.svg"


def digest(chapter: Chapter, root: Path = ROOT) -> str:
    """Of all that decides what a chapter prints: its code, its outputs, the package."""
    parts = [b.text for b in chapter.blocks if b.info.startswith("python") or b.info == "output"]
    parts += [path.read_text("utf-8") for path in sorted((root / PACKAGE).glob("**/*.py"))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def remember(chapter: Chapter, passed: bool, root: Path = ROOT) -> None:
    stamp = root / STAMPS / chapter.path.stem
    if passed:
        write(stamp, digest(chapter, root))
    else:
        stamp.unlink(missing_ok=True)


def fresh(chapter: Chapter, root: Path = ROOT) -> bool:
    """Whether the chapter passed as it stands, with its figures in place."""
    if not chapter.cells:
        return True  # nothing to run
    stamp = root / STAMPS / chapter.path.stem
    drawn = all((root / CHAPTERS / path).exists() for _, path in chapter.figures())
    return drawn and stamp.exists() and stamp.read_text("utf-8") == digest(chapter, root)
