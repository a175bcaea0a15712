# Made from docs/chapters/20-gpu.md (d1a0e6d9d2af). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import contextlib
import copy
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_book.corpus import END, PAD, START
from attention_book.multi_head import KeyValue, KeyValueCache, Place
from attention_book.transformer import Transformer, TransformerConfig

Table = Int[Tensor, "rows words"]
Lengths = Int[Tensor, " rows"]
LOOK = 16  # steps from one look whether all have ended to the next
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
class Engine:
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
    def records(self) -> bool:
        """Whether steps are recorded and replayed: launching is the cost."""
        return self.device.type == "cuda"


ON_CPU = Engine()


@contextlib.contextmanager
def computing(engine: Engine) -> Iterator[None]:
    """Multiply fp32 as the engine says, and attend with its kernel."""
    before = torch.get_float32_matmul_precision()
    with contextlib.ExitStack() as stack:
        stack.callback(torch.set_float32_matmul_precision, before)
        tf32 = engine.precision == "tf32"
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        if engine.kernel != "auto":
            stack.enter_context(sdpa_kernel(BACKENDS[engine.kernel]))
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
def seeded(engine: Engine, seed: int) -> Iterator[None]:
    """Draw random numbers from this seed; afterwards go on as before."""
    sources = generators(engine.device)
    states = [source.get_state() for source in sources]
    for source in sources:
        source.manual_seed(seed)
    try:
        yield
    finally:
        for source, state in zip(sources, states, strict=True):
            source.set_state(state)


def choose(
    device: str | torch.device = "auto",
    precision: Literal["auto", Precision] = "auto",
    kernel: Kernel = "auto",
) -> Engine:
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
    found, why_device = find_device(str(device))
    exactness, why_precision = find_precision(precision, found)
    attending, why_kernel = find_kernel(kernel, found, exactness)
    why = why_device, why_precision, why_kernel
    return Engine(found, exactness, attending, why)


def find_device(wanted: str) -> tuple[torch.device, str]:
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


def find_precision(
    wanted: Literal["auto", Precision], device: torch.device
) -> tuple[Precision, str]:
    """Return the precision and why; ValueError if the device lacks it."""
    on_gpu, major = device.type == "cuda", 0
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


