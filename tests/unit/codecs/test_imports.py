"""Opening an array loads no library of codecs; decoding loads the one that it needs."""

import subprocess
import sys

LIBRARIES = ("imagecodecs", "numcodecs", "msgpack", "google_crc32c", "ml_dtypes", "pyarrow", "xml.etree.ElementTree")
PREAMBLE = f"""
import importlib, pkgutil, sys
import numpy as np
import byteatlas.codecs, byteatlas.meta
from byteatlas.codecs import build_pipeline
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding

def loaded():
    return [name for name in {LIBRARIES!r} if name in sys.modules]

def chain(*codecs):
    first = CodecSpec("bytes", {{"endian": "little"}})
    return build_pipeline(Encoding((first, *codecs)), from_numpy(np.dtype("i4")), (64, 64), 0)
"""


def loaded_after(program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + program + "\nprint(*loaded())"], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_no_module_of_codecs_loads_a_library() -> None:
    walk = """
for package in (byteatlas.codecs, byteatlas.meta):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
"""
    assert loaded_after(walk) == []


def test_opening_loads_none_and_decoding_one() -> None:
    bind = """
pipelines = [
    chain(CodecSpec("numcodecs.shuffle", {"elementsize": 4}), CodecSpec("numcodecs.zlib", {"level": 1})),
    chain(CodecSpec("blosc", {"cname": "zstd"})),
    chain(CodecSpec("zstd"), CodecSpec("crc32c")),
    chain(CodecSpec("numcodecs.imagecodecs_lzw")),
    chain(CodecSpec("byteatlas.hdf5-bitshuffle", {"itemsize": 4, "compressor": "lz4"})),
]
"""
    assert loaded_after(bind) == []
    use = """
import zlib
data = np.arange(4096, dtype="<i4").reshape(64, 64)
shuffled = data.reshape(-1, 1).view(np.uint8).T.tobytes()
assert (pipelines[0].decode(zlib.compress(shuffled)) == data).all()
"""
    assert loaded_after(bind + use) == ["imagecodecs"]
