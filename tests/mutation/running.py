"""Each mutant in a copy of the tree, against the tests that run its line, within a limit of time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from tests.mutation.covering import Covering, environment
from tests.mutation.mutants import Mutant

from byteatlas.values import dataclass

EQUIVALENT = Path(__file__).with_name("equivalent.toml")
MOST_SECONDS, MOST_TESTS, PATIENCE = 20.0, 300, 40.0
"""Of the tests that run a line, the quickest are run: this much together, so many at most; then a limit for hangs."""

FAILED = 1
"""How pytest ends when tests failed; larger numbers say that it could not run them."""

Outcome = Literal["noticed", "hangs", "survived", "no test runs it", "equivalent"]


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a mutant."""

    mutant: Mutant
    outcome: Outcome

    @property
    def counts(self) -> bool:
        """Whether it changes what the code does."""
        return self.outcome != "equivalent"

    @property
    def noticed(self) -> bool:
        return self.outcome in ("noticed", "hangs")


def equivalents() -> dict[tuple[str, str, str], str]:
    """Mutants that change nothing that anybody can see: file, line before, line after, and the reason."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {(e["file"], e["before"], e["after"]): e["reason"] for e in entries}


def chosen(covering: Covering, mutant: Mutant) -> list[str]:
    """Tests to run: those of the line first, then those of its function, as many as the limits take."""
    own, wide = covering.tests_of(mutant.file, mutant.line)
    found: list[str] = []
    seconds = 0.0
    for name in [*_near(own, mutant), *wide]:
        seconds += covering.seconds.get(name, 0.0)
        if found and (seconds > MOST_SECONDS or len(found) >= MOST_TESTS):
            break
        found.append(name)
    return found


def _near(tests: list[str], mutant: Mutant) -> list[str]:
    """Tests of the mutant's own package before others, else from quick to slow."""
    own = mutant.package.rpartition(".")[2]
    return sorted(tests, key=lambda name: f"/{own}/" not in name)


def try_mutant(covering: Covering, tree: Path, mutant: Mutant) -> Outcome:
    """Put the mutant into the copy `tree`, run its tests, and put the file back."""
    if (mutant.file, mutant.before, mutant.after) in equivalents():
        return "equivalent"
    tests = chosen(covering, mutant)
    if not tests:
        return "no test runs it"
    file = tree / mutant.file
    kept = file.read_bytes()
    try:
        _put(file, mutant.text.encode())
        ended = _run(tree, tests)
    finally:
        _put(file, kept)
    if ended is None:
        return "hangs"
    if ended > FAILED and _run(tree, tests) != 0:  # modules that cannot be imported, or tests that are not found
        raise RuntimeError(f"the tests of {mutant.file}:{mutant.line} do not pass without the mutant: {tests[:3]}")
    return "noticed" if ended else "survived"


def _put(file: Path, content: bytes) -> None:
    """Write a module so that no compiled file of an older state is taken for it."""
    file.write_bytes(content)
    for old in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        old.unlink()


def _run(tree: Path, tests: list[str]) -> int | None:
    """How pytest ended; nothing when it did not in time."""
    listing = tree / "tests-of-this-mutant.txt"
    listing.write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"@{listing}"]
    nothing = subprocess.DEVNULL
    child = subprocess.Popen(
        command, cwd=tree, env=environment(tree), stdout=nothing, stderr=nothing, start_new_session=True
    )
    try:
        return child.wait(PATIENCE + 3 * MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child, and what it started, as far as it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def run(covering: Covering, trees: list[Path], mutants: list[Mutant]) -> Iterator[Trial]:
    """Try all mutants, as many at once as there are copies of the tree."""
    from concurrent.futures import ThreadPoolExecutor, as_completed
    from queue import SimpleQueue

    free: SimpleQueue[Path] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def one(mutant: Mutant) -> Trial:
        tree = free.get()
        try:
            return Trial(mutant, try_mutant(covering, tree, mutant))
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        for done in as_completed([pool.submit(one, m) for m in mutants]):
            yield done.result()
