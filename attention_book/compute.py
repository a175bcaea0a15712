# Made from docs/source/compute.md (b9385596c34c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Device, precision and attention kernel, chosen in one place.

Explained on the page "Devices and precision".
"""

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel


__all__ = [
    "ON_CPU",
    "ComputeConfig",
    "Kernel",
    "Precision",
    "bucket_length",
    "compute_context",
    "get_compute_config",
    "inference_copy",
    "seeded",
]


Precision = Literal["fp32", "tf32", "bf16", "fp16"]
Kernel = Literal["auto", "flash", "efficient", "cudnn", "math"]
_CPU = torch.device("cpu")
_SMALL_MODEL = 16 * 2**20  # bytes, below which a GPU is not worth its start
_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}  # of autocast
_BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}
_KERNELS: dict[str, tuple[Kernel, ...]] = {  # those that each device has
    "cpu": ("flash", "math"),
    "mps": ("math",),
    "cuda": ("flash", "cudnn", "efficient", "math"),
}
_WITHOUT_CUDNN: tuple[Kernel, ...] = ("flash", "efficient", "math")


@dataclass(frozen=True)
class ComputeConfig:
    """Device, precision and attention kernel, as get_compute_config chose.

    Attributes:
        device: Where the tensors lie; a name is enough.
        precision: fp32; tf32, whose products round to 10 bits of fraction;
            bf16 or fp16 for what autocast deems safe.
        kernel: Of attention; auto: the first that can, in PyTorch's order,
            on cuda never cudnn, and on the CPU math for bf16 and fp16.
    """

    device: torch.device = _CPU
    precision: Precision = "fp32"
    kernel: Kernel = "auto"

    def __post_init__(self) -> None:
        """Take the name of a device for the device."""
        object.__setattr__(self, "device", torch.device(self.device))

    def __str__(self) -> str:
        return (
            f"device {self.device}, precision {self.precision}, "
            f"kernel {self.kernel}"
        )

    @property
    def dtype(self) -> torch.dtype:
        """The dtype that matrices are multiplied in."""
        return _DTYPES.get(self.precision, torch.float32)

    def autocast(self) -> torch.autocast:
        """Autocast to bf16 or fp16; with fp32 and tf32, do nothing."""
        dtype = _DTYPES.get(self.precision)
        return torch.autocast(
            self.device.type, dtype, enabled=dtype is not None
        )

    def scaler(self) -> torch.amp.GradScaler:
        """Scale losses for fp16, whose range is small; else do nothing."""
        is_fp16 = self.precision == "fp16"
        return torch.amp.GradScaler(self.device.type, enabled=is_fp16)

    @property
    def uses_cuda_graphs(self) -> bool:
        """Whether steps are captured and replayed, as launches cost most."""
        return self.device.type == "cuda"


ON_CPU = ComputeConfig()


@contextlib.contextmanager
def _matmul_precision(precision: str) -> Iterator[None]:
    """Set the precision of fp32 products; on leaving, restore it."""
    everything: Any = torch.backends  # whose types lack mkldnn.matmul
    backends = everything.cuda.matmul, everything.mkldnn.matmul
    before = [backend.fp32_precision for backend in backends]
    try:
        legacy = torch.get_float32_matmul_precision()
    except RuntimeError:  # fp32_precision was set
        legacy = None
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        if legacy is not None:
            torch.set_float32_matmul_precision(legacy)
        for backend, old in zip(backends, before, strict=True):
            backend.fp32_precision = old


@contextlib.contextmanager
def _attention_kernels(compute: ComputeConfig) -> Iterator[None]:
    """Let SDPA take the config's kernel; for auto, what is best there."""
    names: tuple[Kernel, ...] = (compute.kernel,)
    if compute.kernel == "auto":
        if compute.device.type == "cuda":
            names = _WITHOUT_CUDNN
        elif compute.device.type == "cpu" and compute.precision in _DTYPES:
            names = ("math",)  # flash is slow backwards on short rows
        else:
            yield
            return
    with sdpa_kernel([_BACKENDS[name] for name in names]):
        yield


@contextlib.contextmanager
def compute_context(compute: ComputeConfig) -> Iterator[None]:
    """Multiply fp32 as the config says, and attend with its kernel."""
    is_tf32 = compute.precision == "tf32"
    precision = "high" if is_tf32 else "highest"
    with _matmul_precision(precision), _attention_kernels(compute):
        yield


