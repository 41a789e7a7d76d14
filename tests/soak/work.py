"""What the threads of a soak do, over and over."""

from __future__ import annotations

import pickle
import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray
import zarr
from numpy.typing import NDArray
from tests.soak.truth import Ledger, Set, wrong

import byteatlas as ba
from byteatlas.errors import FetchFailed, SourceChanged
from byteatlas.zarr_stores.reference import ReferenceZarrStore

THREADS, PROCESSES = 8, 2
MOST_PARTS = 6


def through_open(target: str) -> NDArray[Any]:
    found = ba.open(target, path="v")
    assert isinstance(found, ba.Array)
    values: NDArray[Any] = found[...]
    return values


def through_pickle(target: str) -> NDArray[Any]:
    return pickle.loads(pickle.dumps(ba.open(target)))["v"][...]  # type: ignore[no-any-return]


def through_xarray(target: str) -> NDArray[Any]:
    with xarray.open_dataset(target, engine="byteatlas") as found:
        return found.v.values  # type: ignore[no-any-return]


def through_pickled_dataset(target: str) -> NDArray[Any]:
    with xarray.open_dataset(target, engine="byteatlas") as found:
        return pickle.loads(pickle.dumps(found)).v.values  # type: ignore[no-any-return]


def through_zarr(target: str) -> NDArray[Any]:
    group = zarr.open_group(ReferenceZarrStore(ba.load(target)), mode="r")
    return np.asarray(group["v"][...])


READERS: tuple[Callable[[str], NDArray[Any]], ...] = (
    through_open,
    through_pickle,
    through_xarray,
    through_pickled_dataset,
    through_zarr,
)


class Soak:
    """The threads of one process, and what they found."""

    def __init__(self, folder: Path, process: int, seconds: float) -> None:
        self.sets = [Set(folder, n) for n in range(THREADS * PROCESSES)]
        self.process, self.end = process, time.monotonic() + seconds
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self) -> None:
        """Work until the time is over."""
        threads = [threading.Thread(target=self._guarded, args=(i,), daemon=True) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _guarded(self, thread: int) -> None:
        try:
            self._loop(thread)
        except BaseException as error:  # whatever it is, the soak has failed
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.wrong.append(f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})")

    def _loop(self, thread: int) -> None:
        dice = random.Random(100 * self.process + thread)
        own = self.sets[self.process * THREADS + thread]
        own.rewrite(1)
        while time.monotonic() < self.end and not self.wrong:
            what = dice.random()
            state = own.ledger()
            assert state is not None
            if what < 0.08:
                own.rewrite(state.generation + 1)
                self.counts["rewrite"] += 1
            elif what < 0.16 and state.parts < MOST_PARTS:
                own.append(state)
                self.counts["append"] += 1
            else:
                self._read(dice.choice(self.sets), dice)

    def _read(self, of: Set, dice: random.Random) -> None:
        before = of.ledger()
        if before is None:
            return
        part = dice.random() < 0.2
        reader = dice.choice(READERS)
        target = of.part(0) if part else dice.choice(of.maps)
        try:
            values = reader(target)
        except (SourceChanged, FetchFailed) as error:
            self._refused(of, before, target, error)
            return
        after = of.ledger()
        assert after is not None
        fault = wrong(values, before, after, whole=not part)
        self.counts[reader.__name__] += 1
        if fault is not None:
            self.wrong.append(f"{target} through {reader.__name__}: {fault}")

    def _refused(self, of: Set, before: Ledger, target: str, error: Exception) -> None:
        """Refusing is right while a set is being written, and only then."""
        self.counts[type(error).__name__] += 1
        for _ in range(100):
            if of.ledger() != before or time.monotonic() > self.end:
                return
            time.sleep(0.1)
        self.wrong.append(f"{target} was refused while nobody wrote: {error}")
