"""Mutate HDF5 files and read them, beside h5py: ``python -m tests.fuzz.run_hdf5 [FOLDER] [--cases N] [--seed S]``.

Every file below 100 kB in FOLDER is mutated (bits flipped, cut off, bytes copied from one place to another). Without a
FOLDER, single fields of structures are changed, and checksums made anew (`tests.fuzz.hdf5_structures`). Each
mutant is read in a forked child with limits of time and memory. What may come out: the values that h5py reads, or a
refusal. Counted and listed: other exceptions than ours, crashes, hangs, values that differ from h5py's, and values
where h5py has an error.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import resource
import select
import signal
import sys
import tempfile
import time
import warnings
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters with h5py)
import numpy as np
from tests.fuzz.crash import crash_place
from tests.fuzz.hdf5_structures import originals

import byteatlas as ba
from byteatlas.array.array import Array
from byteatlas.array.group import Group
from byteatlas.errors import ByteatlasError

LIMIT_BYTES = 100_000
SECONDS = 10  # of CPU time, so that other work on the machine does not count
PATIENCE = 60
MEMORY = 1 << 30


KNOWN = (
    "conversion path",  # opaque types that h5py cannot read from sound files either
    "unusually large # of unused bits",  # a check since 1.14.4 that users may switch off: older files fail it
    "Can't get deprecated info",  # sizes of trees and heaps that no value needs
    "cannot override to smaller itemsize",  # h5py's own types of compounds with odd floats
)
"""Errors of h5py that say nothing about the file's values; and names of members that are not UTF-8."""


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One mutant: mostly a few flipped bits, some truncations, some spliced fields."""
    out = bytearray(data)
    kind = rng.random()
    if kind < 0.55:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    elif kind < 0.65:
        del out[rng.randrange(len(out)) :]
    else:
        width = rng.choice((1, 2, 4, 8, 8, 8, 16))
        if kind < 0.85 and len(out) > 2 * width:
            source, target = (rng.randrange(len(out) - width) for _ in range(2))
            out[target : target + width] = out[source : source + width]
        else:
            value = rng.choice((0, 1, 255, 256, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1, rng.randrange(len(out))))
            at = rng.randrange(len(out))
            out[at : at + width] = value.to_bytes(16, "little")[: min(width, len(out) - at)]
    return bytes(out)


def plain(value: Any) -> Any:
    """A value without NumPy: so that equal values of different types compare equal."""
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value] if value.ndim else plain(value[()])
    if isinstance(value, np.void):
        return [plain(value[n]) for n in value.dtype.names] if value.dtype.names else value.tobytes()
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]  # of a compound, where h5py finds two floats that are alike
    if isinstance(value, bytes):
        return value.rstrip(b"\0").decode("latin-1")
    if isinstance(value, np.generic):
        return plain(value.item()) if not isinstance(value, (np.datetime64, np.timedelta64)) else int(value.view("i8"))
    if isinstance(value, str):
        return value.rstrip("\0").encode("utf-8", "surrogateescape").decode("latin-1")
    return "nan" if value != value else value


def equal(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether two arrays hold the same values in the same shape."""
    if ours.shape != theirs.shape:
        return False
    if (
        ours.dtype == theirs.dtype
        and ours.dtype.kind in "iufcbSV"
        and not ours.dtype.hasobject
        and ours.dtype.names is None
    ):
        return bool(np.array_equal(ours, theirs, equal_nan=ours.dtype.kind in "fc"))
    return bool(plain(ours) == plain(theirs))


def examine(path: str) -> dict[str, Any]:
    """Read a file with both; what happened, as counts and examples."""
    found: dict[str, Any] = {"outcome": "read", "same": 0, "refused": 0, "wrong": [], "lenient": []}
    try:
        virtual = ba.scan(path, on_refusal="ignore")
        root = ba.open(virtual)
    except ByteatlasError as error:
        return found | {"outcome": "refused", "why": str(error)[:200]}
    values: dict[str, np.ndarray] = {}
    found["refused"] = sum(i.status == "refused" for i in virtual.report)
    for where, node in root.walk() if isinstance(root, Group) else ():
        if isinstance(node, Array) and node.nbytes is not None and node.nbytes < MEMORY // 8:
            try:
                values[where] = np.asarray(node[...])
            except ByteatlasError:
                found["refused"] += 1
    return found | {"values": values}


def overlaps(dtype: np.dtype[Any]) -> bool:
    """Whether fields lie over each other: h5py makes floats wider in their place, and spoils its own memory then."""
    if dtype.subdtype:
        return overlaps(dtype.subdtype[0])
    parts = [field[:2] for field in (dtype.fields or {}).values()]
    spans = sorted((place, place + part.itemsize) for part, place in parts)
    return any(end > begin for (_, end), (begin, _) in pairwise(spans)) or any(overlaps(part) for part, _ in parts)


def packed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same fields one behind the other."""
    if dtype.subdtype:
        return np.dtype((packed(dtype.subdtype[0]), dtype.shape))
    if dtype.names is None:
        return dtype
    return np.dtype([(name, packed(dtype[name])) for name in dtype.names])


def read_with_h5py(dataset: h5py.Dataset) -> np.ndarray:
    """All values; where h5py's own type cannot hold them, libhdf5 is asked for them in one that can."""
    if not overlaps(dataset.dtype):
        return np.asarray(dataset[...])
    values = np.empty(dataset.shape, packed(dataset.dtype))
    dataset.id.read(h5py.h5s.ALL, h5py.h5s.ALL, values, h5py.h5t.py_create(values.dtype))
    return values


