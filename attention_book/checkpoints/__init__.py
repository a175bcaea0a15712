# Made from docs/chapters/34-checkpoints.md (eab6b3793a28). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.checkpoints.files import read_tensors, write_tensors
from attention_book.checkpoints.locks import lock
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
from attention_book.tensor_files import (
    Metadata,
    TensorFile,
    Tensors,
    open_tensors,
)


__all__ = [
    "Metadata",
    "SavedModel",
    "TensorFile",
    "Tensors",
    "check_fingerprint",
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
