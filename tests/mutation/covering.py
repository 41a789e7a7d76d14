"""A run of the tests, kept in a folder for temporary files: which test runs which line, and how long it takes."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from coverage import CoverageData
from tests.mutation.packages import ROOTS, functions

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


def pieces(root: Path, tests: list[str]) -> list[str]:
    """The folders that hold tests, below what was asked for, and files that were asked for by themselves."""
    found: set[str] = set()
    for asked in tests:
        path = root / asked.partition("::")[0]
        files = path.rglob("test_*.py") if path.is_dir() else ()
        found |= {f.parent.relative_to(root).as_posix() for f in files} or {asked}
    return sorted(found)


def digest(root: Path, pattern: str, *folders: str, also: str = "") -> str:
    """A name for one state of the files below some folders."""
    found = hashlib.sha256(also.encode())
    for folder in folders:
        for path in sorted((root / folder).rglob(pattern)):
            found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def digest_of_piece(root: Path, piece: str) -> str:
    """A name for one state of a folder's tests; what other tests say does not count."""
    found = hashlib.sha256(piece.encode())
    path = root / piece.partition("::")[0]
    for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
        found.update(file.name.encode() + b"\0" + file.read_bytes())
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
    parts: tuple[CoverageData, ...]
    """Of each folder of tests; to put them together with what each test ran would take longer than to ask each."""
    seconds: dict[str, float] = field(repr=False)
    failed: frozenset[str] = field(default=frozenset(), repr=False)
    """Tests that fail without a mutant as well; they notice nothing."""

    def tests_of(self, file: str, line: int) -> tuple[list[str], list[str]]:
        """Tests that run a line, and tests that run another line of the same function, each from quick to slow."""
        lines = self._contexts(file)
        text = (self.tree / file).read_text(encoding="utf-8")
        around = [
            range(f.lineno, (f.end_lineno or f.lineno) + 1)
            for _, f in functions(ast.parse(text))
            if f.lineno <= line <= (f.end_lineno or f.lineno)
        ]
        own = self._quick(lines.get(line, []))
        wide = self._quick([t for n in (around[-1] if around else []) for t in lines.get(n, [])])
        return own, [t for t in wide if t not in set(own)]

    def _contexts(self, file: str) -> dict[int, list[str]]:
        """The tests that run each line."""
        found: dict[int, list[str]] = {}
        for part in self.parts:
            for line, contexts in part.contexts_by_lineno(file).items():
                found.setdefault(line, []).extend(contexts)
        return found

    def _quick(self, contexts: list[str]) -> list[str]:
        names = {c.rpartition("|")[0] for c in contexts if "|" in c}
        return sorted((n for n in names - self.failed if n), key=lambda n: (self.seconds.get(n, 0.0), n))


def cover(root: Path, cache: Path, tests: list[str], jobs: int = 2) -> Covering:
    """Run the tests with coverage in a copy of the tree, folder by folder.

    What is in the cache is not run again: a folder's tests run when they, or the code, changed. So a run that was
    broken off goes on where it was.
    """
    home = cache / digest(root, "*.py", "src", "scanners")
    tree = home / "tree"
    home.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    copy_tree(root, tree)
    asked = pieces(root, tests)
    with ThreadPoolExecutor(jobs) as pool:
        homes = list(pool.map(lambda piece: _cover_piece(tree, home, piece), asked))
    parts: list[CoverageData] = []
    seconds: dict[str, float] = {}
    failed: set[str] = set()
    for place in homes:
        parts.append(CoverageData(str(place / "data")))
        parts[-1].read()
        said = json.loads((place / "times.json").read_text())
        seconds |= said["seconds"]
        failed |= set(said["failed"])
    return Covering(tree, tuple(parts), seconds, frozenset(failed))


def _cover_piece(tree: Path, home: Path, piece: str) -> Path:
    """Run one folder's tests, unless they have run; gives where their data are."""
    place = home / digest_of_piece(tree, piece)
    if (place / "done").exists():
        return place
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "coverage.ini").write_text(SETTINGS.format(data=place / "data"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.mutation.times"]
    command += ["--cov", f"--cov-config={place / 'coverage.ini'}", "--cov-context=test", "--cov-report="]
    path = tree / piece.partition("::")[0]
    names = sorted(f.relative_to(tree).as_posix() for f in path.glob("test_*.py")) if path.is_dir() else [piece]
    variables = environment(tree) | {"BYTEATLAS_TEST_TIMES": str(place / "times.json")}
    with (place / "output.txt").open("w") as output:
        ended = subprocess.run([*command, *names], cwd=tree, env=variables, check=False, stdout=output, stderr=output)
    if ended.returncode > 1:  # broken off, or without tests; a failed test is 1
        raise RuntimeError(f"the tests of {piece} did not run: see {place / 'output.txt'}")
    (place / "done").touch()
    return place


def _arcs(parts: tuple[CoverageData, ...]) -> dict[str, set[tuple[int, int]]]:
    """What ran in each file, whichever test ran it."""
    found: dict[str, set[tuple[int, int]]] = {}
    for part in parts:
        for file in filter(lambda name: name.startswith(ROOTS), part.measured_files()):
            found.setdefault(file, set()).update(part.arcs(file) or ())
    return found


def missed(covering: Covering) -> Iterator[tuple[str, int, int, int, int, list[int]]]:
    """For each file: statements, those that ran, branches, those that were taken, and the lines that never ran."""
    home = covering.tree.parent
    report, settings = home / "report.json", home / "coverage.ini"
    settings.write_text(SETTINGS.format(data=home / "data"))
    whole = CoverageData(str(home / "data"))
    whole.erase()
    whole.add_arcs(_arcs(covering.parts))
    whole.write()
    command = [sys.executable, "-m", "coverage", "json", "-q", f"--rcfile={settings}", "-o", str(report)]
    subprocess.run(command, cwd=covering.tree, check=True)
    for file, found in json.loads(report.read_text())["files"].items():
        s = found["summary"]
        counts = s["num_statements"], s["covered_lines"], s["num_branches"], s["covered_branches"]
        yield Path(file).as_posix(), *counts, found["missing_lines"]
