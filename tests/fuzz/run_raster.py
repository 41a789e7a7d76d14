"""Mutate netCDF-3, TIFF, GRIB, FITS and HDF4 fixtures: ``python -m tests.fuzz.run_raster FORMAT [--cases N]``.

Each mutant is scanned and all its arrays of moderate size are read. What may come out: values, or a `ByteatlasError`.
Counted and listed are other exceptions, hangs and crashes (a batch of mutants runs in a forked child), and values that
differ from netCDF4-python's, astropy's and pyhdf's where both read something.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import imagecodecs
import numpy as np
from fixtures.fits.make_fits import FILES as FITS
from fixtures.hdf4 import make_hdf4
from fixtures.netcdf3.make_netcdf3 import FILES as NETCDF3
from fixtures.tiff.make_tiff import FILES as TIFF
from fixtures.tiff.make_tiff import ramp, tifffile_bytes
from fixtures.tiff.raw_tiff import LONG, SHORT, Raw, gray, write
from tests.fuzz.crash import crash_place
from tests.fuzz.pyhdf_oracle import differs_from_pyhdf
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.array.array import Array
from byteatlas.errors import ByteatlasError
from byteatlas.io.open import open_source
from byteatlas.verifying.compare import first_difference
from byteatlas.verifying.native.fits import open_fits

MOST_BYTES = 16 << 20
SECONDS = 10
MEMORY = 4 << 30
BATCH = 100
EXTREMES = (0, 1, 2, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)

COLOURS = gray(30, 22, compression=5, photometric=6, samples=3) | {258: (SHORT, [8] * 3), 530: (SHORT, [2, 2])}
OLD_JPEG = {259: (SHORT, [6]), 513: (LONG, [8]), 514: (LONG, [400])}
LUV = gray(10, 3, 16, compression=34676, photometric=32845, samples=3, format=2) | {258: (SHORT, [16] * 3)}
LUMINANCE = {258: (SHORT, [16]), 262: (SHORT, [32844]), 277: (SHORT, [1])}


def jpeg() -> bytes:
    """A JPEG stream in YCbCr with the size of `COLOURS`."""
    return bytes(imagecodecs.jpeg8_encode(ramp((22, 30, 3), "u1"), subsampling="420", outcolorspace="YCBCR"))


MORE_TIFF: dict[str, Callable[[], bytes]] = {
    "jpeg.tif": lambda: tifffile_bytes(ramp((32, 32, 3), "u1"), tile=(16, 16), photometric="rgb", compression="jpeg"),
    "lzw_pred.tif": lambda: tifffile_bytes(ramp((20, 30)), rowsperstrip=7, compression="lzw", predictor=2),
    "packbits.tif": lambda: tifffile_bytes(ramp((20, 30), "u1"), rowsperstrip=7, compression="packbits"),
    "webp.tif": lambda: tifffile_bytes(ramp((32, 32, 3), "u1"), tile=(16, 16), photometric="rgb", compression="webp"),
    "zstd_fp.tif": lambda: tifffile_bytes(ramp((32, 32), "f4"), tile=(16, 16), compression="zstd", predictor=3),
    "jp2.tif": lambda: tifffile_bytes(ramp((32, 32), "u1"), tile=(16, 16), compression="jpeg2000"),
    "png.tif": lambda: tifffile_bytes(ramp((32, 32), "u1"), tile=(16, 16), compression="png"),
    "lerc.tif": lambda: tifffile_bytes(ramp((32, 32), "f4"), tile=(16, 16), compression="lerc"),
    "units.tif": lambda: write([Raw(COLOURS, [imagecodecs.lzw_encode(bytes(ramp((11 * 15, 6), "u1")))])]),
    "old_jpeg.tif": lambda: write([Raw(COLOURS | OLD_JPEG, [jpeg()])]),
    "luv.tif": lambda: write([Raw(LUV, [b"\x84\x21\x04\x01\x02\x03\x04" * 12])]),
    "luminance.tif": lambda: write([Raw(LUV | LUMINANCE, [b"\x84\x21\x04\x01\x02\x03\x04" * 6])]),
    "thunder.tif": lambda: write([Raw(gray(12, 2, 4, compression=32809), [bytes(range(192, 204)) * 2])]),
}


def seeds(name: str) -> list[bytes]:
    """The files that mutants are made from."""
    if name == "grib":
        return [path.read_bytes() for path in sorted(FIXTURES.glob("grib/*.grib*")) if path.suffix != ".idx"]
    if name == "hdf4":
        with tempfile.TemporaryDirectory() as folder:
            makers = (make_hdf4.small, make_hdf4.tables, make_hdf4.old_file, make_hdf4.images)
            return [make(Path(folder)).read_bytes() for make in makers]
    files = {"netcdf3": NETCDF3, "fits": FITS, "tiff": {**TIFF, **MORE_TIFF}}[name]
    return [make() for make in files.values()]


def near_heads(data: bytes, rng: random.Random) -> int:
    """A place in the sections of one of the messages of a GRIB file."""
    begin = data.rfind(b"GRIB", 0, rng.randrange(len(data)) + 4)
    return max(begin, 0) + rng.randrange(250)


def mutate(data: bytes, rng: random.Random, name: str = "tiff") -> bytes:
    """One mutant. Most changes fall into the structures, which are at the beginning or at the end."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        if not out:
            break
        at = rng.choice(
            (rng.randrange(len(out)), rng.randrange(min(len(out), 600)), -rng.randrange(min(len(out), 300)) - 1)
        )
        if name == "grib" and rng.random() < 0.8:
            at = near_heads(data, rng)
        at %= len(out)
        match rng.randrange(6):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at] = rng.randrange(256)
            case 2:
                width, order = rng.choice((2, 4, 8)), rng.choice(("little", "big"))
                value = rng.choice((*EXTREMES, rng.randrange(2 * len(out)))) % 2 ** (8 * width)
                out[at : at + width] = value.to_bytes(width, order)
            case 3:
                del out[at:]
            case 4:
                source, width = rng.randrange(len(out)), rng.choice((2, 4, 12, 20))
                out[at : at + width] = out[source : source + width]
            case 5:
                out[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 12))))
    return bytes(out)


