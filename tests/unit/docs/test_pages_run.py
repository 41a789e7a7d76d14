"""What the documentation shows runs as it stands: each page from top to bottom, as somebody would who tries it.

The how-tos are run as notebooks (`test_notebooks`); the rest runs here, each page in a process and a folder of its own.
``docs/running/blocks.py`` has the rules. ``docs/running/newcomer.py`` does the same on a bare machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from docs.running.blocks import SHELLS, pages, read_page, without_installing
from docs.running.newcomer import program
from tests.places import ROOT

PAGES = [path for path in pages() if path.parent.name != "how-to"]


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """The blocks that run: their places, languages and texts. What is installed is installed here."""
    found = []
    for block in read_page(page).running():
        text = "byteatlas demo\n" if block.comment == "command: demo" else block.text  # the environment is there
        found.append((block.place, block.language, without_installing(text) if block.language in SHELLS else text))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path) -> None:
    for module in read_page(page).modules:
        pytest.importorskip(module)
    found = blocks(page)
    assert found
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    (tmp_path / ".page.py").write_text(program(found))
    done = subprocess.run(
        [sys.executable, ".page.py"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    warned = [line for line in done.stderr.splitlines() if "Warning" in line and "byteatlas" in line]
    assert not warned, "\n".join(warned)


def test_blocks_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# P\n```python\na = 1\n```\n<!-- not run: it needs a bucket -->\n```python\nb\n```\n"
        "```console\n$ ls\nx\n```\n```sh\npip install x\nls\n```\n```json\n{}\n```\n"
    )
    assert blocks(page) == [
        ("page.md:2", "python", "a = 1\n"),
        ("page.md:9", "console", "ls\n"),
        ("page.md:13", "sh", "ls\n"),
    ]


def test_what_a_page_needs(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# P\n<!-- given: demo -->\n<!-- needs: numpy, python 3.12 -->\n<!-- needs: xarray -->\n")
    read = read_page(page)
    assert (read.given, read.modules, read.python) == (("demo",), ("numpy", "xarray"), (3, 12))
    page.write_text("```basic\n10 GOTO 10\n```\n")
    with pytest.raises(ValueError, match="a block of basic"):
        read_page(page)
