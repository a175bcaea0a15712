"""Make benchmarks/README.md from the records: python -m benchmarks.readme

Every figure of the page is computed from results/*.json and has two digits,
and each table says on what machine, with which versions and when its record
was made. The words stand here; where they hold only while the figures are so,
`holds` sees to it. A test compares the page with what this makes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.sidebyside import RESULTS
from literate.tangle import write


README = RESULTS.parent / "README.md"
OURS, MARIAN = "attention_book", "Hugging Face Marian"
Record = dict[str, Any]
Row = tuple[str, Sequence[float | None]]


def load(name: str) -> Record:
    record: Record = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return record


def two(x: float | None) -> str:
    """Two digits, such as 0.43, 1.0 or 130; a dash where nothing was timed."""
    if x is None:
        return "–"
    return f"{float(f'{x:.2g}'):.0f}" if x >= 10 else f"{x:#.2g}"


def holds(what: bool, words: str) -> None:
    """Stop where the records contradict the words of the page."""
    if not what:
        raise ValueError(f"the records no longer say this: {words}")


def table(head: Sequence[str], rows: Iterable[Row]) -> str:
    lines = [["", *head], ["---", *["--:"] * len(head)]]
    for name, cells in rows:
        holds(len(cells) == len(head), f"{name} has {len(head)} cells")
        lines.append([name, *map(two, cells)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def made_with(*records: Record) -> str:
    """What made the records of a table, and on what: a line each."""
    lines = []
    for record in records:
        versions = {"torch": record["torch"], **record["peers"]}
        about = [
            f"`{record['command']}`",
            record.get("gpu", record["cpu"]),
            *([record["driver"]] if "gpu" in record else []),
            f"{record['threads']} thread{'s' * (record['threads'] > 1)}",
            ", ".join(f"{name} {what}" for name, what in versions.items()),
            record["date"],
        ]
        lines.append(" · ".join(about))
    return f"<sub>{'<br>'.join(dict.fromkeys(lines))}</sub>"


def in_units(of: str, column: Mapping[str, float], name: str) -> float | None:
    return column[name] / column[of] if name in column else None


def training() -> str:
    records = load("training-cpu"), load("training-base-cpu")
    columns = [
        column
        for record in records
        for column in (
            record["seconds"] | record["bounds"],
            record["peak_mib"],
        )
    ]
    peers = ("torch.nn.Transformer", "x-transformers")
    names = ("our matrix products", OURS, MARIAN, *peers)
    rows = [(n, [in_units(MARIAN, c, n) for c in columns]) for n in names]
    least = (c[OURS] < min(c[n] for n in (MARIAN, *peers)) for c in columns)
    holds(all(least), "ours takes the least time and memory")
    ours, _, base, _ = map(two, rows[1][1])
    head = ["时间 time", "内存 memory", "时间，base", "内存，base"]
    return f"""## 训练一步 | A training step

以 Marian 为 1，本书的用时是 {ours}，论文的基本形状（base）是 {base}，时间和内存都比几家同类少。四分之一是填充。小的形状宽 256，3+3 层，批量 32；base 宽 512，6+6 层，批量 8。

In units of Marian's, ours takes {ours} of the time, and {base} in the shape of the paper's base model, with less time and memory than any peer. A quarter of the batch is padding. The small shape is 256 wide with 3+3 layers and a batch of 32, the base 512 wide with 6+6 and 8.

{table(head, rows)}

{made_with(*records)}"""


def decoding() -> str:
    records = load("decoding-cpu"), load("decoding-base-cpu")
    columns = [
        seconds | record["bounds"][case]
        for record in records
        for case, seconds in record["seconds"].items()
    ]
    names = (
        *("weights read, no more", "matrix products, no more"),
        *("CTranslate2, int8", "CTranslate2", f"{OURS}, int8", OURS, MARIAN),
        *("x-transformers", "torch.nn.Transformer, no cache"),
    )
    head = [case.replace(" tokens", "") for case in records[0]["seconds"]]
    rows = [(n, [in_units(MARIAN, c, n) for c in columns]) for n in names]
    one, many = columns[0], columns[2]
    ours, read, batch = (
        two(one[OURS] / one[MARIAN]),
        two(one["weights read, no more"] / one[OURS]),
        two(many[OURS] / many["CTranslate2"]),
    )
    times = two(one[OURS] / one["CTranslate2"])
    holds(one[OURS] > one["CTranslate2"], "CTranslate2 is faster")
    eight = [c[f"{OURS}, int8"] / c["CTranslate2, int8"] for c in columns[:4]]
    least, most = two(min(eight)), two(max(eight))
    return f"""## 贪心解码 | Greedy decoding

读 64 个词元，写 64 或 128 个，以 Marian 为 1。批量 1 写 64 个，本书的用时是 {ours}，其中 {read} 单是把权重读一遍就要。CTranslate2 是 C++ 写的，我们的用时是 CTranslate2 的 {times} 倍，批量 32 时 {batch} 倍，用 int8 是 {least} 到 {most} 倍。CTranslate2 连输入一起舍入，我们的输入照原样，这一点占多少没有分开量。

