"""``python -m tests.bench [JOB...] [--dir DIR] [mib=1024 chunks=100000 rounds=3]``: ratios to the peers, in one run.

Every module of this package with a function ``run(folder, scale) -> list[Row]`` is a job.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import tempfile
from pathlib import Path

import tests.bench
from tests.bench.report import show


def main(arguments: list[str]) -> None:
    scale = {k: int(v) for k, _, v in (a.partition("=") for a in arguments if "=" in a and not a.startswith("-"))}
    folder = Path(arguments[arguments.index("--dir") + 1]) if "--dir" in arguments else Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    skip = {"--dir", str(folder), arguments[arguments.index("--dir") + 1]} if "--dir" in arguments else set()
    wanted = [a for a in arguments if "=" not in a and a not in skip]
    for info in pkgutil.iter_modules(tests.bench.__path__):
        if info.name.startswith("_") or (wanted and info.name not in wanted):
            continue
        module = importlib.import_module(f"tests.bench.{info.name}")
        if hasattr(module, "run"):
            print(show(module.run(folder, scale)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
