# Made from docs/source/compute.md (86ae62a7a3ff). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Device, precision and attention kernel, chosen in one place.

Explained in the chapter "Devices and precision".
"""

import contextlib
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel


__all__ = [
    "BACKENDS",
    "DTYPES",
    "ON_CPU",
    "ComputeConfig",
    "Kernel",
    "Precision",
    "bucket_length",
    "compute_context",
    "get_compute_config",
    "get_device",
    "get_kernel",
    "get_precision",
    "inference_copy",
    "seeded",
    "selected_kernel",
]


Precision = Literal["fp32", "tf32", "bf16", "fp16"]
Kernel = Literal["auto", "flash", "efficient", "cudnn", "math"]
_CPU = torch.device("cpu")
_SMALL_MODEL = 16 * 2**20  # bytes, below which a GPU is not worth its start
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}  # of autocast
BACKENDS = {
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
_WITHOUT_CUDNN = "flash", "efficient", "math"  # what auto takes on cuda
_NO_KERNEL = "No available kernel", "No viable backend"  # PyTorch's errors


@dataclass(frozen=True)
class ComputeConfig:
    """Device, precision and attention kernel, as get_compute_config chose.

    Attributes:
        device: Where the tensors lie.
        precision: fp32; tf32, whose products round to 10 bits of fraction;
            bf16 or fp16 for what autocast deems safe.
        kernel: Of attention; auto: the first that can, in PyTorch's order,
            and on cuda never cudnn.
        reasons: Why this device, this precision, this kernel.
    """

    device: torch.device = _CPU
    precision: Precision = "fp32"
    kernel: Kernel = "auto"
    reasons: tuple[str, str, str] = ("asked for", "asked for", "asked for")

    def __str__(self) -> str:
        of_device, of_precision, of_kernel = self.reasons
        return (
            f"device {self.device}: {of_device}\n"
            f"precision {self.precision}: {of_precision}\n"
            f"kernel {self.kernel}: {of_kernel}"
        )

    @property
    def dtype(self) -> torch.dtype:
        """The dtype that matrices are multiplied in."""
        return DTYPES.get(self.precision, torch.float32)

    def autocast(self) -> torch.autocast:
        """Autocast to bf16 or fp16; with fp32 and tf32, do nothing."""
        dtype = DTYPES.get(self.precision)
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
    mkldnn = getattr(torch.backends.mkldnn, "matmul", None)
    backends: list[Any] = [
        backend
        for backend in (torch.backends.cuda.matmul, mkldnn)
        if hasattr(backend, "fp32_precision")
    ]
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
    """Let SDPA take the config's kernel; for auto on cuda, all but cudnn."""
    is_auto = compute.kernel == "auto"
    if is_auto and compute.device.type != "cuda":
        yield
        return
    names = _WITHOUT_CUDNN if is_auto else (compute.kernel,)
    try:
        with sdpa_kernel([BACKENDS[name] for name in names]):
            yield
    except RuntimeError as error:
        if not str(error).startswith(_NO_KERNEL):
            raise
        raise ValueError(
            f"kernel: {compute.kernel} can't do this call (its mask, dtype or "
            "widths); math can do every call, and on cuda efficient those "
            "with a mask"
        ) from error


@contextlib.contextmanager
def compute_context(compute: ComputeConfig) -> Iterator[None]:
    """Multiply fp32 as the config says, and attend with its kernel.

    Raises:
        ValueError: In it, attention is called that this kernel can't do.
    """
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
    found_device, of_device = get_device(str(device), model_bytes)
    found_precision, of_precision = get_precision(precision, found_device)
    found_kernel, of_kernel = get_kernel(kernel, found_device, found_precision)
    return ComputeConfig(
        found_device,
        found_precision,
        found_kernel,
        (of_device, of_precision, of_kernel),
    )


def get_device(
    wanted: str, model_bytes: int | None = None
) -> tuple[torch.device, str]:
    """Return the device and why; ValueError if it is not there."""
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    n_mps = int(torch.backends.mps.is_available())
    counts = {"cuda": n_gpus, "mps": n_mps, "cpu": 1}
    found = [kind for kind, n in counts.items() if n]
    small = model_bytes is not None and model_bytes < _SMALL_MODEL
    if wanted == "auto" and small and len(found) > 1:
        return _CPU, f"a small model: {found[0]} is here, if asked for"
    if wanted == "auto":
        why = f"of cuda, mps, cpu the first that is here ({', '.join(found)})"
        return torch.device(found[0]), why
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
    return device, "asked for"


def get_precision(
    wanted: Literal["auto", Precision], device: torch.device
) -> tuple[Precision, str]:
    """Return the precision and why; ValueError if the device lacks it."""
    on_gpu = device.type == "cuda"
    major = 0
    if on_gpu:
        major, _ = torch.cuda.get_device_capability(device)
    if wanted in ("bf16", "tf32") and on_gpu and major < 8:
        raise ValueError(
            f"precision: wanted {wanted}, which begins with compute "
            f"capability 8, got a card of capability {major}"
        )
    if wanted == "tf32" and not on_gpu:
        raise ValueError(f"precision: tf32 is for cuda, got device {device}")
    if wanted != "auto":
        return wanted, "asked for"
    if major >= 8:
        return "bf16", "twice as fast or more here, with the range of fp32"
    if major == 7:
        return "fp16", "this card has no bf16; losses are scaled instead"
    return "fp32", "full precision; ask for less to try it"


def get_kernel(
    wanted: Kernel, device: torch.device, precision: Precision
) -> tuple[Kernel, str]:
    """Return the kernel and why; ValueError if the device lacks it."""
    kernels = _KERNELS[device.type]
    if device.type == "cuda":
        major, _ = torch.cuda.get_device_capability(device)
        if major < 8 or precision not in DTYPES:
            kernels = ("efficient", "math")
    if wanted == "auto":
        names = ", ".join(name for name in _WITHOUT_CUDNN if name in kernels)
        why = f"PyTorch takes what can do the call, of {names}"
        if "cudnn" in kernels:
            why += "; cudnn, which plans for each new shape, if asked for"
        return "auto", why
    if wanted not in kernels:
        raise ValueError(
            f"kernel: {device.type} in {precision} has {', '.join(kernels)}, "
            f"got {wanted!r}"
        )
    return wanted, "asked for"


def selected_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    is_causal: bool = False,
) -> str:
    """Return the kernel that PyTorch selects for this call."""
    select: Callable[..., int] = torch._fused_sdp_choice
    number = select(query, key, value, mask, 0.0, is_causal)
    names = {int(backend.value): name for name, backend in BACKENDS.items()}
    return names.get(number, "another")


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