def find(file: h5py.File, where: str) -> Any:
    """The object at a path; names that are not UTF-8 are Latin-1 for us, and bytes for h5py."""
    return file[where] if where in file else file[where.encode("latin-1")]


def judge(path: str, found: dict[str, Any]) -> dict[str, Any]:
    """Compare with h5py."""
    values = found.pop("values", {})
    try:
        file = h5py.File(path, "r")
    except (OSError, RuntimeError) as error:
        found["lenient"] = [f"{where}: {error}"[:200] for where in values]
        return found
    with file:
        for where, ours in values.items():
            try:
                dataset = find(file, where)
                theirs = read_with_h5py(dataset) if isinstance(dataset, h5py.Dataset) else None
                if theirs is not None and (h5py.check_ref_dtype(dataset.dtype) or dataset.dtype.metadata):
                    found["same"] += ours.shape == dataset.shape
                    continue
            except Exception as error:
                if not any(said in str(error) for said in KNOWN) and not isinstance(error, UnicodeDecodeError):
                    found["lenient"].append(f"{where}: {type(error).__name__}: {error}"[:200])
                continue
            if theirs is not None and equal(ours, np.asarray(theirs)):
                found["same"] += 1
            else:
                found["wrong"].append(where)
    return found


def child(path: str, pipe: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (resource_now() + MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    warnings.simplefilter("ignore")
    os.chdir(Path(path).parent)
    try:
        found = examine(path)
    except BaseException as error:
        place = crash_place(error)
        os.write(
            pipe,
            json.dumps({"outcome": "crash", "why": f"{type(error).__name__}: {error} at {place}"[:300]}).encode()
            + b"\n",
        )
        return
    os.write(pipe, json.dumps({k: v for k, v in found.items() if k != "values"}).encode() + b"\n")
    os.write(pipe, json.dumps(judge(path, found)).encode() + b"\n")


def resource_now() -> int:
    """Address space in use, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def run(path: str) -> dict[str, Any]:
    """Examine one file in a child."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        try:
            child(path, write)
        finally:
            os._exit(0)
    os.close(write)
    data, end = b"", time.monotonic() + PATIENCE
    while True:
        left = end - time.monotonic()
        if left <= 0:
            os.kill(pid, signal.SIGKILL)
            break
        if select.select([read], [], [], left)[0]:
            block = os.read(read, 1 << 16)
            if not block:
                break
            data += block
    os.close(read)
    _, status = os.waitpid(pid, 0)
    lines = [json.loads(line) for line in data.splitlines()]
    if not lines:
        return {"outcome": "hang" if left <= 0 or os.WTERMSIG(status) == signal.SIGXCPU else f"died ({status})"}
    if len(lines) == 1 and lines[0]["outcome"] == "read":
        lines[0]["outcome"] = "h5py died"
    return dict(lines[-1])


def of_bytes(path: Path, rng: random.Random) -> tuple[bytes, str]:
    """A mutant of a file, whatever its bytes are."""
    return mutate(path.read_bytes(), rng), ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="keep the mutants that are of interest in this folder")
    arguments = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        sound = Path(folder) / "sound"
        sound.mkdir()
        if arguments.folder is None:
            makers = {name: original.mutant for name, original in originals(sound).items()}
            files = [sound / f"{name}.h5" for name in makers]
        else:
            files = sorted(f for f in arguments.folder.rglob("*") if f.is_file() and 0 < f.stat().st_size < LIMIT_BYTES)
            files = [f for f in files if b"\x89HDF\r\n\x1a\n" in f.read_bytes()]
            makers = {str(f): partial(of_bytes, f) for f in files}
        for origin in files:  # imports what the formats need, once and not in every child
            with contextlib.suppress(ByteatlasError, FloatingPointError):
                examine(str(origin))
        names = list(makers)
        for case in range(arguments.cases):
            rng = random.Random(f"{arguments.seed}/{case}")
            name = names[case % len(names)]
            path = Path(folder) / "mutant.h5"
            data, said = makers[name](rng)
            path.write_bytes(data)
            found = run(str(path))
            outcome = found["outcome"]
            for kind in ("wrong", "lenient"):
                if found.get(kind):
                    counts[f"cases with {kind} values"] += 1
                    outcome += f", {kind}: {found[kind][:2]}"
            counts[found["outcome"]] += 1
            counts["datasets same"] += found.get("same", 0)
            counts["datasets refused"] += found.get("refused", 0)
            if found["outcome"] not in ("read", "refused") or found.get("wrong") or found.get("lenient"):
                print(f"case {case} {Path(name).name}: {outcome} {found.get('why', '')} {said}", flush=True)
                if arguments.keep:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    (arguments.keep / f"{case}_{Path(name).name}").write_bytes(path.read_bytes())
    print(dict(counts))
    return int(
        any(counts[k] for k in counts if k in ("crash", "hang", "cases with wrong values") or k.startswith("died"))
    )


if __name__ == "__main__":
    sys.exit(main())
