"""Systems that lack what Linux has: their absence is simulated, and all is done once; paths as Windows has them."""

from __future__ import annotations

import ntpath
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from byteatlas.io import local
from byteatlas.io.urls import join
from byteatlas.manifest.options import relative_to

LACKING = """\
import multiprocessing, multiprocessing.context as context, os, sys
for name in (
    "pread", "preadv", "readv", "pwrite", "fork", "forkpty", "register_at_fork", "sched_getaffinity", "getuid",
    "geteuid", "killpg", "posix_fadvise", "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "setsid",
):
    if hasattr(os, name):
        delattr(os, name)
os.supports_dir_fd = set()
sys.modules["fcntl"] = None
sys.modules["resource"] = None
context._default_context._default_context = context._concrete_contexts["spawn"]
multiprocessing.get_all_start_methods = lambda: ["spawn"]
"""

WORK = """\
import os, sys
import numpy as np
import byteatlas as ba

def main():
    assert not hasattr(os, "pread") and not hasattr(os, "fork")
    from byteatlas.executors.pools import context
    assert context().get_start_method() == "spawn"
    found = ba.scan_many(["0.nc", "1.nc"], executor="processes:2")
    assert not found.failures, found.failures
    for i in range(2):
        ba.write(ba.scan(f"{i}.nc"), f"{i}.json")
    ba.write(ba.combine(["0.json", "1.json"], "time"), "all.parquet")
    done = ba.append("all.parquet", ["2.nc"], "time")
    assert len(done.added) == 1
    values = ba.open("all.parquet")["v"][...]
    assert np.array_equal(values, np.arange(90.0).reshape(9, 10)), values
    assert ba.open("0.nc")["big"][...].sum() == 1 << 20
    ba.copy(ba.open("all.parquet"), "all.zarr")
    assert np.array_equal(ba.open("all.zarr")["v"][...], values)
    ba.copy(ba.open("all.parquet"), "all.zip")
    assert np.array_equal(ba.open("all.zip")["v"][...], values)
    assert ba.verify("0.json").ok
    print("done")

if __name__ == "__main__":
    main()
"""


def test_all_is_done_without_what_only_some_systems_have(tmp_path: Path) -> None:
    for i in range(3):
        with h5py.File(tmp_path / f"{i}.nc", "w") as f:
            f["time"] = np.arange(3) + 3 * i
            f["time"].make_scale("time")
            v = np.arange(30.0).reshape(3, 10) + 30 * i
            f.create_dataset("v", data=v, chunks=(1, 10), compression="gzip")
            f["v"].dims[0].attach_scale(f["time"])
    with h5py.File(tmp_path / "0.nc", "a") as f:
        f["big"] = np.ones(1 << 20, "u1")
    with h5py.File(tmp_path / "1.nc", "a") as f:
        f["big"] = np.ones(1 << 20, "u1")
    with h5py.File(tmp_path / "2.nc", "a") as f:
        f["big"] = np.ones(1 << 20, "u1")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(LACKING)
    (tmp_path / "work.py").write_text(WORK)
    paths = [str(tmp_path / "site"), *(p for p in sys.path if p)]
    done = subprocess.run(
        [sys.executable, "work.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "WINDOWS", True)
    paths = SimpleNamespace(abspath=ntpath.normpath)  # of absolute paths, for which a system is not asked
    monkeypatch.setattr(local, "os", SimpleNamespace(**{**vars(os), "path": paths}))


@pytest.mark.usefixtures("windows")
def test_paths_of_windows() -> None:
    assert local.local_path("file:///C:/data/a%20b.nc") == "C:/data/a b.nc"
    assert local.local_path(r"C:\data\a.nc") == r"C:\data\a.nc"
    assert local.absolute(r"C:\data\.\x\a.nc") == "C:/data/x/a.nc"
    assert local.file_url("C:/data/a b.nc") == "file:///C:/data/a%20b.nc"
    assert local.local_path(local.file_url("C:/data/a b.nc")) == "C:/data/a b.nc"
    assert local.is_absolute("C:/data")
    assert not local.is_absolute("data/C:")


@pytest.mark.usefixtures("windows")
def test_maps_on_windows_lead_to_their_files() -> None:
    assert join("C:/maps/a.json", "C:/data/x.nc") == "C:/data/x.nc"
    assert join("C:/maps/a.json", "../data/x.nc") == "C:/data/x.nc"
    assert relative_to("C:/maps/a.json", "C:/data/x.nc") == "../data/x.nc"
    assert relative_to("C:/maps/a.json", "D:/data/x.nc") == "D:/data/x.nc"


def test_reading_by_position_without_pread(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(range(100)))
    fd = os.open(path, os.O_RDONLY)
    try:
        out = bytearray(10)
        assert local._seek_and_read(fd, 3, 5) == b"\x05\x06\x07"
        assert local._pread_into(fd, memoryview(out), 90) == 10
        assert out == bytes(range(90, 100))
        assert local._seek_and_read(fd, 10, 98) == b"\x62\x63"
    finally:
        os.close(fd)
