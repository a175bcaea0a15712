"""The times that "Against convolution and recurrence" quotes."""

import json
import re

import pytest

from literate import ROOT
from literate.blocks import LANGUAGES
from literate.chapter import Twin, read


PAGE = ROOT / "docs/attention/convolution.md"
RECORD = ROOT / "benchmarks/results/convolution-cpu.json"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_times_are_those_of_the_record(language: str) -> None:
    record = json.loads(RECORD.read_text())
    assert (record["cpu"], record["threads"]) == ("AMD EPYC", 1)
    wanted = [
        [f"{ratios[name]:g}" for ratios in record[width].values()]
        for width in ("width 64", "width 512")
        for name in ("attention", "convolution, width 3")
    ]
    blocks = [
        getattr(part, language)
        for part in read(PAGE, ROOT).parts
        if isinstance(part, Twin)
    ]
    (text,) = [b.text for b in blocks if RECORD.name in b.text]
    year, _, day = record["date"].split("-")
    for part in ("AMD EPYC", year, str(int(day))):
        assert part in text
    (table,) = [b.text for b in blocks if b.kind == "table" and "÷ " in b.text]
    found = [re.findall(r"\b\d\.\d+\b", row) for row in table.splitlines()[2:]]
    assert found == wanted
