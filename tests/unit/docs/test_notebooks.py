"""The code of how-to pages runs in a notebook, from the first cell to the last."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.archives import small_archive
from tests.places import ROOT

PAGES = ["reports.md"]
"""Those that need nothing but a small archive under ``data``."""


@pytest.mark.filterwarnings("ignore")  # those of Jupyter's own packages
@pytest.mark.parametrize("page", PAGES)
def test_a_how_to_as_a_notebook(page: str, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="notebooks are run where nbclient is installed")
    nbclient = pytest.importorskip("nbclient", reason="notebooks are run where nbclient is installed")
    (tmp_path / "data").mkdir()
    for file in small_archive():
        shutil.copy(file, tmp_path / "data")
    code = re.findall(r"```python\n(.*?)```", (ROOT / "docs/how-to" / page).read_text(encoding="utf-8"), re.DOTALL)
    assert code
    cells = [nbformat.v4.new_code_cell(text) for text in [*code, "vg"]]
    book = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert 'class="byteatlas"' in book.cells[-1].outputs[0].data["text/html"]
