"""Damage chunks of every codec: ``python -m tests.fuzz.run --minutes N [--seed S] [--codec NAME]``."""

from __future__ import annotations

import argparse
import time

from tests.fuzz.chunks import apart
from tests.fuzz.examples import ALL, NOT_BUILT

BATCH = 400


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--codec", action="append", help="only this one")
    parser.add_argument("--batch", type=int, default=BATCH)
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    names = options.codec or [name for name in ALL if name not in NOT_BUILT]
    seed, chunks, bad, told = options.seed, 0, 0, set[str]()
    while time.monotonic() < end:
        for name in names:
            if time.monotonic() > end:
                break
            begin = time.monotonic()
            for line in apart(name, seed, options.batch):
                bad += 1
                if line[:60] not in told:
                    told.add(line[:60])
                    print(line[:600], flush=True)
            if time.monotonic() - begin > 60:
                print(f"slow: {name}, {time.monotonic() - begin:.0f} s", flush=True)
            chunks += options.batch
        seed += 1
    print(f"{chunks} damaged chunks of {len(names)} codecs, seeds from {options.seed}: {bad} findings")
    return bool(bad)


if __name__ == "__main__":
    raise SystemExit(main())