def read_all(file: Path) -> tuple[dict[str, np.ndarray], str]:
    """Arrays of moderate size by path, and the name of the file's own error or of the last array's."""
    found: dict[str, np.ndarray] = {}
    said = "read"
    try:
        virtual = ba.scan(str(file), on_refusal="ignore")
        root = ba.open(virtual)
    except ByteatlasError as error:
        return found, type(error).__name__
    for item in virtual.report:
        if item.status == "refused":
            said = f"refused: {item.reason}"
            continue
        try:
            node = root[item.path]
            if isinstance(node, Array) and node.nbytes <= MOST_BYTES:
                values = found[item.path] = np.asarray(node[...])
                assert values.shape == node.shape
        except ByteatlasError as error:
            said = type(error).__name__
    return found, said


def differs_from_netcdf4(file: Path, found: dict[str, np.ndarray]) -> str | None:
    """The first variable that netCDF4 reads with other values, or None."""
    import netCDF4

    try:
        with netCDF4.Dataset(file) as data:
            data.set_auto_maskandscale(False)
            data.set_auto_chartostring(False)
            for name, values in found.items():
                if name in data.variables and data[name].size < MOST_BYTES:
                    expected = np.asarray(data[name][...])
                    if expected.shape == values.shape and expected.tobytes() != values.tobytes():
                        return name
    except (OSError, RuntimeError, MemoryError, IndexError, ValueError, AttributeError, UnicodeDecodeError):
        return None
    return None


