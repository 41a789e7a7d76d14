"""Mutate maps, stores' documents and containers: damaged text and archives are trees, or errors of ours.

Members of ZIP files get their checksums anew, so that what lies behind them is reached.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from tests.documents import zarray
from tests.fuzz.chunks import SECONDS
from tests.fuzz.crash import crash_place
from tests.fuzz.run_raster import mutate

import byteatlas as ba
from byteatlas.array.array import Array
from byteatlas.array.group import Group
from byteatlas.errors import ByteatlasError

DMRPP = """<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" xmlns:dmrpp="http://xml.opendap.org/software/dmrpp/1.0.0#"
 dmrpp:href="x.h5" name="x"><Dimension name="t" size="8"/><Group name="g"><Float32 name="a"><Dim name="/t"/>
<Attribute name="units" type="String"><Value>K</Value></Attribute><dmrpp:chunks compressionType="deflate shuffle"
 byteOrder="LE" fillValue="0"><dmrpp:chunkDimensionSizes>4</dmrpp:chunkDimensionSizes>
<dmrpp:chunk offset="0" nBytes="9" chunkPositionInArray="[0]"/><dmrpp:chunk offset="9" nBytes="9"
 chunkPositionInArray="[4]"/></dmrpp:chunks></Float32></Group></Dataset>"""
TOKENS = (
    "0",
    "-1",
    "1e999",
    "9" * 30,
    "null",
    "[]",
    "{}",
    '"',
    "\\u0000",
    "{{",
    "}}",
    "[" * 60,
    "18446744073709551616",
    "é",
)


def a_map() -> bytes:
    """A map in JSON with templates, generated references and inline chunks."""
    entry = {"key": "y/{{i}}", "url": "{{u}}", "offset": "{{i*4}}", "length": "4", "dimensions": {"i": {"stop": 4}}}
    refs = {
        ".zgroup": '{"zarr_format":2}', "x/.zarray": json.dumps(zarray([4], [2])), "x/0": "base64:AAAAAAEAAAA=",
        "x/1": ["{{u}}", 0, 8], "y/.zarray": json.dumps(zarray([4], [1])), "x/.zattrs": '{"_ARRAY_DIMENSIONS":["t"]}',
    }  # fmt: skip
    return json.dumps({"version": 1, "templates": {"u": "data.bin"}, "gen": [entry], "refs": refs}).encode()


def a_zarr_json() -> bytes:
    """An array of Zarr v3."""
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}]
    return json.dumps(
        {
            "zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "int16", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}}, "codecs": codecs,
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "attributes": {"a": [1, 2.5, None]}, "dimension_names": ["y", None],
        }
    ).encode()  # fmt: skip


def netcdf() -> bytes:
    from fixtures.netcdf3.make_netcdf3 import FILES

    return min((make() for make in FILES.values()), key=len)


def a_zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.nc"), netcdf())
        archive.writestr(zipfile.ZipInfo("b/c.nc"), netcdf(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def a_tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a.nc", "d" * 120 + "/b.nc"):
            info = tarfile.TarInfo(name)
            info.size = len(netcdf())
            archive.addfile(info, io.BytesIO(netcdf()))
    return out.getvalue()


def text_mutant(data: bytes, rng: random.Random) -> bytes:
    """Changed bytes, or a token in the place of another."""
    if rng.random() < 0.4:
        return mutate(data, rng)
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, width = rng.randrange(len(out)), rng.choice((0, 1, 3, 10))
        token = rng.choice(TOKENS).encode()
        if rng.random() < 0.4:
            begin = rng.randrange(len(data))
            token = data[begin : begin + rng.choice((4, 20, 90))]
        out[at : at + width] = token
    return bytes(out)


def zip_mutant(data: bytes, rng: random.Random) -> bytes:
    """A mutant whose members have the checksums that their headers say."""
    out = bytearray(mutate(data, rng))
    at = out.find(b"PK\x03\x04")
    while 0 <= at < len(out) - 30 and rng.random() < 0.9:
        method, packed, name, extra = (
            struct.unpack_from("<H", out, at + 8)[0], struct.unpack_from("<I", out, at + 18)[0],
            struct.unpack_from("<H", out, at + 26)[0], struct.unpack_from("<H", out, at + 28)[0],
        )  # fmt: skip
        body = bytes(out[at + 30 + name + extra :][:packed])
        if method == 8:
            try:
                body = zlib.decompressobj(-15).decompress(body, 1 << 20)
            except zlib.error:
                body = b""
        struct.pack_into("<I", out, at + 14, zlib.crc32(body))
        at = out.find(b"PK\x03\x04", at + 4)
    return bytes(out)


def tar_mutant(data: bytes, rng: random.Random) -> bytes:
    """A mutant whose headers have the right checksums."""
    out = bytearray(mutate(data, rng))
    for at in range(0, len(out) - 511, 512):
        if out[at + 257 : at + 262] == b"ustar" and rng.random() < 0.9:
            out[at + 148 : at + 156] = b" " * 8
            out[at + 148 : at + 156] = b"%06o\0 " % sum(out[at : at + 512])
    return bytes(out)


def gzip_mutant(data: bytes, rng: random.Random) -> bytes:
    """A damaged file, well packed; or a damaged package."""
    return gzip.compress(mutate(netcdf(), rng), mtime=0) if rng.random() < 0.5 else mutate(data, rng)


KINDS: Mapping[str, tuple[str, Callable[[], bytes], Callable[[bytes, random.Random], bytes]]] = {
    "json": ("m.json", a_map, text_mutant),
    "zarr.json": ("z/zarr.json", a_zarr_json, text_mutant),
    "dmrpp": ("d.nc.dmrpp", DMRPP.encode, text_mutant),
    "zip": ("a.zip", a_zip, zip_mutant),
    "tar": ("a.tar", a_tar, tar_mutant),
    "gzip": ("a.nc.gz", lambda: gzip.compress(netcdf(), mtime=0), gzip_mutant),
    "parquet": ("p.parquet/x/refs.0.parq", lambda: b"", mutate),
}
"""Name of the file, a sound one, and how it is damaged. Of Parquet the sound ones are made by `prepared`."""


def prepared(kind: str, folder: Path) -> tuple[str, Path, bytes]:
    """What to open, which file is damaged, and its sound bytes."""
    name, make, _ = KINDS[kind]
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    (folder / "data.bin").write_bytes(bytes(range(64)))
    if kind == "parquet":
        (folder / "m.json").write_bytes(a_map())
        ba.write(ba.load(str(folder / "m.json")), str(folder / "p.parquet"), format="parquet")
        return str(folder / "p.parquet"), path, path.read_bytes()
    path.write_bytes(make())
    return str(path.parent if kind == "zarr.json" else path), path, path.read_bytes()


def nodes(root: Array | Group) -> Iterator[Array | Group]:
    """All nodes, up to the first that makes no sense."""
    yield root
    if isinstance(root, Group):
        with suppress(ByteatlasError):
            yield from (node for _, node in root.walk())


def read(url: str, kind: str) -> str:
    """Open and read everything small; the name of the error, or ``read``."""
    try:
        root = ba.open(url) if kind in ("json", "parquet", "zarr.json") else ba.open(ba.scan(url, on_refusal="ignore"))
    except ByteatlasError as error:
        return type(error).__name__
    said = "read"
    for node in nodes(root):
        try:
            if isinstance(node, Array) and node.nbytes is not None and node.nbytes < 1 << 22:
                assert np.asarray(node[...]).shape == node.shape
        except ByteatlasError as error:
            said = type(error).__name__
    return said


def run_case(kind: str, seed: str, where: tuple[str, Path, bytes]) -> str:
    """One mutant, replaced by a new file (an open map may still be read)."""
    url, path, sound = where
    rng = random.Random(seed)
    mutant = KINDS[kind][2](sound, rng)
    path.unlink(missing_ok=True)
    path.write_bytes(mutant)
    return read(url, kind)


def attack(kind: str, seed: int, cases: int, begin: Callable[[int, bytes], None]) -> list[str]:
    """So many mutants; what came out and should not have."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        where = prepared(kind, Path(folder))
        for case in range(cases):
            name = f"{kind} {seed} {case}"
            begin(case, name.encode())
            clock = time.process_time()
            try:
                run_case(kind, name, where)
            except Exception as error:
                found.append(f"{name}: {type(error).__name__} at {crash_place(error)}: {error}")
            if time.process_time() - clock > SECONDS / 2:
                found.append(f"{name}: {time.process_time() - clock:.1f} s")
    return found