def get_compute_config(
    device: str | torch.device = "auto",
    precision: Literal["auto", Precision] = "auto",
    kernel: Kernel = "auto",
    *,
    model_bytes: int | None = None,
) -> ComputeConfig:
    """Choose device, precision and kernel; auto goes by what is there.

    Args:
        device: auto, cpu, mps, cuda or cuda:N.
        precision: auto, fp32, tf32, bf16 or fp16.
        kernel: auto, flash, efficient, cudnn or math.
        model_bytes: Size of the one model to be used for a short task; then
            auto takes the CPU for a small one.

    Raises:
        ValueError: What is asked for is not known, or not there.
    """
    for name, got, known in (
        ("precision", precision, ("auto", *get_args(Precision))),
        ("kernel", kernel, get_args(Kernel)),
    ):
        if got not in known:
            raise ValueError(f"{name} must be {', '.join(known)}, got {got!r}")
    found = _find_device(str(device), model_bytes)
    capability = 0
    if found.type == "cuda":
        capability, _ = torch.cuda.get_device_capability(found)
    taken = _find_precision(precision, found, capability)
    kernels = _KERNELS[found.type]
    if found.type == "cuda" and (capability < 8 or taken not in _DTYPES):
        kernels = ("efficient", "math")
    if kernel not in ("auto", *kernels):
        raise ValueError(
            f"kernel: {found.type} in {taken} has {', '.join(kernels)}, "
            f"got {kernel!r}"
        )
    return ComputeConfig(found, taken, kernel)


def _find_device(wanted: str, model_bytes: int | None) -> torch.device:
    """Return the device; ValueError if it is not there."""
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    n_mps = int(torch.backends.mps.is_available())
    counts = {"cuda": n_gpus, "mps": n_mps, "cpu": 1}
    if wanted == "auto":
        small = model_bytes is not None and model_bytes < _SMALL_MODEL
        found = next(kind for kind, n in counts.items() if n)
        return _CPU if small else torch.device(found)
    try:
        device = torch.device(wanted)
        n = counts[device.type]
    except (KeyError, RuntimeError):
        known = "auto, cpu, mps, cuda or cuda:N"
        raise ValueError(f"device must be {known}, got {wanted!r}") from None
    if (device.index or 0) >= n:
        raise ValueError(
            f"device: wanted {wanted}, but torch {torch.__version__} finds "
            f"{n_gpus} of cuda, {n_mps} of mps here; cpu is there always"
        )
    return device


def _find_precision(
    wanted: Literal["auto", Precision], device: torch.device, capability: int
) -> Precision:
    """Return the precision; ValueError if the device lacks it."""
    on_gpu = device.type == "cuda"
    if wanted in ("bf16", "tf32") and on_gpu and capability < 8:
        raise ValueError(
            f"precision: wanted {wanted}, which begins with compute "
            f"capability 8, got a card of capability {capability}"
        )
    if wanted == "tf32" and not on_gpu:
        raise ValueError(f"precision: tf32 is for cuda, got device {device}")
    if wanted != "auto":
        return wanted
    if capability >= 8:
        return "bf16"
    return "fp16" if capability == 7 else "fp32"  # 7 has no bf16


def bucket_length(length: int, max_length: int, device: torch.device) -> int:
    """Return the length to pad to: on cuda the next multiple of 8.

    So a GPU meets few shapes. None is padded beyond max_length, up to which
    there are positions.
    """
    if device.type != "cuda":
        return length
    return max(length, min(-(-length // 8) * 8, max_length))


def _generators(device: torch.device) -> list[torch.Generator]:
    """Return the default random generators of the CPU and of the device."""
    found = [torch.default_generator]
    if device.type == "cuda":
        current = torch.cuda.current_device()
        index = current if device.index is None else device.index
        found.append(torch.cuda.default_generators[index])
    if device.type == "mps":
        found.append(torch.mps._get_default_mps_generator())
    return found


@contextlib.contextmanager
def seeded(compute: ComputeConfig, seed: int) -> Iterator[None]:
    """Draw random numbers from this seed; on leaving, restore the state."""
    generators = _generators(compute.device)
    states = [generator.get_state() for generator in generators]
    for generator in generators:
        generator.manual_seed(seed)
    try:
        yield
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)


_Model = TypeVar("_Model", bound=nn.Module)


def inference_copy(
    model: _Model, compute: ComputeConfig | None = None
) -> _Model:
    """Return a copy in eval mode and without gradients.

    Args:
        model: Is copied, and stays as it is.
        compute: Device and dtype of the copy; None for those of the model.
    """
    duplicate = copy.deepcopy(model).eval().requires_grad_(False)
    if compute is None:
        return duplicate
    return duplicate.to(compute.device, compute.dtype)
