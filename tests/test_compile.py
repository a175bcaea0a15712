"""torch.compile by its real backend, inductor, with the tests' own warnings."""

import shutil

import pytest
import torch

from tests.factories import make_transformer


@pytest.mark.usefixtures("unchecked")
@pytest.mark.skipif(not shutil.which("g++"), reason="inductor needs g++")
@torch.no_grad()
def test_inductor_encodes_as_eager_does_at_all_lengths() -> None:
    model = make_transformer(n_layers=1, norm="pre", positions="rotary")
    torch.compiler.reset()
    encode = torch.compile(model.encode, fullgraph=True, dynamic=True)
    for number, (rows, n) in enumerate(((3, 7), (2, 16), (5, 4))):
        source = torch.randint(3, 13, (rows, n))
        lengths = torch.arange(rows) % 2 + n - 1
        stance = "fail_on_recompile" if number else "default"
        with torch.compiler.set_stance(stance):
            found, found_mask = encode(source, lengths)
        wanted, wanted_mask = model.encode(source, lengths)
        torch.testing.assert_close(found, wanted)
        assert torch.equal(found_mask, wanted_mask)