def find_kernel(
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


CARRIERS = {"cpu": "gloo", "cuda": "nccl"}  # of numbers between processes


def own_device(wanted: str, rank: int, size: int) -> torch.device:
    """Return the device of process number rank, of size on this machine.

    Raises:
        ValueError: There are fewer GPUs than processes, or none is asked for.
    """
    device = choose(wanted).device
    if wanted == "auto" and device.type not in CARRIERS:
        device = CPU
    if device.type not in CARRIERS or device.index is not None:
        raise ValueError(
            "device: processes that share the work take auto, "
            f"{' or '.join(CARRIERS)}, and each its own, got {wanted!r}"
        )
    if device.type == "cpu":
        return device
    try:
        choose(f"{device.type}:{size - 1}")
    except ValueError as error:
        raise ValueError(
            f"{size} processes on this machine: {error}"
        ) from None
    return torch.device(device.type, rank)


Model = TypeVar("Model", bound=nn.Module)


def deploy(model: Model, engine: Engine | None = None) -> Model:
    """Return a copy for use, where and as exactly as the engine says."""
    there = copy.deepcopy(model).eval().requires_grad_(False)
    return there.to(engine.device, engine.dtype) if engine else there


def check_lengths(lengths: Lengths, n_words: int) -> bool:
    """Return whether all are n_words; ValueError unless all are 1 to it."""
    shortest, longest = int(lengths.min()), int(lengths.max())
    if not 1 <= shortest <= longest <= n_words:
        raise ValueError(f"lengths must be 1 to {n_words}, got {lengths}")
    return shortest == n_words


def has_tiles(weight: Tensor) -> bool:
    """Whether oneDNN can lay this weight out in tiles: fp32, on the CPU."""
    available: Callable[[], bool] = torch.backends.mkldnn.is_available
    known = available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return known and weight.is_cpu and weight.dtype == torch.float32


class Work(NamedTuple):
    """What an operation costs, whatever it runs on."""

    flops: float  # additions and multiplications, each counted as one
    n_bytes: float  # read and written

    @property
    def intensity(self) -> float:
        """How many operations there are for each byte."""
        return self.flops / self.n_bytes


class Roof(NamedTuple):
    """What a machine can do at best.

    Source: Williams et al. (2009), figure 1.
    """

    flops: float  # a second
    n_bytes: float  # a second

    @property
    def ridge(self) -> float:
        """The intensity from which on computing is the limit."""
        return self.flops / self.n_bytes

    def seconds(self, work: Work) -> float:
        """How long the work takes at least."""
        return max(work.flops / self.flops, work.n_bytes / self.n_bytes)


def linear_work(rows: int, n_in: int, n_out: int, size: int = 4) -> Work:
    """Cost of a linear layer for that many rows; size is bytes a number."""
    numbers = rows * n_in + n_in * n_out + rows * n_out
    return Work(2 * rows * n_in * n_out, size * numbers)


def attention_work(
    heads: int, words: int, d_k: int, size: int = 4, *, fused: bool = True
) -> Work:
    """Cost of attention of a sentence to itself, softmax aside.

    Fused, each number is carried once, the least possible; without fusion
    the scores are written and read, and the weights as well.
    """
    numbers = heads * words * (4 * d_k + (0 if fused else 4 * words))
    return Work(4 * heads * words**2 * d_k, size * numbers)


def seconds(
    work: Callable[[], object], engine: Engine, rounds: int = 10
) -> float:
    """Median time of a call, waiting until the device is done."""
    times = []
    for number in range(rounds + 2):
        wait(engine)
        start = time.perf_counter()
        work()
        wait(engine)
        times += [time.perf_counter() - start] if number >= 2 else []
    return statistics.median(times)


def wait(engine: Engine) -> None:
    """Wait until the device has done what was asked of it."""
    if engine.device.type == "cuda":
        torch.cuda.synchronize(engine.device)
    if engine.device.type == "mps":
        torch.mps.synchronize()


def measure_roof(engine: Engine, width: int = 1024) -> Roof:
    """Measure what the device does at best: a square product, a copy.

    Args:
        engine: Says where, and in which precision.
        width: Of the product; 8192 fills a large GPU.
    """
    x = torch.randn(width, width, device=engine.device, dtype=engine.dtype)
    many = torch.zeros(2**25, device=engine.device)  # 128 MiB
    room = torch.empty_like(many)
    with computing(engine), torch.no_grad():
        product = seconds(lambda: x @ x, engine)
        copied = seconds(lambda: room.copy_(many), engine)
    n_bytes = 2 * many.numel() * many.element_size()
    return Roof(2 * width**3 / product, n_bytes / copied)


def transformer_flops(
    config: TransformerConfig, n_source: int, n_target: int
) -> int:
    """Operations of a forward pass for one pair of sentences.

    Matrix products alone; training takes three times as many, since each
    product has two in the backward pass. Causal attention counts in full.
    """
    d, d_ff = config.d_model, config.d_ff
    think = (3 if config.thinking == "swiglu" else 2) * d * d_ff
    read = n_source * (4 * d * d + think) + 2 * n_source**2 * d
    look = n_target * 2 * d * d + n_source * 2 * d * d
    look += 2 * n_target * n_source * d
    written = n_target * (4 * d * d + think) + 2 * n_target**2 * d + look
    logits = n_target * d * config.n_target
    return 2 * (config.n_layers * (read + written) + logits)


class StaticCache(KeyValueCache):
    """A cache whose shapes never change and whose place is a tensor.

    Args:
        capacity: How many positions it can hold.
        place: Where the next position goes; who owns it moves it on.
    """

    def __init__(self, capacity: int, place: Int[Tensor, ""]) -> None:
        super().__init__(capacity)
        self.place = place

    def start(self) -> Place:
        """Return the place of the next position."""
        return self.place

    def n_keys(self, more: int) -> int:
        """Return how many keys there are to see: all, those to come too."""
        return self.capacity

    def append(self, key: Tensor, value: Tensor) -> KeyValue:
        """Store some positions and return all, those to come as well."""
        if self.room is None:
            shape = (*key.shape[:-2], self.capacity, key.shape[-1])
            self.room = KeyValue(key.new_zeros(shape), key.new_zeros(shape))
        places = torch.arange(key.shape[-2], device=key.device) + self.place
        self.room.key.index_copy_(-2, places, key)
        self.room.value.index_copy_(-2, places, value)
        return self.room


def write_word(w: "StaticWriting") -> None:
    """Write one more word in each row that has not ended."""
    last = w.words.index_select(1, w.place.view(1))
    x = w.model.decoder(
        w.model.target(last, w.place),
        w.sources,
        w.mask,
        w.caches,
        mask=w.places <= w.place,  # what comes after is not there yet
        is_causal=False,
    )
    scores = F.linear(x[:, 0], w.model.target.words.weight)
    words = scores.argmax(-1).masked_fill(~w.going, PAD)
    w.going &= words != END
    w.place += 1
    w.words.index_copy_(1, w.place.view(1), words[:, None])


class StaticWriting:
    """Translations by the model under way, in tensors that stay in place.

    Args:
        rows: How many translations.
        n_source: Length of the padded sources.
        n_words: The longest translation.
    """

    def __init__(
        self, model: Transformer, rows: int, n_source: int, n_words: int
    ) -> None:
        self.model, device = model, model.target.words.weight.device
        self.places = torch.arange(n_words, device=device)
        self.place = self.places.new_zeros(())
        self.words = self.places.new_zeros(rows, n_words + 1)
        self.going = self.words[:, 0] == 0
        source = self.places.new_zeros(rows, n_source)
        memory, self.mask = model.encode(source, self.words[:, 0] + 1)
        self.sources = model.decoder.remember(memory)
        self.caches = [StaticCache(n_words, self.place) for _ in self.sources]
        self.step()  # makes the caches' room

    def step(self) -> None:
        """Write one more word."""
        write_word(self)

    def begin(self, source: Table, lengths: Lengths) -> None:
        """Begin translations; rows that are not needed have ended."""
        rows, n_source = source.shape
        table = self.words.new_full(
            (len(self.words), self.mask.shape[-1]), PAD
        )
        table[:rows, :n_source] = source
        n = self.words.new_ones(len(self.words))
        n[:rows] = lengths
        memory, mask = self.model.encode(table, n)
        self.mask.copy_(mask)
        new = self.model.decoder.remember(memory)
        for kept, kv in zip(self.sources, new, strict=True):
            kept.key.copy_(kv.key)
            kept.value.copy_(kv.value)
        self.words.zero_()[:, 0] = START  # the rest is padding
        self.going.fill_(True)[rows:] = False
        self.place.zero_()


Step = Callable[[], None]


def record(step: Step, before: Callable[[], object], engine: Engine) -> Step:
    """Return what does the step again: on CUDA, all its kernels at one go.

    Args:
        step: Works on tensors that stay where they are.
        before: Called before each trial run, so that none runs over.
        engine: What it runs on; elsewhere than on CUDA nothing is recorded.
    """
    if not engine.records:
        return step
    new_stream: Callable[[], torch.cuda.Stream] = torch.cuda.Stream
    with torch.cuda.device(engine.device):
        here, aside = torch.cuda.current_stream(), new_stream()
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            for _ in range(3):  # lets libraries take their room and decide
                before()
                step()
        here.wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=aside):
            step()
    return graph.replay


