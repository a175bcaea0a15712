"""What the package promises as a package."""

import ast
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from dataclasses import is_dataclass

import pytest

import attention_book
from literate.chapter import PACKAGE, ROOT, pages, read, read_all
from literate.setup import PROJECT


SITE = PROJECT["urls"]["Homepage"].rstrip("/")
NOT_ON_A_GPU_MACHINE = (
    "beartype",
    "jaxtyping",
    "literate",
    "safetensors",
    "typer",
)
NAMES_OF_OLD = """
    ALiBi ALiBiAttention AdditiveAttention AttentiveSeq2Seq BPETokenizer
    BatchLoader CausalLanguageModel Classifier ComputeConfig
    ConvolutionAsAttention Decoder DecoderLayer Encoder EncoderLayer
    EntmaxAttention FeedForward GatedAttention GaussianPooling
    GraphAttention KeyValueCache LearnedPositions MarianTransformer
    MaskedLanguageModel MaskedTransformer MaskedTransformerConfig
    MultiHeadAttention NGramModel NodeClassifier PackedMask PaddingLayout
    PostNorm PreNorm Pretrained RotaryAttention RotaryEmbedding Seq2Seq
    SequenceClassifier SinusoidalPositions SpanAttention SparsemaxAttention
    SpeechRecognizer SwiGLU TextConfig TextEncoder TokenClassifier Trainer
    TrainingConfig Transformer TransformerConfig Translator ViT ViTConfig
    WordTokenizer accuracy_by_group activation_patching attention_weights
    attribution_patching beam_search causal_mask chunked_translation_loss
    encode_pairs entmax entmax15 equalized_odds_difference
    expected_calibration_error explain_image explain_sentence fill_blank
    find_heads find_sites from_pretrained fused_attention generate
    generate_text get_compute_config gradient_x_input integrated_gradients
    leave_one_out load_checkpoint load_model load_vit log_mel_spectrogram
    mask_predict mask_tokens masked_softmax neighbour_mask padding_mask
    prune_heads read_wave replace_attention sampler save_checkpoint
    save_model save_pretrained scaled_dot_product_attention sparsemax trace
    translation_loss validation_loss without_heads
""".split()  # what `from attention_book import …` gave in November 2026


def test_every_public_name_is_exported_and_documented() -> None:
    assert sorted(attention_book.__all__) == attention_book.__all__
    for name in attention_book.__all__:
        thing = getattr(attention_book, name)
        assert inspect.getdoc(thing)
        assert thing.__module__.startswith("attention_book.")


def test_what_could_be_imported_still_can_or_the_changelog_says_so() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    for name in NAMES_OF_OLD:
        assert hasattr(attention_book, name) or f"`{name}`" in changelog, name


def test_a_config_never_changes() -> None:
    for name in attention_book.__all__:
        thing = getattr(attention_book, name)
        if is_dataclass(thing):
            assert vars(thing)["__dataclass_params__"].frozen, name
            if name != "ComputeConfig":  # its first argument is the device
                with pytest.raises(TypeError, match="positional"):
                    thing(1)


def test_every_public_name_of_a_module_is_there_and_documented() -> None:
    found = pkgutil.walk_packages(attention_book.__path__, f"{PACKAGE}.")
    for info in found:
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                assert inspect.getdoc(thing), f"{info.name}.{name}"


def test_each_module_names_a_page_that_explains_it() -> None:
    """In quotes, by its English title, or as "the chapter of that name"."""
    heads = [read(path).blocks[0].text for path in pages()]
    titles = {head.partition(" | ")[2].partition(" {")[0] for head in heads}
    for path in (ROOT / PACKAGE).glob("**/[!_]*.py"):
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        quoted = re.findall('"([^"]+)"', text.replace("\n", " "))
        assert "of that name" in text or titles & set(quoted), (path, text)


def test_no_page_swallows_a_word_of_a_docstring() -> None:
    """`<bos>` is a tag to HTML, unless it is marked as code."""
    for path in (ROOT / PACKAGE).glob("**/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                text = ast.get_docstring(node) or ""
                plain = re.sub("`[^`]*`", "", text)
                assert not re.search("<[a-z]+>", plain), (path, node.name)


def test_the_version_stands_in_one_place() -> None:
    """What else names it, test_release.py compares."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert "version" in tomllib.loads(text)["project"]["dynamic"]


@pytest.mark.parametrize(
    "name", sorted(p.stem for p in (ROOT / "benchmarks").glob("[a-z]*.py"))
)
def test_a_benchmark_finds_what_it_imports(name: str) -> None:
    try:
        importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        ours = ("attention_book", "benchmarks")
        if str(error.name).startswith(ours):
            raise
        pytest.skip(f"{error.name} is not installed")


def test_the_package_is_typed() -> None:
    assert (ROOT / PACKAGE / "py.typed").exists()


@pytest.mark.slow
def test_the_tests_of_devices_need_torch_and_pytest_alone() -> None:
    """And each of them takes a device, or it would not run on a GPU."""
    program = f"""
import sys, pytest
sys.modules.update(dict.fromkeys({NOT_ON_A_GPU_MACHINE}))

class Fixtures:
    def pytest_collection_modifyitems(self, items):
        for item in items:
            print(item.nodeid, "takes", *item.fixturenames)

options = ["--collect-only", "-q", "tests/gpu"]
sys.exit(pytest.main(options, plugins=[Fixtures()]))
"""
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    found = re.findall(r"^(\S+::.*) takes (.*)$", result.stdout, re.MULTILINE)
    assert found
    for test, fixtures in found:
        is_of_none = "/test_meta.py" in test or "/test_warnings.py" in test
        takes_device = {"device", "gpu"} & set(fixtures.split())
        assert takes_device or is_of_none, f"{test} takes no device"


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_links_of_the_readme_lead_to_files_and_pages(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert len(links) == 8
    assert not [link for link in links if not (ROOT / link).exists()]
    pages = re.findall(rf"\({SITE}/(\w\w)/([^)#]*)/(?:#([\w-]+))?\)", text)
    assert len(pages) == 11
    assert text.count(f"({SITE}") == len(pages)
    for edition, place, section in pages:
        assert edition == ("zh" if ".zh." in name else "en")
        files = [f"docs/{place}.md", f"docs/{place}/index.md"]
        (page,) = [ROOT / file for file in files if (ROOT / file).exists()]
        assert not section or f"{{#{section}}}" in page.read_text("utf-8")
    count = sum(page.is_chapter for page in read_all())
    assert f"{count} 章" in text or f"{count} chapters" in text
