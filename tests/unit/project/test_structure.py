"""The project's own rules: layers, module sizes, the public surface, the commands in the documentation."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.places import ROOT

import byteatlas

MODULES = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("scanners/**/*.py")])


def test_layers() -> None:
    command = str(Path(sys.executable).with_name("lint-imports"))
    if not Path(command).exists():
        pytest.skip("import-linter is not installed")
    done = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_are_short_and_absolute(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert text.count("\n") <= 400, "split this module"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            start = (first.end_lineno or first.lineno) if documented else node.lineno
            assert (node.end_lineno or start) - start <= 60, f"{node.name} is too long"
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name):
            # Raised again, or handed to another thread or task under its name.
            passes_on = any(
                (isinstance(n, ast.Raise) and n.exc is None) or (isinstance(n, ast.Name) and n.id == node.name)
                for n in ast.walk(node)
            )
            everything = node.type.id in ("Exception", "BaseException") and not passes_on
            assert not everything, f"line {node.lineno} swallows everything"


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What is below a node, without functions inside of it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from _own(child)


HELD_BY_GENERATORS = {"_entries: os.scandir(folder if opened is None else opened)", "_walk: suppress(BadRequest)"}
"""What lets go without waiting for anybody, in whatever thread."""


def test_generators_hold_neither_locks_nor_threads() -> None:
    """One that an error leaves behind is closed by the garbage collector: at any place, in any thread. There, waiting
    for a thread can be a deadlock, and another thread's lock cannot be released."""
    found = set()
    for function in (node for module in MODULES for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if any("contextmanager" in ast.unparse(decorator) for decorator in function.decorator_list):
            continue
        for block in _own(function):
            if isinstance(block, ast.With) and any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _own(block)):
                found |= {f"{function.name}: {ast.unparse(item.context_expr)}" for item in block.items}
    assert found == HELD_BY_GENERATORS


def test_public_names() -> None:
    assert len(set(byteatlas.__all__)) == len(byteatlas.__all__)
    for name in byteatlas.__all__:
        assert getattr(byteatlas, name) is not None


def test_verbs_win_over_subpackages_of_the_same_name() -> None:
    """Whatever is imported first."""
    for first in (
        "byteatlas.scanning.contract",
        "byteatlas.combining.plan",
        "byteatlas.verifying.run",
        "byteatlas.api",
    ):
        code = f"import {first}, byteatlas as ba; print(callable(ba.scan), callable(ba.combine), callable(ba.verify))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["True"] * 3, first
    from byteatlas import combine, scan, verify

    assert all(map(callable, (combine, scan, verify)))


def test_verbs_are_public() -> None:
    assert {"scan", "write", "open", "combine", "verify", "ByteatlasError"} <= set(byteatlas.__all__)


def test_import_is_light() -> None:
    """No heavy optional package is imported by the library itself."""
    code = "import sys, byteatlas; byteatlas.open; print([m for m in sys.modules if '.' not in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(re.findall(r"'(\w+)'", done.stdout))
    assert not loaded & {"pandas", "xarray", "zarr", "h5py", "netCDF4", "dask", "click", "rich", "PIL"}


def test_readme_commands() -> None:
    """The continuous integration takes its test command from the README; this is how it finds it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("demo", "test"):
        found = re.search(rf"<!-- command: {name} -->\n```sh\n(.+?)\n```", readme, re.DOTALL)
        assert found, name
        assert found.group(1).startswith("python3 -m venv .venv")


def test_documentation_links() -> None:
    """Every relative link in the documentation leads to a file."""
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
