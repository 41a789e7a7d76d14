"""The demonstration's steps: make, scan, combine, check, draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import date, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.api.combination import combine
from byteatlas.api.indexing import scan
from byteatlas.api.opening import open as open_target
from byteatlas.api.writing import write
from byteatlas.array import Array, Group
from byteatlas.demo.archive import FILL, ArchivePlan, make_archive
from byteatlas.demo.picture import draw_scene
from byteatlas.demo.scene import FileMap, Piece, Scene
from byteatlas.errors import BadRequest, CorruptChunk, MissingExtra
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.values import dataclass

Track = Callable[[str, int], AbstractContextManager[Callable[[str], None]]]
"""Shows progress: ``with track("scanning", 12) as done: done(name)``."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demonstration made, and its numbers. Times are seconds."""

    folder: Path
    files: int
    chunks: int
    bytes: int
    values: int
    picture: Path
    references: Path
    scan_seconds: float
    combine_seconds: float
    read_seconds: float


def run_demo(folder: Path, say: Say, track: Track, plan: ArchivePlan | None = None) -> DemoResult:
    """Run all steps below ``folder``.

    Raises `MissingExtra` without h5py, netCDF4 and matplotlib; `CorruptChunk` when a value differs from HDF5's.
    """
    plan = plan or ArchivePlan()
    archive, maps = folder / "archive", folder / "maps"
    maps.mkdir(parents=True, exist_ok=True)
    with track("making the archive", plan.months) as done:
        files = make_archive(archive, plan, done)
    size = sum(f.stat().st_size for f in files)
    say(f"made      {len(files)} netCDF-4 files, {size / 1e6:.1f} MB, in {archive}")

    started = perf_counter()
    with track("scanning", len(files)) as done:
        scanned = [_scan(f, maps, done) for f in files]
    scan_seconds = perf_counter() - started
    chunks = sum(_chunks(group) for group in scanned)
    say(f"scanned   {chunks:,} chunks in {scan_seconds:.2f} s, one reference map a file in {maps}")

    started = perf_counter()
    combined = combine([str(maps / f"{f.stem}.json") for f in files], concat="time")
    references = folder / "ocean.parquet"
    write(combined, references)
    combine_seconds = perf_counter() - started
    say(f"combined  along time in {combine_seconds:.2f} s: {references}")

    root = open_target(references)
    if not isinstance(root, Group):
        raise BadRequest("the combined map is an array")
    checked, read_seconds = _check(root, files, track)
    values = sum(checked.values())
    say(f"checked   {values:,} values: all equal to what the HDF5 library reads (ours took {read_seconds:.2f} s)")

    facts = (
        f"{chunks:,} chunks found in {scan_seconds:.2f} s and combined in {combine_seconds:.2f} s; "
        f"{values / 1e6:.1f} million values read and found equal to the HDF5 library's. (The planet is made up.)"
    )
    picture = folder / "ocean.png"
    draw_scene(_scene(root, combined, files, checked, facts), picture)
    say(f"drew      {picture}")
    return DemoResult(
        folder, len(files), chunks, size, values, picture, references, scan_seconds, combine_seconds, read_seconds
    )


def _scan(file: Path, maps: Path, done: Callable[[str], None]) -> VirtualGroup:
    group = scan(file, on_refusal="raise")
    write(group, maps / f"{file.stem}.json")
    done(file.name)
    return group


def _chunks(group: VirtualGroup) -> int:
    arrays = [node for _, node in group.walk() if isinstance(node, VirtualArray)]
    return sum(int((array.manifest.load().source >= 0).sum()) for array in arrays)


def _check(root: Group, files: list[Path], track: Track) -> tuple[dict[str, int], float]:
    """Compare every array with the files' own values, put side by side.

    Gives the number of values of each array, and the seconds that our reading took.
    """
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra("demo", "checking the demonstration's values") from error
    checked, seconds = dict[str, int](), 0.0
    arrays = [(path, node) for path, node in root.walk() if isinstance(node, Array)]
    with track("checking", len(arrays)) as done:
        for path, array in arrays:
            started = perf_counter()
            ours = array[...]
            seconds += perf_counter() - started
            theirs = []
            for file in files:
                with h5py.File(file) as native:
                    theirs.append(np.asarray(native[path][()]))
            wanted = np.concatenate(theirs) if array.dims and array.dims[0] == "time" else theirs[0]
            if ours.shape != wanted.shape or ours.dtype != wanted.dtype or not np.array_equal(ours, wanted):
                raise CorruptChunk("the values differ from what the HDF5 library reads", array=path)
            checked[path] = int(np.size(ours))
            done(path)
    return checked, seconds


def _scene(root: Group, combined: VirtualGroup, files: list[Path], checked: dict[str, int], facts: str) -> Scene:
    sst, time = root["sst"], root["time"]
    assert isinstance(sst, Array)
    assert isinstance(time, Array)
    packed: NDArray[Any] = sst[...]
    days: NDArray[np.float64] = time[...]
    cube = np.where(packed == FILL, np.nan, packed * sst.attrs["scale_factor"] + sst.attrs["add_offset"])
    at = min(len(days) - 1, int(np.searchsorted(days, 192)))
    return Scene(
        cube=cube,
        files_at=np.repeat(np.arange(len(files)), len(days) // len(files)),
        at=at,
        when=date(2024, 1, 1) + timedelta(days=float(days[at])),
        files=tuple(_file_maps(combined, files, at)),
        checked=checked,
        title=f"{len(files)} netCDF-4 files, one dataset, not a byte copied",
        facts=facts,
    )


def _file_maps(combined: VirtualGroup, files: list[Path], at: int) -> Iterator[FileMap]:
    """The chunks of the combined arrays by the file that holds them."""
    pieces: dict[str, list[Piece]] = {}
    for path, node in combined.walk():
        if not isinstance(node, VirtualArray):
            continue
        manifest = node.manifest.load()
        first = np.unravel_index(np.arange(manifest.nchunks), manifest.grid_shape)[0] if manifest.grid_shape else [0]
        for k in np.flatnonzero(manifest.source >= 0).tolist():
            name = Path(manifest.sources[int(manifest.source[k])].url).name
            shown = path == "sst" and int(first[k]) == at
            pieces.setdefault(name, []).append(Piece(path, int(manifest.offset[k]), int(manifest.length[k]), shown))
    for file in files:
        yield FileMap(file.name, file.stat().st_size, tuple(pieces.get(file.name, ())))