def differs_from_astropy(file: Path, found: dict[str, np.ndarray]) -> str | None:
    """The first array that astropy reads with other values, or None."""
    places = {item.path: item.locators for item in ba.scan(str(file), on_refusal="ignore").report}
    try:
        with open_fits(open_source(str(file))) as native:
            units = [int(place.split("/")[1]) for there in places.values() for place in there]
            if native.array("", (f"hdu/{max(units)}",)) is None:
                return None  # it takes two units for one when something stands behind END, and numbers the rest anew
            for name, values in found.items():
                array = native.array(name, places[name])
                if array is not None and first_difference(values, array.read(())) is not None:
                    return name
    except Exception:  # it is not astropy that is tested: whatever it raises, it does not answer
        return None
    return None


class TookTooLong(BaseException):
    """A mutant was not read in time."""


def _alarm(signum: int, frame: FrameType | None) -> None:
    raise TookTooLong


def run_case(name: str, data: bytes, file: Path) -> str:
    """What happened to one mutant; a fault begins with ``FAULT``."""
    file.write_bytes(data)
    signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(SECONDS)
    try:
        found, said = read_all(file)
        signal.alarm(0)
        if name == "netcdf3" and found:
            wrong = differs_from_netcdf4(file, found)
            if wrong is not None:
                return f"FAULT other values than netCDF4: {wrong}"
        if name == "fits" and found:
            wrong = differs_from_astropy(file, found)
            if wrong is not None:
                return f"FAULT other values than astropy: {wrong}"
        if name == "hdf4" and found:
            wrong = differs_from_pyhdf(file, found)
            if wrong is not None:
                return f"FAULT other values than pyhdf: {wrong}"
        return said
    except TookTooLong:
        return "FAULT timeout"
    except Exception as error:  # whatever it is, it is a fault
        signal.alarm(0)
        place = crash_place(error)
        return f"FAULT {type(error).__name__}: {str(error)[:100]} at {place}"
    finally:
        file.unlink()  # never written again: a source may still map it


def mutants(name: str, seed: int, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Mutants by number: the same for the same seed."""
    originals = seeds(name)
    for number in range(start, stop):
        rng = random.Random(f"{seed}/{number}")
        yield number, mutate(rng.choice(originals), rng, name)


def run_batch(name: str, seed: int, start: int, stop: int, folder: Path) -> list[tuple[int, str]]:
    """Mutants in a forked child; a crash is the fault of the one that was under way."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with os.fdopen(write_end, "w") as out:
            for number, data in mutants(name, seed, start, stop):
                print(json.dumps([number, "begin"]), file=out, flush=True)
                print(json.dumps([number, run_case(name, data, folder / str(number))]), file=out, flush=True)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as lines:
        results = [json.loads(line) for line in lines]
    _, status = os.waitpid(child, 0)
    done = [(number, said) for number, said in results if said != "begin"]
    if status and len(done) < stop - start:
        number = results[-1][0] if results else start
        done.append((number, f"FAULT crash (wait status {status})"))
        if number + 1 < stop:
            done += run_batch(name, seed, number + 1, stop, folder)
    return done


def run(name: str, cases: int, seed: int, keep: Path | None = None) -> collections.Counter[str]:
    """Counts by outcome; faulty mutants are written to ``keep``."""
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, cases, BATCH):
            for number, said in run_batch(name, seed, start, min(cases, start + BATCH), Path(folder)):
                counts[said] += 1
                if said.startswith("FAULT"):
                    print(number, said, file=sys.stderr)
                    if keep is not None:
                        ((_, data),) = mutants(name, seed, number, number + 1)
                        (keep / f"{name}-{seed}-{number}").write_bytes(data)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("format", choices=["netcdf3", "tiff", "grib", "fits", "hdf4"])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    counts = run(options.format, options.cases, options.seed, options.keep)
    for said, n in counts.most_common():
        print(f"{n:7d} {said}")
    sys.exit(any(said.startswith("FAULT") for said in counts))


if __name__ == "__main__":
    main()
