"""One run of the tests, kept in a folder for temporary files: which test runs which line, and how long it takes."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from coverage import CoverageData
from tests.mutation.packages import functions

from byteatlas.values import dataclass, field

COPIED = ("src", "scanners", "tests", "fixtures", "docs", "pyproject.toml", "README.md", "LICENSE")
SETTINGS = "[run]\nbranch = True\nrelative_files = True\nsource =\n    src\n    scanners\ndata_file = {data}\n"


def copy_tree(root: Path, to: Path) -> None:
    """Copy what tests need; nothing is run, or changed, in the tree itself."""
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, to / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        elif (root / name).exists():
            shutil.copy(root / name, to / name)


def digest(root: Path, tests: list[str]) -> str:
    """A name for one state of code and tests."""
    found = hashlib.sha256(json.dumps(sorted(tests)).encode())
    for folder in ("src", "scanners", "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def environment(tree: Path) -> dict[str, str]:
    """Variables with which a child process runs the code of this tree."""
    kept = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if "dist-info" in "".join(_names(p))]
    paths = [str(tree), str(tree / "src"), str(tree / "scanners"), *kept]
    found = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return found | {"PYTHONPATH": os.pathsep.join(paths)}


def _names(folder: str) -> list[str]:
    """What lies in a folder, when there is one."""
    return [path.name for path in Path(folder).iterdir()] if folder and Path(folder).is_dir() else []


@dataclass(frozen=True, slots=True)
class Covering:
    """What one run of the tests said."""

    tree: Path
    data: CoverageData
    seconds: dict[str, float] = field(repr=False)

    def tests_of(self, file: str, line: int) -> tuple[list[str], list[str]]:
        """Tests that run a line, and tests that run another line of the same function, each from quick to slow."""
        lines = self.data.contexts_by_lineno(str(self.tree / file)) or self.data.contexts_by_lineno(file)
        text = (self.tree / file).read_text(encoding="utf-8")
        around = [
            range(f.lineno, (f.end_lineno or f.lineno) + 1)
            for _, f in functions(ast.parse(text))
            if f.lineno <= line <= (f.end_lineno or f.lineno)
        ]
        own = self._quick(lines.get(line, []))
        wide = self._quick([t for n in (around[-1] if around else []) for t in lines.get(n, [])])
        return own, [t for t in wide if t not in set(own)]

    def _quick(self, contexts: list[str]) -> list[str]:
        names = {c.rpartition("|")[0] for c in contexts if "|" in c}
        return sorted((n for n in names if n), key=lambda n: (self.seconds.get(n, 0.0), n))


def cover(root: Path, cache: Path, tests: list[str]) -> Covering:
    """Run the tests with coverage in a copy of the tree, unless the same code and tests were run before."""
    home = cache / digest(root, tests)
    if not (home / "done").exists():
        shutil.rmtree(home, ignore_errors=True)
        (home / "tree").mkdir(parents=True)
        copy_tree(root, home / "tree")
        (home / "coverage.ini").write_text(SETTINGS.format(data=home / "data"))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            "2",
            "-p",
            "no:cacheprovider",
            "-p",
            "tests.mutation.times",
        ]
        command += ["--cov", f"--cov-config={home / 'coverage.ini'}", "--cov-context=test", "--cov-report=", *tests]
        variables = environment(home / "tree") | {"BYTEATLAS_TEST_TIMES": str(home / "seconds.json")}
        subprocess.run(command, cwd=home / "tree", env=variables, check=False)
        (home / "done").touch()
    data = CoverageData(str(home / "data"))
    data.read()
    return Covering(home / "tree", data, json.loads((home / "seconds.json").read_text()))


def missed(covering: Covering) -> Iterator[tuple[str, int, int, int, int, list[int]]]:
    """For each file: statements, those that ran, branches, those that were taken, and the lines that never ran."""
    report = covering.tree.parent / "report.json"
    settings = covering.tree.parent / "coverage.ini"
    command = [sys.executable, "-m", "coverage", "json", "-q", f"--rcfile={settings}", "-o", str(report)]
    subprocess.run(command, cwd=covering.tree, check=True)
    for file, found in json.loads(report.read_text())["files"].items():
        s = found["summary"]
        counts = s["num_statements"], s["covered_lines"], s["num_branches"], s["covered_branches"]
        yield Path(file).as_posix(), *counts, found["missing_lines"]
