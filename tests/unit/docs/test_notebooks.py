"""Every how-to is a notebook that runs, from the first cell to the last, in one kernel."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docs.running.blocks import pages, read_page
from docs.running.notebooks import Kernel, give, installed, notebook

PAGES = [page for page in map(read_page, pages()) if page.path.parent.name == "how-to" and page.running()]


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    pytest.importorskip("nbclient", reason="notebooks are run where nbclient is installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of Jupyter's own packages
        with Kernel() as running:
            yield running


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.stem)
def test_a_how_to_as_a_notebook(page: Any, kernel: Kernel, tmp_path: Path) -> None:
    if sys.version_info < page.python:
        pytest.skip(f"the page is for Python {page.python}")
    for module in page.modules:
        pytest.importorskip(module)
    give(page, tmp_path)
    book = notebook(page.path)
    kernel.run(book, tmp_path)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert len(code) == len([block for block in page.running() if installed(block)])
    said = "".join(o.get("text", "") for cell in code for o in cell.outputs if o.get("name") == "stderr")
    assert not [line for line in said.splitlines() if "Warning" in line and "byteatlas" in line], said


def test_most_how_tos_run() -> None:
    """Those that do not need a bucket, a server that goes on, or parts of a program of somebody's own."""
    names = {page.path.stem for page in PAGES}
    rest = {path.stem for path in pages() if path.parent.name == "how-to"} - names
    assert rest == {"objects", "remote", "scanner", "serve"}


def test_a_card_is_shown(kernel: Kernel, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    page = next(page for page in PAGES if page.path.stem == "reports")
    (tmp_path / "page.md").write_text(
        "# P\n\nWords.\n\n```python\nimport byteatlas as ba\nvg = ba.scan('data/ocean_2024-01.nc')\nvg\n```\n"
        "<!-- not run: it needs a bucket -->\n```python\nb\n```\n```sh\npip install x\necho data/*1.nc\n```\n"
    )
    give(page, tmp_path)
    book = notebook(tmp_path / "page.md")
    assert [cell.cell_type for cell in book.cells] == ["markdown", "code", "markdown", "code"]
    kernel.run(book, tmp_path)
    assert 'class="byteatlas"' in book.cells[1].outputs[0].data["text/html"]
    assert book.cells[3].outputs[0].text == "data/ocean_2024-01.nc\n"