64 tokens are read and 64 or 128 written, in units of Marian's time. For 64 with a batch of 1 ours takes {ours}, of which merely reading the weights is {read}. CTranslate2 is C++. We take {times} times as long, {batch} times with a batch of 32, and {least} to {most} times in int8. CTranslate2 rounds its inputs too, ours stay as they are; we have not separated how much that is.

{table(head, ((name, cells[:4]) for name, cells in rows))}

{made_with(records[0])}

论文的基本形状 | The paper's base shape

{table(head, ((name, cells[4:]) for name, cells in rows))}

{made_with(records[1])}"""


def vit() -> str:
    record = load("vit-cpu")
    ratios = record["ratios"]
    kinds = ("ours / the fastest peer", "ours in bf16 / fp32")
    rows = [
        (name, [ratios[f"{size}, {p}: {k}"] for k in kinds for p in passes])
        for name, size in (("ViT-Ti/16", "tiny"), ("ViT-S/16", "small"))
        for passes in [("forward", "training")]
    ]
    gap = max(abs(x - 1) for _, cells in rows for x in cells[:2])
    holds(gap < 0.035, "ours and the fastest peer tie")
    head = ["前向 forward", "训练 training", "前向，bf16", "训练，bf16"]
    return f"""## ViT

224 像素，批量 {record["batch"]}。前两列是我们的用时除以最快的同类，不分高下；后两列是我们的 bf16 除以 fp32。

At 224 px with a batch of {record["batch"]}. The first two columns are our time over the fastest peer's, a tie. The last two are ours in bf16 over ours in fp32.

{table(head, rows)}

{made_with(record)}"""


def adaptive() -> str:
    record, spans = load("adaptive-cpu"), load("adaptive-spans-cpu")
    both = ("forward", "forward and backward")
    rows = [
        (
            name,
            [record[what][n][name] for what in both for n in ("128", "512")],
        )
        for name in record["forward"]["512"]
    ]
    layer, causal = record["layer"]["512"], spans["causal"]["2048"]
    silent, left = two(layer["4 silent"]), two(layer["4 left"])
    cut, all_keys = two(causal["span"]), two(causal["span, all keys"])
    holds(rows[2][1][2] > 1, "sparse weights cost time")
    head = ["前向 forward, 128", "512", "前向和反向 both, 128", "512"]
    return f"""## 稀疏的权重与剪掉的头 | Sparse weights and pruned heads

以融合的 softmax 为 1：不融合、也不跳过零的稀疏权重更慢。一半的头清零，一层的用时是 {silent}，拆掉是 {left}。2,048 个词元里只看 16 个的跨度，切掉远处的键是 {cut}，比较所有的键是 {all_keys}。

In units of fused softmax. Sparse weights that skip no zeros are slower. With half of the heads set to zero a layer takes {silent}, with half removed {left}. Spans that see 16 of 2,048 tokens take {cut} when far keys are cut off, {all_keys} when all keys are compared.

{table(head, rows)}

{made_with(record, spans)}"""


def windows() -> str:
    record = load("myths-cpu")
    rows = [(name, [x]) for name, x in record["windows"].items()]
    compiled = two(record["compiled"]["products"])
    holds(rows[2][1][0] > 1 > rows[3][1][0], "a mask saves no time, blocks do")
    return f"""## 窗口掩码与编译 | Window masks and compiling

4,096 个词元、窗口 256，都用同一个融合的内核，以看全部词元为 1：布尔掩码不省时间，分块才省。两个大矩阵乘法编译以后是原来的 {compiled}。

4,096 tokens and a window of 256 in the same fused kernel, in units of attention to all: a boolean mask saves no time, blocks do. Two large matrix products take {compiled} of their time once compiled.

{table(["时间 time"], rows)}

{made_with(record)}"""


def linear() -> str:
    record = load("linear-cpu")
    lengths = [name for name in record if name.endswith(" tokens")]
    rows = [
        (name, [record[n][name] for n in lengths])
        for name in record[lengths[0]]
    ]
    gated = record[lengths[-1]]["gated delta"]
    holds(gated < 0.5, "linear attention wins at length")
    most = f"{int(lengths[-1].split()[0]):,}"
    head = [f"{int(n.split()[0]):,}" for n in lengths]
    return f"""## 线性注意力 | Linear attention

以因果的 SDPA 为 1，越长越省。到 {most} 个词元，门控 delta 规则的用时是 {two(gated)}。

In units of causal SDPA, by the number of tokens. The longer, the more is saved. At {most} the gated delta rule takes {two(gated)}.

{table(head, rows)}

{made_with(record)}"""


def convolution() -> str:
    record = load("convolution-cpu")
    widths = ("width 64", "width 512")
    rows = [
        (f"{name}; {width}", [case[name] for case in record[width].values()])
        for width in widths
        for name in ("attention", "convolution, width 3")
    ]
    holds(max(rows[1][1]) < 1, "convolutions are faster than a GRU")
    long = [cells[2] for _, cells in rows[::2]]
    holds(min(long) > 1, "attention takes longer than a GRU at 4,096 tokens")
    head = [case.replace(" tokens", "") for case in record[widths[0]]]
    return f"""## 注意力、循环与卷积 | Attention, recurrence and convolution

