"""Get both editions ready for Zensical, which may follow MkDocs one day.

python -m literate.zensical    weave, and write what Zensical is to read, into .cache/

Our templates, the script of the pages and the hooks of MkDocs stay behind: Zensical cannot use
them. What the site lacks then, and what would have to come, is in docs/source/zensical.md.
"""

import json
from typing import Any

from mkdocs.utils.yaml import yaml_load

from literate import ROOT
from literate.hooks import api_pages, localise
from literate.tangle import write
from literate.weave import EDITIONS, WOVEN, write_trees


CACHE = WOVEN.parent


def configuration(edition: str) -> dict[str, Any]:
    """The settings of MkDocs, one language of them; places are seen from CACHE."""
    tree = WOVEN / edition
    with (ROOT / EDITIONS[edition]).open("rb") as file:
        config = localise(yaml_load(file), edition, api_pages(str(tree)))
    for ours in ("hooks", "extra_javascript"):
        del config[ours]
    del config["theme"]["custom_dir"]
    config["plugins"]["mkdocstrings"]["handlers"]["python"]["paths"] = [str(ROOT)]
    config["docs_dir"] = tree.relative_to(CACHE).as_posix()
    config["site_dir"] = f"zensical/{edition}"
    return dict(config)


if __name__ == "__main__":
    write_trees()
    for edition in EDITIONS:
        text = json.dumps(configuration(edition), ensure_ascii=False, indent=2)  # which is YAML
        write(CACHE / f"zensical.{edition}.yml", text)