def cut(words: list[int]) -> list[int]:
    """Return the words up to the first <end>."""
    return words[: words.index(END) + 1] if END in words else words


class StaticDecoder:
    """Writes greedily with shapes that never change, so with recorded steps.

    Args:
        model: Is copied, in the engine's precision, to its device.
        engine: What it shall run on.
    """

    def __init__(self, model: Transformer, engine: Engine) -> None:
        self.model, self.engine = deploy(model, engine), engine
        self.rooms: dict[tuple[int, ...], tuple[StaticWriting, Step]] = {}

    def room(
        self, rows: int, n_source: int, n_words: int
    ) -> tuple[StaticWriting, Step]:
        """Return room for that many, or for a few more, and its step."""
        shape = (
            1 << (rows - 1).bit_length(),  # powers of two: few recordings
            -(-n_source // 16) * 16,
            -(-n_words // 16) * 16,
        )
        if shape not in self.rooms:
            writing = StaticWriting(self.model, *shape)
            step = record(writing.step, writing.place.zero_, self.engine)
            self.rooms[shape] = writing, step
        return self.rooms[shape]

    @torch.inference_mode()
    def write(
        self, source: Table, lengths: Lengths, *, max_words: int
    ) -> list[list[int]]:
        """Write the translation of each source, up to <end> or max_words."""
        rows, n_source = source.shape
        check_lengths(lengths, n_source)
        with computing(self.engine):
            writing, step = self.room(rows, n_source, max_words)
            writing.begin(source, lengths)
            for n in range(1, max_words + 1):
                step()
                if n % LOOK == 0 and not writing.going.any():
                    break
        table = writing.words[:rows, 1 : max_words + 1].tolist()
        return [cut(row) for row in table]
