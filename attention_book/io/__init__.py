# Made from docs/source/checkpoints.md (394b99b96d24). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Models and checkpoints in files: saved whole, loaded with suspicion.

Explained on the page "Files and checkpoints".
"""

from attention_book.io.checkpoints import SavedModel, load_model, save_model
from attention_book.io.files import lock
from attention_book.io.progress import (
    fingerprint,
    load_checkpoint,
    save_checkpoint,
)
from attention_book.io.tensors import (
    open_tensors,
    read_tensors,
    write_tensors,
)


__all__ = [
    "SavedModel",
    "fingerprint",
    "load_checkpoint",
    "load_model",
    "lock",
    "open_tensors",
    "read_tensors",
    "save_checkpoint",
    "save_model",
    "write_tensors",
]
