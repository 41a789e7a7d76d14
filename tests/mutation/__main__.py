"""``python -m tests.mutation --sample 200 [--package P] [--seed S]``: how many mutants do the tests notice?

Mutants are drawn at random (the seed is shown) and each is run in a copy of the tree against the tests that run its
line. What runs which line comes from one run of the tests with coverage, which is kept in ``--cache`` (a folder for
temporary files) until code or tests change. Arguments behind ``--`` are the tests to run, all without.
``--write`` puts the figures into docs/status/tests.md. Needs the extra ``mutation``.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.mutation.covering import Covering, copy_tree, cover
from tests.mutation.figures import noticed, write_page
from tests.mutation.mutants import Mutant, draw
from tests.mutation.packages import modules, package_of
from tests.mutation.running import Trial, run
from tests.places import ROOT

PAGE = ROOT / "docs" / "status" / "tests.md"
LEAST = 4
"""Mutants of each package, however small it is, when all are asked for."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=200, help="mutants in all")
    parser.add_argument("--package", action="append", help="byteatlas.io, for example; may be repeated")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "byteatlas-mutation")
    parser.add_argument("--write", action="store_true", help="write docs/status/tests.md")
    parser.add_argument("tests", nargs="*", default=["tests"])
    return parser.parse_args()


def sample(files: dict[str, list[str]], how_many: int, seed: int) -> list[Mutant]:
    """Mutants of each package: at least a few of each, the rest in proportion to its size."""
    sizes = {p: sum(len((ROOT / f).read_bytes()) for f in found) for p, found in files.items()}
    rest = max(0, how_many - LEAST * len(files))
    wanted = {p: min(LEAST, how_many) + round(rest * size / sum(sizes.values())) for p, size in sizes.items()}
    return [m for p in files for m in draw(ROOT, files[p], wanted[p], seed)]


def show(trial: Trial) -> str:
    m = trial.mutant
    return f"{trial.outcome:16} {m.file}:{m.line} {m.operator}\n    - {m.before}\n    + {m.after}"


def trials(covering: Covering, mutants: list[Mutant], jobs: int) -> Iterator[Trial]:
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder) / str(i) for i in range(jobs)]
        for tree in trees:
            tree.mkdir()
            copy_tree(ROOT, tree)
        yield from run(covering, trees, mutants)


def main() -> None:
    asked = arguments()
    seed = random.SystemRandom().randrange(1 << 32) if asked.seed is None else asked.seed
    files: dict[str, list[str]] = {}
    for file in modules(ROOT):
        if not asked.package or package_of(file) in asked.package:
            files.setdefault(package_of(file), []).append(file)
    if not files:
        sys.exit(f"no package {', '.join(asked.package)}")
    covering = cover(ROOT, asked.cache, asked.tests)
    found: list[Trial] = []
    for trial in trials(covering, sample(files, asked.sample, seed), asked.jobs):
        found.append(trial)
        if not trial.noticed:
            print(show(trial), flush=True)
    print(f"seed {seed}; outcomes: {dict(Counter(t.outcome for t in found))}")
    for package, share in sorted(noticed(found).items()):
        print(f"{package:32} {share}")
    if asked.write:
        for left in write_page(PAGE, covering, found):
            print(f"never runs, and not listed: {left.file} {left.function}: {left.text}")


if __name__ == "__main__":
    main()