以 GRU 为 1，只算前向。卷积最快；注意力的用时随长度的平方增长，到 4,096 个词元已经超过 GRU。

In units of a GRU, forward only. The convolution is fastest. Attention grows with the square of the length, and at 4,096 tokens takes more than the GRU.

{table(head, rows)}

{made_with(record)}"""


def scoring() -> str:
    record = load("scoring-cpu")
    lengths = list(record["causal"])
    rows = [
        (name, [record[case][n][name] for n in lengths])
        for case in ("causal", "padded")
        for name in record[case][lengths[0]]
    ]
    additive = two(record["scores"]["additive"])
    holds(float(additive) > 100, "the chapter says over a hundred times")
    (_, triangle), (_, by_steps) = rows[1], rows[3]
    holds(min(triangle) > 1, "a triangle costs time")
    most = f"{int(lengths[-1].split()[0]):,}"
    head = [f"{int(n.split()[0]):,}" for n in lengths]
    return f"""## 打分的几种算法 | Ways of scoring

256 个词元、宽 64，加性打分的用时是点积的 {additive} 倍。下表只算前向：因果的以融合的 `is_causal` 为 1，到 {most} 个词元，布尔三角是 {two(triangle[-1])}，逐步计算是 {two(by_steps[-1])}；有填充的以 SDPA 为 1。

With 256 tokens of width 64, additive scores take {additive} times as long as dot products. The table is of forward passes: causal ones in units of fused `is_causal`, where a boolean triangle takes {two(triangle[-1])} at {most} tokens and attention step by step {two(by_steps[-1])}; padded ones in units of SDPA.

{table(head, rows)}

{made_with(record)}"""


def machines() -> str:
    paths = sorted(RESULTS.glob("*.json"))
    found = [
        record
        for record in map(load, (path.stem for path in paths))
        if record["command"] == "nox -s bench"
    ]
    rows: list[Row] = []

    def add(name: str, *keys: str, scale: float = 1) -> None:
        """Add a row of what stands under these keys, if any record has it."""
        cells: list[float | None] = []
        for record in found:
            value: Any = record
            for key in keys:
                value = value and value.get(key)
            cells.append(value and value * scale)
        if any(cells):
            rows.append((name, cells))

    for p in ("fp32", "tf32", "bf16"):
        add(f"TFLOP/s, {p}", "rooflines", p, "flops", scale=1e-12)
        add(f"GB/s, {p}", "rooflines", p, "n_bytes", scale=1e-9)
        roof = f"训练 ÷ 屋顶线 training / roofline, {p}"
        add(roof, "training", p, "utilisation")
    for what in ("training", "decoding"):
        times = [record["beside"] for record in found]
        cells = [
            t[f"{what}, ours"] / t[f"{what}, Marian"] if t else None
            for t in times
        ]
        rows.append((f"{what}: {OURS} / Marian", cells))
    head = [str(record.get("gpu", record["cpu"])) for record in found]
    return f"""## 一台机器能做多少 | What a machine can do

`nox -s bench` 量你自己的机器，有没有显卡都行。表里是每秒的次数和字节，论文的基本模型训练一步达到屋顶线的几成，还有与 Marian 之比。2026 年 11 月 21 日记下的那一步，批量是事先做好的，也没有裁剪梯度；现在的命令把这两样也计在内。

`nox -s bench` measures your own machine, with a GPU or without. The table has operations and bytes a second, how much of the roofline a training step of the paper's base model reaches, and our time over Marian's. The step recorded on 21 November 2026 had its batch ready and did not clip; the command now times both as well.

{table(head, rows)}

{made_with(*found)}"""


HEAD = """<!-- Made by `python -m benchmarks.readme` from results/*.json; edit there. -->

# 测速 | Benchmarks

每个脚本让各家在同一次运行里轮流上场，比的是用时的倍数，换一台机器也大致成立，越小越好。各表在不同的机器上量得，下面写着是哪一台。

Each script times its entrants in turn, A B C A B C …, in one run, and what is compared are ratios of their times, which hold from machine to machine better than times do. Less is better. The tables were measured on different machines, which stand below them.

```bash
pip install "attention-book[peers]"
python -m benchmarks.training    # --base: the paper's base shape
nox -s bench                     # your own machine, CPU or GPU
```

结果写进 `results/*.json`，写明机器、线程数、版本和日期，这一页由它们生成。`python -m benchmarks.flash` 要显卡；`memory`、`multi_head` 和 `positions` 只打印，不留记录。

What they find goes to `results/*.json`, with the machine, threads, versions and date, and this page is made from them. `python -m benchmarks.flash` wants a GPU; `memory`, `multi_head` and `positions` print and keep no record."""


def make() -> str:
    """The text of the page."""
    parts = (
        *(training, decoding, vit, scoring, adaptive),
        *(windows, linear, convolution, machines),
    )
    return "\n\n".join([HEAD, *(part() for part in parts)]) + "\n"


if __name__ == "__main__":
    write(README, make())
