"""A hook of MkDocs: each how-to can be downloaded as a notebook.

``python docs/running/notebooks.py FOLDER`` runs them; with ``BYTEATLAS_NOTEBOOKS=FOLDER`` the site has these, outputs
and all, else notebooks without outputs.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from docs.running.blocks import ROOT, pages, read_page
from docs.running.notebooks import notebook

LINK = '\n\n---\n\n<a href="{name}.ipynb" download>This page as a notebook</a>\n'


def _runs(path: Path) -> bool:
    return path.parent.name == "how-to" and path in pages() and bool(read_page(path).running())


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A link at the end of pages that run."""
    path = ROOT / "docs" / page.file.src_uri
    return markdown + LINK.format(name=path.stem) if _runs(path) else markdown


def on_post_build(config: Any, **_: Any) -> None:
    """Put the notebooks beside the pages."""
    import nbformat

    executed = os.environ.get("BYTEATLAS_NOTEBOOKS")
    for path in filter(_runs, pages()):
        target = Path(config["site_dir"]) / "how-to" / path.stem / f"{path.stem}.ipynb"
        ready = Path(executed or "") / target.name
        if executed and ready.is_file():
            shutil.copy(ready, target)
        else:
            nbformat.write(notebook(path), target)
