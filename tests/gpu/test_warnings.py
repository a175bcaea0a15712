"""Warnings are errors, but for those of PyTorch that nobody here can mend."""

import inspect
import warnings

import pytest
import torch
from torch._inductor import compile_fx
from torch._inductor.fx_passes import fuse_attention


# Of PyTorch 2.9 to 2.13 where a newer one no longer says so.
KNOWN: list[tuple[type[Warning], str, str]] = [
    (  # torch/utils/mkldnn.py, which Inductor imports
        DeprecationWarning,
        "torch.jit._script",
        "`torch.jit.script_method` is deprecated. Please switch to `torch.co",
    ),
    (  # the same on Python 3.14
        DeprecationWarning,
        "torch.jit._script",
        "`torch.jit.script_method` is not supported in Python 3.14+ and may",
    ),
    (  # aten/src/ATen/Context.cpp, when Inductor asks for allow_tf32
        UserWarning,
        "torch.backends.cuda",
        "Please use the new API settings to control TF32 behavior, such as",
    ),
    (  # torch/_inductor/lowering.py, on CUDA
        UserWarning,
        "torch._inductor.lowering",
        "\nOnline softmax is disabled on the fly since Inductor decides to\n",
    ),
    (  # torch/utils/_pytree.py, when Inductor reads its cache
        FutureWarning,
        "copyreg",
        "`isinstance(treespec, LeafSpec)` is deprecated, use `isinstance(tre",
    ),
    (  # sdp_utils.cpp, on Windows
        UserWarning,
        "torch.nn.functional",
        "1Torch was not compiled with flash attention. (Triggered internally",
    ),
    (  # torch/cuda/__init__.py, which imports it where it is installed
        FutureWarning,
        "torch.cuda",
        "The pynvml package is deprecated. Please install nvidia-ml-py inste",
    ),
    (  # Triton on Python 3.14
        DeprecationWarning,
        "triton.compiler.code_generator",
        "AnnAssign.__init__ missing 1 required positional argument: 'simple'",
    ),
]


@pytest.mark.parametrize(("category", "module", "message"), KNOWN)
def test_what_pytorch_is_known_to_say_is_no_error(
    category: type[Warning], module: str, message: str
) -> None:
    warnings.warn_explicit(message, category, "a file", 1, module)


def test_hints_at_tf32_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        torch.cuda, "get_device_capability", lambda *device: (9, 0)
    )
    name = "_warn_tf32_disabled"  # which PyTorch 2.10 has only in the first
    modules = compile_fx, fuse_attention
    hints = [
        getattr(module, name) for module in modules if hasattr(module, name)
    ]
    assert hints
    says = "^TensorFloat32 tensor cores"
    for hint in (cached.__wrapped__ for cached in hints):
        if "warnings.warn" in inspect.getsource(hint):  # 2.14 logs it
            with pytest.warns(UserWarning, match=says):
                hint()
        hint()


@pytest.mark.parametrize(
    ("category", "module", "message"),
    [
        (UserWarning, "torch.cuda.graphs", "The CUDA Graph is empty. This"),
        (DeprecationWarning, "attention_book.compute", "AnnAssign.__init__"),
        (UserWarning, "torch.nn.functional", "Flash attention kernel not us"),
        (UserWarning, "torch.autograd.graph", "cuDNN SDPA backward got grad"),
    ],
)
def test_other_warnings_are_errors(
    category: type[Warning], module: str, message: str
) -> None:
    with pytest.raises(category, match=message[:20]):
        warnings.warn_explicit(message, category, "a file", 1, module)
