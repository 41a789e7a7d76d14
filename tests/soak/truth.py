"""What the folder of a soak holds, and what a reader may find in it.

Each set of files has one writer. All values of a set say which generation they are of: ``generation * SCALE + row``. A
ledger beside the files names the last generation that was finished, so that any reader can tell old values from new.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

import byteatlas as ba

ROWS, WIDTH, SCALE = 24, 16, 1_000_000


class Ledger(NamedTuple):
    """The last finished state of a set."""

    generation: int
    parts: int


class Set:
    """The files of one writer: parts, a JSON map and a Parquet map of them together."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder / f"set{number}"
        self.folder.mkdir(exist_ok=True)
        self.maps = [str(self.folder / "all.json"), str(self.folder / "all.parquet")]

    def part(self, number: int) -> str:
        return str(self.folder / f"part{number}.nc")

    def ledger(self) -> Ledger | None:
        """None before the first generation is finished."""
        try:
            return Ledger(*json.loads((self.folder / "ledger").read_text()))
        except FileNotFoundError:
            return None

    def rewrite(self, generation: int) -> None:
        """All files anew, each in the place of the old one, with the same number of bytes as often as not."""
        parts = 2
        for number in range(parts):
            self._write_part(generation, number)
        found = ba.combine([self.part(n) for n in range(parts)], concat="t")
        for target in self.maps:
            ba.write(found, target)
        self._note(Ledger(generation, parts))

    def append(self, before: Ledger) -> None:
        """One part more."""
        self._write_part(before.generation, before.parts)
        for target in self.maps:
            ba.append(target, [self.part(before.parts)], concat="t")
        self._note(Ledger(before.generation, before.parts + 1))

    def _write_part(self, generation: int, number: int) -> None:
        path = Path(self.part(number))
        draft = path.with_suffix(".draft")
        rows = np.arange(number * ROWS, (number + 1) * ROWS)
        with h5py.File(draft, "w") as file:
            time = file.create_dataset("t", data=rows.astype("f8"))
            time.make_scale("t")
            values = np.repeat((generation * SCALE + rows)[:, None], WIDTH, 1).astype("f8")
            filters = "gzip" if generation % 2 else None
            data = file.create_dataset("v", data=values, chunks=(8, WIDTH), compression=filters)
            data.dims[0].attach_scale(time)
        draft.replace(path)

    def _note(self, state: Ledger) -> None:
        draft = self.folder / "ledger.draft"
        draft.write_text(json.dumps(state))
        os.replace(draft, self.folder / "ledger")  # noqa: PTH105


def wrong(values: NDArray[Any], before: Ledger, after: Ledger, *, whole: bool) -> str | None:
    """What is wrong with values that were read between two looks at the ledger; None when nothing is."""
    if not len(values):
        return "no values"
    generation, first = divmod(int(values[0, 0]), SCALE)
    expected = generation * SCALE + first + np.arange(len(values))
    if first or not np.array_equal(values, np.repeat(expected[:, None], WIDTH, 1)):
        return f"a mixture: {np.unique(values // SCALE)} in {values.shape}"
    if not before.generation <= generation <= after.generation + 1:
        return f"stale: generation {generation}, {before.generation} was finished before the map was opened"
    if whole and generation == before.generation and len(values) < before.parts * ROWS:
        return f"stale: {len(values)} rows, {before.parts * ROWS} were there before the map was opened"
    return None
