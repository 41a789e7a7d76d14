"""What the documentation shows runs as it stands: each page from top to bottom, as somebody would who tries it.

Python blocks share one namespace, shell blocks one folder. A block that cannot run by itself (it needs a cluster, a
network, a browser, or is a part of a program) says so in a comment above it: ``<!-- not run: why -->``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.places import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "docs/tutorial.md", *(ROOT / "docs").glob("how-to/*.md")])
PAGES += sorted((ROOT / "docs").glob("recipes/*.md"))
BLOCK = re.compile(r"^(<!-- ([^\n]*) -->\n)?```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"^<!-- needs: ([\w, ]+) -->", re.MULTILINE)
ELSEWHERE = re.compile(r"^<!-- run by: (\S+) -->$", re.MULTILINE)
SHELLS, SHOWN = ("sh", "console"), ("text", "toml", "js", "json")
DRIVER = """
import subprocess
space = {"__name__": "__main__"}
for name, language, text in BLOCKS:
    print("##", name, flush=True)
    if language == "python":
        exec(compile(text, name, "exec"), space)
    else:
        subprocess.run(["bash", "-euo", "pipefail", "-c", text], check=True)
"""


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """The blocks that run: their places, languages and texts."""
    found = []
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        _, comment, language, body = match.groups()
        if language in SHOWN or (comment or "").startswith(("not run: ", "command: test")):
            continue
        if comment == "command: demo":
            body = "byteatlas demo\n"  # the environment is there
        assert language in ("python", *SHELLS), f"{page}: a block of {language}"
        if language == "console":
            body = "".join(f"{line[2:]}\n" for line in body.splitlines() if line.startswith("$ "))
        if language in SHELLS:  # what is installed is installed here
            body = "".join(f"{line}\n" for line in body.splitlines() if not line.startswith("pip install"))
        found.append((f"{page.name}:{text[: match.start(3)].count(chr(10)) + 1}", language, body))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path) -> None:
    for name in NEEDS.findall(page.read_text(encoding="utf-8")):
        for module in name.split(","):
            pytest.importorskip(module.strip())
    elsewhere = ELSEWHERE.search(page.read_text(encoding="utf-8"))
    if elsewhere is not None:
        assert (ROOT / "tests" / elsewhere.group(1)).is_file()
        pytest.skip(f"run by {elsewhere.group(1)}")
    found = blocks(page)
    if not found:
        pytest.skip("nothing on this page runs by itself")
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    (tmp_path / ".page.py").write_text(f"BLOCKS = {found!r}\nif __name__ == '__main__':\n" + _indented(DRIVER))
    done = subprocess.run(
        [sys.executable, ".page.py"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    warned = [line for line in done.stderr.splitlines() if "Warning" in line and "byteatlas" in line]
    assert not warned, "\n".join(warned)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


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
