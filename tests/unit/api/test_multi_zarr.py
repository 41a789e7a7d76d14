"""Combining with the arguments of kerchunk's ``MultiZarrToZarr``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import byteatlas as ba


@pytest.fixture
def inputs(tmp_path: Path) -> list[dict[str, Any]]:
    """References of four files, of version 1 and 0 by turns."""
    found: list[dict[str, Any]] = []
    for i in range(4):
        with h5py.File(tmp_path / f"run{i}.h5", "w") as f:
            f["time"] = np.array([2.0 * i, 2.0 * i + 1])
            f["time"].attrs["units"] = "days since 2000-01-01"
            f["time"].make_scale()
            for name in ("x", "junk"):
                f[name] = np.arange(2.0) + 10 * i
                f[name].dims[0].attach_scale(f["time"])
        refs: dict[str, Any] = {}
        ba.write(ba.scan(tmp_path / f"run{i}.h5"), refs, format="json" if i % 2 else "json-v0")
        found.append(refs)
    return found


X = [0, 1, 10, 11, 20, 21, 30, 31]


def drop(refs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in refs.items() if not key.startswith("junk/")}


def test_references_are_processed(inputs: list[dict[str, Any]]) -> None:
    def note(refs: dict[str, Any]) -> dict[str, Any]:
        return {**refs, ".zattrs": '{"made": "here"}'}

    opened: Any = ba.open(ba.multi_zarr(inputs, "time", preprocess=drop, postprocess=note))
    assert sorted(opened) == ["time", "x"]
    assert opened["x"][...].tolist() == X
    assert opened.attrs == {"made": "here"}


@pytest.mark.parametrize("kind", ["M8[D]", "M8[s]"])
def test_types_of_coordinates(kind: str, inputs: list[dict[str, Any]]) -> None:
    opened: Any = ba.open(ba.multi_zarr(inputs, "time", {"time": "cf:time"}, coo_dtypes={"time": kind}))
    assert opened["time"].dtype == np.dtype(kind)
    assert (
        opened["time"][...].tolist()
        == np.arange("2000-01-01", "2000-01-09", dtype=kind[:2] + "[D]").astype(kind).tolist()
    )
    small: Any = ba.open(ba.multi_zarr(inputs, "time", coo_dtypes={"time": "i2"}))
    assert (small["time"].dtype, small["time"][-1]) == (np.dtype("i2"), 7)
    hours = ba.CombineOptions(units="hours since 2000-01-01")
    with pytest.raises(ba.BadRequest, match="cannot hold"):
        ba.multi_zarr(inputs, "time", coo_dtypes={"time": "i1"}, options=hours)
    with pytest.raises(ba.NotFound, match="did you mean 'time'"):
        ba.multi_zarr(inputs, "time", coo_dtypes={"tme": "i2"})
    with pytest.raises(ba.BadRequest, match="coo_dtype"):
        ba.multi_zarr(inputs, "time", coo_dtype={"time": "i2"})


def test_small_chunks_are_kept(inputs: list[dict[str, Any]], tmp_path: Path) -> None:
    found = ba.multi_zarr(inputs, "time", inline_threshold=500)
    for path in tmp_path.glob("run*.h5"):
        path.unlink()
    opened: Any = ba.open(found)
    assert opened["x"][...].tolist() == X


@pytest.mark.parametrize("name", [None, "out.json", "out.parquet"])
def test_out_and_append(name: str | None, inputs: list[dict[str, Any]], tmp_path: Path) -> None:
    out: Any = {} if name is None else tmp_path / name
    ba.multi_zarr(inputs[:2], "time", out=out)
    whole = ba.multi_zarr(inputs[2:], "time", out=out, append=True)
    for target in (whole, out):
        opened: Any = ba.open(target)
        assert opened["x"][...].tolist() == X
    with pytest.raises(ba.BadRequest, match="out="):
        ba.multi_zarr(inputs, "time", append=True)


def test_a_dict_is_appended_to(inputs: list[dict[str, Any]]) -> None:
    for target in (dict(inputs[0]), dict(inputs[1])):
        version = "refs" in target
        ba.append(target, inputs[2:], "time")
        opened: Any = ba.open(target)
        assert opened["x"].shape == (6,)
        assert ("refs" in target) == version
