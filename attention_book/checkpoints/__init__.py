from attention_book.checkpoints.files import read_tensors, write_tensors
from attention_book.checkpoints.headers import (
    Metadata,
    TensorFile,
    Tensors,
    open_tensors,
)
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
