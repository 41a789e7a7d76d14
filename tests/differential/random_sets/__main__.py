"""``python -m tests.differential.random_sets [--sets 2000] [--first 0] [--verbose]``: random sets against xarray.

Prints how many sets read as xarray reads them, and the refusals by reason. Exits with 1 when anything is wrong or
crashes, or when more than 2 % of the sets are refused for no reason that was drawn.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from tests.differential.random_sets.compare import Outcome, try_set

MOST_UNJUSTIFIED = 0.02


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=2000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--memory", action="store_true", help="do not write maps")
    parser.add_argument("--verbose", action="store_true", help="say what became of every set that is not equal")
    given = parser.parse_args()
    outcomes = []
    for seed in range(given.first, given.first + given.sets):
        with tempfile.TemporaryDirectory() as folder:
            found = try_set(seed, Path(folder), *([("",)] if given.memory else []))
        outcomes.append(found)
        if given.verbose and found.verdict != "equal" and found.verdict != "refused":
            print(f"{seed}: {found.verdict} {','.join(found.codes)}: {found.detail}", flush=True)
    return report(outcomes)


def report(outcomes: list[Outcome]) -> int:
    """Print the figures; the exit status."""
    counts = Counter(o.verdict for o in outcomes)
    print(f"{len(outcomes)} sets: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    for verdict in ("refused", "unjustified"):
        for codes, n in Counter(",".join(o.codes) for o in outcomes if o.verdict == verdict).most_common():
            print(f"  {verdict}: {n} {codes}")
    bad = [o for o in outcomes if o.verdict in ("wrong", "crash")]
    for o in bad[:20]:
        print(f"  {o.verdict} (seed {o.seed}): {o.detail}")
    return int(bool(bad) or counts["unjustified"] > MOST_UNJUSTIFIED * len(outcomes))


if __name__ == "__main__":
    raise SystemExit(main())
