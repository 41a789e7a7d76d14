"""A script without a guard, which new processes would run again from its first line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

GUARDED = "if __name__ == '__main__':\n    "
WORK = (
    "from byteatlas.executors.running import for_each; import os; print(for_each(os.path.basename, NAMES, EXECUTOR).ok)"
)


def run(tmp_path: Path, executor: str, *, guarded: bool, files: int = 2) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "work.py"
    names = [f"/f{i}" for i in range(files)]
    script.write_text(
        "print('begun')\n" + GUARDED * guarded + WORK.replace("NAMES", repr(names)).replace("EXECUTOR", executor)
    )
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)


def test_it_is_told_at_once(tmp_path: Path) -> None:
    found = run(tmp_path, "'processes:2'", guarded=False)
    assert found.stdout == "begun\n"
    assert "BadRequest" in found.stderr
    assert "if __name__ == '__main__':" in found.stderr


def test_with_a_guard_it_works(tmp_path: Path) -> None:
    assert "True" in run(tmp_path, "'processes:2'", guarded=True).stdout


@pytest.mark.parametrize("files", [40])
def test_who_did_not_ask_for_processes_gets_threads(tmp_path: Path, files: int) -> None:
    found = run(tmp_path, "None", guarded=False, files=files)
    assert found.stdout == "begun\nTrue\n"
