# Made from docs/chapters/38-runtime.md (c95c3afa5200). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import contextlib
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel


Precision = Literal["fp32", "tf32", "bf16", "fp16"]
Kernel = Literal["auto", "flash", "efficient", "cudnn", "math"]
CPU = torch.device("cpu")
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}


@dataclass(frozen=True)
class ComputeConfig:
    """What computes, how exactly, and which kernel attends; made by choose.

    Attributes:
        device: Where the tensors lie.
        precision: fp32; tf32, whose products see 10 bits after the point;
            bf16 or fp16 for what autocast deems safe.
        kernel: What attends, or auto: the first that can, in PyTorch's order.
        why: The reason for each of the three.
    """

    device: torch.device = CPU
    precision: Precision = "fp32"
    kernel: Kernel = "auto"
    why: tuple[str, ...] = ("asked for", "asked for", "asked for")

    def __str__(self) -> str:
        names = {"device": self.device, "precision": self.precision}
        parts = (names | {"kernel": self.kernel}).items()
        rows = zip(parts, self.why, strict=True)
        return "\n".join(f"{k} {v}: {why}" for (k, v), why in rows)

    @property
    def dtype(self) -> torch.dtype:
        """What matrices are multiplied in."""
        return DTYPES.get(self.precision, torch.float32)

    def autocast(self) -> torch.autocast:
        """Compute in half precision what can bear it, if that is asked."""
        half = DTYPES.get(self.precision)
        return torch.autocast(self.device.type, half, enabled=half is not None)

    def scaler(self) -> torch.amp.GradScaler:
        """Scale losses for fp16, whose range is small; else do nothing."""
        small = self.precision == "fp16"
        return torch.amp.GradScaler(self.device.type, enabled=small)

    @property
    def uses_cuda_graphs(self) -> bool:
        """Whether steps are graph_decoder and replayed: launching is the cost."""
        return self.device.type == "cuda"


ON_CPU = ComputeConfig()


@contextlib.contextmanager
def compute_context(compute: ComputeConfig) -> Iterator[None]:
    """Multiply fp32 as the compute says, and attend with its kernel."""
    before = torch.get_float32_matmul_precision()
    with contextlib.ExitStack() as stack:
        stack.callback(torch.set_float32_matmul_precision, before)
        tf32 = compute.precision == "tf32"
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        if compute.kernel != "auto":
            stack.enter_context(sdpa_kernel(BACKENDS[compute.kernel]))
        yield


def generators(device: torch.device) -> list[torch.Generator]:
    """Return where chance comes from: on the CPU, and on the device."""
    found = [torch.default_generator]
    if device.type == "cuda":
        here = torch.cuda.current_device()
        number = here if device.index is None else device.index
        found.append(torch.cuda.default_generators[number])
    if device.type == "mps":
        found.append(torch.mps._get_default_mps_generator())
    return found


@contextlib.contextmanager
def seeded(compute: ComputeConfig, seed: int) -> Iterator[None]:
    """Draw random numbers from this seed; afterwards go on as before."""
    sources = generators(compute.device)
    states = [source.get_state() for source in sources]
    for source in sources:
        source.manual_seed(seed)
    try:
        yield
    finally:
        for source, state in zip(sources, states, strict=True):
            source.set_state(state)


def get_compute_config(
    device: str | torch.device = "auto",
    precision: Literal["auto", Precision] = "auto",
    kernel: Kernel = "auto",
) -> ComputeConfig:
    """Decide what computes; what is auto is decided by what is there.

    Args:
        device: auto, cpu, mps, cuda or cuda:N.
        precision: auto, fp32, tf32, bf16 or fp16.
        kernel: auto, flash, efficient, cudnn or math.

    Raises:
        ValueError: What is asked for is not known, or not there.
    """
    precisions = ("auto", *get_args(Precision))
    for name, got, known in (
        ("precision", precision, precisions),
        ("kernel", kernel, get_args(Kernel)),
    ):
        if got not in known:
            raise ValueError(f"{name} must be {', '.join(known)}, got {got!r}")
    found, why_device = get_device(str(device))
    exactness, why_precision = get_precision(precision, found)
    attending, why_kernel = get_kernel(kernel, found, exactness)
    why = why_device, why_precision, why_kernel
    return ComputeConfig(found, exactness, attending, why)


def get_device(wanted: str) -> tuple[torch.device, str]:
    """Return the device and why; ValueError if it is not there."""
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    n_mps = int(torch.backends.mps.is_available())
    there = {"cuda": n_gpus, "mps": n_mps, "cpu": 1}
    found = [kind for kind, n in there.items() if n]
    if wanted == "auto":
        why = f"of cuda, mps, cpu the first that is here ({', '.join(found)})"
        return torch.device(found[0]), why
    try:
        device = torch.device(wanted)
        n = there[device.type]
    except (KeyError, RuntimeError):
        known = "auto, cpu, mps, cuda or cuda:N"
        raise ValueError(f"device must be {known}, got {wanted!r}") from None
    if (device.index or 0) >= n:
        numbers = f"{n_gpus} of cuda, {n_mps} of mps"
        raise ValueError(
            f"device: wanted {wanted}, but torch {torch.__version__} finds "
            f"{numbers} here; cpu is there always"
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
    can: dict[str, tuple[str, ...]] = {
        "cpu": ("flash", "math"),
        "mps": ("math",),
        "cuda": ("efficient", "math"),
    }
    kernels = can[device.type]
    if device.type == "cuda" and precision in DTYPES:
        major, _ = torch.cuda.get_device_capability(device)
        kernels = ("flash", "cudnn", *kernels) if major >= 8 else kernels
    if wanted == "auto":
        first = ", ".join(kernels)
        return "auto", f"PyTorch takes what can do the call, of {first}"
    if wanted not in kernels:
        raise ValueError(
            f"kernel: {device.type} in {precision} has {', '.join(kernels)}, "
            f"got {wanted!r}"
        )
    return wanted, "asked for"


def kernel_of(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    is_causal: bool = False,
) -> str:
    """Return which kernel PyTorch takes for this call."""
    pick: Callable[..., int] = torch._fused_sdp_choice
    number = pick(query, key, value, mask, 0.0, is_causal)
    names = {int(b.value): name for name, b in BACKENDS.items()}
    return names.get(number, "another")


Model = TypeVar("Model", bound=nn.Module)


def inference_copy(
    model: Model, compute: ComputeConfig | None = None
) -> Model:
    """Return a copy for use, where and as exactly as the compute says."""
    there = copy.deepcopy(model).eval().requires_grad_(False)
    return there.to(compute.device, compute.dtype) if compute else there
