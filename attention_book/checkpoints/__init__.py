# Made from docs/chapters/34-checkpoints.md (3e601711c94c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.checkpoints.files import (
    Metadata,
    Tensors,
    read_tensors,
    write_tensors,
)
from attention_book.checkpoints.models import (
    SavedModel,
    load_model,
    save_model,
)
from attention_book.checkpoints.progress import (
    check_fingerprint,
    fingerprint,
    load_checkpoint,
    save_checkpoint,
)


__all__ = [
    "Metadata",
    "SavedModel",
    "Tensors",
    "check_fingerprint",
    "fingerprint",
    "load_checkpoint",
    "load_model",
    "read_tensors",
    "save_checkpoint",
    "save_model",
    "write_tensors",
]
