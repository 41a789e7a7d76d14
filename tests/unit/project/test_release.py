"""What is said in several places about the package is the same: versions, dependencies, extras."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from typing import Any

from tests.places import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "docs/release/recipe.yaml").read_text(encoding="utf-8")
CONDA_NAMES = {"msgpack": "msgpack-python"}
"""Packages that conda-forge has by other names."""


def test_one_version() -> None:
    version = PROJECT["version"]
    assert f'__version__ = "{version}"' in (ROOT / "src/byteatlas/__init__.py").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'version: "{version}"' in RECIPE


def test_the_recipe_has_the_dependencies() -> None:
    run = RECIPE.partition("  run:\n")[2].partition("\ntests:")[0]
    found = {line.removeprefix("    - ").replace(" ", "") for line in run.splitlines() if line.startswith("    - ")}
    wanted = {"python>=${{python_min}}"}
    for requirement in PROJECT["dependencies"]:
        name, _, least = requirement.partition(">=")
        wanted.add(f"{CONDA_NAMES.get(name, name)}>={least}")
    assert found == wanted
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in RECIPE


def test_extras_are_documented() -> None:
    text = (
        (ROOT / "docs/reference/extras.md").read_text(encoding="utf-8").partition("## Extras")[2].partition("\n## ")[0]
    )
    listed = set(re.findall(r"`([\w-]+)`", "\n".join(line.split("|")[1] for line in text.splitlines() if "|" in line)))
    assert listed == set(PROJECT["optional-dependencies"]) - {"test", "dev", "bench", "mutation", "docs"}


def test_shells_complete_commands() -> None:
    text = (ROOT / "docs/reference/extras.md").read_text(encoding="utf-8")
    assert "_BYTEATLAS_COMPLETE=bash_source" in text
    words = {"COMP_WORDS": "byteatlas sc", "COMP_CWORD": "1", "_BYTEATLAS_COMPLETE": "bash_complete"}
    command = [sys.executable, "-c", "import sys; sys.argv[:] = ['byteatlas']; from byteatlas.cli import main; main()"]
    done = subprocess.run(command, env={**os.environ, **words}, capture_output=True, text=True)
    assert done.stdout.strip() == "plain,scan"
