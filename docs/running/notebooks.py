"""Make notebooks of how-to pages, and run them.

    python docs/running/notebooks.py FOLDER                     # every how-to, executed, as FOLDER/NAME.ipynb
    python docs/running/notebooks.py FOLDER docs/how-to/grib.md

A notebook has the page's words and blocks, in order, and is made anew each time: there is no second text to keep true.
Blocks that cannot run are words in it. One kernel runs all notebooks, one after another; each begins with no names.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from docs.running.blocks import ROOT, Block, Page, pages, read_page, without_installing

COMMENT = re.compile(r"^<!-- [^\n]* -->\n+", re.MULTILINE)
RESET = "%reset -f\n%cd -q {folder}\nimport logging; logging.captureWarnings(False)"


def _nbformat() -> Any:
    """The package, which has no types and is for those who make notebooks only."""
    return import_module("nbformat")


def notebook(page: Path) -> Any:
    """The notebook of a page, not yet run."""
    nbformat = _nbformat()
    read = read_page(page)
    cells, at = [], 0
    for block in read.running():
        if not installed(block):
            continue  # words
        cells += _words(read.text[at : block.start])
        cells.append(nbformat.v4.new_code_cell(_code(block), metadata={"tags": [block.place]}))
        at = block.end
    cells += _words(read.text[at:])
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"  # the same page gives the same notebook
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _words(text: str) -> list[Any]:
    nbformat = _nbformat()
    text = COMMENT.sub("", text).strip()
    return [nbformat.v4.new_markdown_cell(text)] if text else []


def installed(block: Block) -> str:
    """A block's text without what is to be installed, for that is there already."""
    return (block.text if block.language == "python" else without_installing(block.text)).rstrip()


def _code(block: Block) -> str:
    """A cell; the last expression of a Python block is shown, as it is in any notebook."""
    return installed(block) if block.language == "python" else f"%%script bash -euo pipefail\n{installed(block)}"


class Kernel:
    """One process for many notebooks. Use it in a ``with`` statement."""

    def __enter__(self) -> Kernel:
        from jupyter_client.manager import KernelManager

        # A folder of its own, for the default is one name for all kernels that are started in the same place.
        self._sockets = tempfile.TemporaryDirectory(prefix="kernel-")
        self._manager = KernelManager(kernel_name="python3", transport="ipc", ip=f"{self._sockets.name}/socket")
        programs = str(Path(sys.executable).parent)  # commands are those of this environment, whatever else there is
        self._manager.start_kernel(env={**os.environ, "PATH": os.pathsep.join((programs, os.environ["PATH"]))})
        self._client = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=120)
        return self

    def __exit__(self, *error: object) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()
        self._sockets.cleanup()

    def run(self, book: Any, folder: Path) -> None:
        """Run a notebook in a folder, and put the outputs into it.

        Raises nbclient's `CellExecutionError`, which shows the cell and its traceback.
        """
        from nbclient import NotebookClient

        nbformat = _nbformat()
        reset = nbformat.v4.new_code_cell(RESET.format(folder=folder))
        book.cells.insert(0, reset)
        try:
            client = NotebookClient(book, km=self._manager, timeout=600)
            client.kc = self._client
            client.execute()
        finally:
            book.cells.pop(0)


def give(page: Page, folder: Path) -> None:
    """Make the files that a reader of the page would have."""
    from contextlib import chdir

    from docs.running.given import PROGRAMS

    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    with chdir(folder):
        for name in page.given:
            PROGRAMS[name]()


def main() -> None:
    nbformat = _nbformat()
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    chosen = [Path(name).resolve() for name in sys.argv[2:]] or [p for p in pages() if p.parent.name == "how-to"]
    with Kernel() as kernel:
        for path in chosen:
            page = read_page(path)
            if not page.running():
                continue
            with tempfile.TemporaryDirectory() as folder:
                give(page, Path(folder))
                book = notebook(path)
                kernel.run(book, Path(folder))
            nbformat.write(book, target / f"{path.stem}.ipynb")
            print(path.stem, flush=True)


if __name__ == "__main__":
    main()
