"""``python -m tests.bench [JOB...] [--dir DIR] [--write FILE] [mib=1024 chunks=100000 rounds=3]``: ratios to the peers.

``--write`` puts the tables of the jobs that were run into a Markdown file, in place of older ones of the same jobs.
Every module of this package with a function ``run(folder, scale) -> list[Row]`` is a job.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import tempfile
from pathlib import Path

import tests.bench
from docs.drawing import speed
from tests.bench.report import show, write_markdown


def main(arguments: list[str]) -> None:
    options = {name: _option(arguments, name) for name in ("--dir", "--write")}
    scale = {k: int(v) for k, _, v in (a.partition("=") for a in arguments if "=" in a and not a.startswith("-"))}
    folder = Path(options["--dir"] or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [a for a in arguments if "=" not in a and not a.startswith("-") and a not in options.values()]
    for info in pkgutil.iter_modules(tests.bench.__path__):
        if info.name.startswith("_") or (wanted and info.name not in wanted):
            continue
        module = importlib.import_module(f"tests.bench.{info.name}")
        if hasattr(module, "run"):
            rows = module.run(folder, scale)
            print(show(rows), flush=True)
            if options["--write"]:
                write_markdown(Path(options["--write"]), info.name, rows)
    if options["--write"] and Path(options["--write"]).resolve() == speed.PAGE:
        speed.draw()


def _option(arguments: list[str], name: str) -> str | None:
    return arguments[arguments.index(name) + 1] if name in arguments else None


if __name__ == "__main__":
    main(sys.argv[1:])
