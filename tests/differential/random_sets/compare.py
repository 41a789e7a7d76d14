"""A drawn set, combined and compared with what xarray makes of the same files by the netCDF library."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tests.differential.random_sets.draw import SetSpec, draw
from tests.differential.random_sets.write import write

import byteatlas as ba
from byteatlas.combining import Values
from byteatlas.errors import ByteatlasError

Verdict = str
"""``equal``, ``refused`` (as the draw implies), ``unjustified``, ``wrong`` or ``crash``."""
TIMES = ("time", "valid", "time_bnds")


@dataclass(frozen=True)
class Outcome:
    """What became of one set."""

    seed: int
    verdict: Verdict
    codes: tuple[str, ...] = ()
    detail: str = ""


def try_set(seed: int, folder: Path, forms: tuple[str, ...] = ("", "m.json", "m.parquet")) -> Outcome:
    """Write the set of a seed, combine it, and compare all forms of the result."""
    spec = draw(seed)
    paths = [write(folder / f"{k}.nc", s, spec.mode, k) for k, s in enumerate(spec.files)]
    given = [paths[k] for k in spec.given]
    options = how(spec)
    try:
        plan = ba.plan_combine(given, **options)
        if not plan.ok:
            codes = tuple(sorted({c.code for c in plan.conflicts}))
            verdict = "refused" if set(codes) <= spec.implied else "unjustified"
            return Outcome(seed, verdict, codes, "; ".join(c.sentence() for c in plan.conflicts))
        both = ba.combine(given, **options)
        theirs = Expected(spec, paths)
        for form in forms:
            if form:
                ba.write(both, folder / form)
            if trouble := compare(theirs, both if not form else str(folder / form), spec):
                return Outcome(seed, "wrong", (), f"{form or 'memory'}: {trouble}")
    except ByteatlasError as error:
        return Outcome(seed, "crash", (), f"{type(error).__name__}: {error}")
    except Exception:
        return Outcome(seed, "crash", (), traceback.format_exc(limit=-6))
    return Outcome(seed, "equal")


def how(spec: SetSpec) -> dict[str, Any]:
    """The options that combine a set."""
    match spec.mode:
        case "new":
            return {"concat": "member", "coords": {"member": Values(tuple(spec.given))}}
        case "tiles":
            return {"concat": ("time", "y")}
        case _:
            return {"concat": "time", **({"order": "given"} if all("time" in s.lack for s in spec.files) else {})}


def opened(target: Any, engine: str, group: str | None = None) -> xr.Dataset:
    """A dataset decoded as xarray decodes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return xr.open_dataset(target, engine=engine, group=group, decode_timedelta=False, decode_coords=False).load()


class Expected:
    """The values of each variable by place, as xarray reads each file by the netCDF library."""

    def __init__(self, spec: SetSpec, paths: list[str]) -> None:
        self.spec = spec
        self.files = [opened(p, "netcdf4") for p in paths]
        for ds in self.files:
            ds.close()
        self.deep = {
            k: opened(p, "netcdf4", "deep")
            for k, (p, s) in enumerate(zip(paths, spec.files, strict=True))
            if spec.mode == "groups" and not s.classic
        }

    def variable(self, name: str, group: str | None = None) -> xr.DataArray | None:
        """One variable of all files, joined by xarray; None when no file has it."""
        sets: Mapping[int, xr.Dataset] = dict(enumerate(self.files)) if group is None else self.deep
        have = {k: ds[name] for k, ds in sets.items() if name in ds.variables}
        if not have:
            return None
        first = next(iter(have.values()))
        parts = []
        for k, s in enumerate(self.spec.files):
            found = have[k] if k in have else blank(first, {"time": len(s.hours), "y": len(s.rows)})
            found = xr.DataArray(found.values, dims=found.dims)
            places = {"time": list(s.hours), "y": list(s.rows)}
            parts.append(found.assign_coords({d: places[d] for d in places if d in found.dims}))
        return self.joined(parts, [k in have for k in range(len(parts))])

    def joined(self, parts: list[xr.DataArray], have: list[bool]) -> xr.DataArray:
        dims = {"along": ("time",), "groups": ("time",), "new": ("member",), "tiles": ("time", "y")}[self.spec.mode]
        axes = [d for d in dims if d in parts[0].dims]
        real = [p for p, h in zip(parts, have, strict=True) if h]
        if self.spec.mode == "new":
            return xr.concat([p.drop_vars(list(p.coords)) for p in parts], "member")
        if not axes:
            for p in real[1:]:
                np.testing.assert_array_equal(p.values, real[0].values)
            return real[0]
        if len(axes) == 1:
            distinct = {tuple(p[axes[0]].values.tolist()): p for p in reversed(real)}
            for p, h in zip(parts, have, strict=True):
                if not h:
                    distinct.setdefault(tuple(p[axes[0]].values.tolist()), p)
            return xr.concat(list(distinct.values()), axes[0]).sortby(axes[0])
        whole = xr.combine_by_coords([p.to_dataset(name="v") for p in parts], join="outer")
        assert isinstance(whole, xr.Dataset)
        return whole["v"].transpose(*parts[0].dims)


def blank(like: xr.DataArray, sizes: dict[str, int]) -> xr.DataArray:
    """No data in the place of a variable."""
    shape = [sizes.get(str(d), n) for d, n in like.sizes.items()]
    nothing: Any = "" if like.dtype.kind in "OSU" else np.datetime64("NaT", "ns") if like.dtype.kind == "M" else np.nan
    kind = object if nothing == "" else None
    return xr.DataArray(np.full(shape, nothing, kind), dims=like.dims)


def compare(theirs: Expected, target: Any, spec: SetSpec) -> str | None:
    """What differs, in words; None when nothing does."""
    ours = opened(target, "byteatlas")
    names = dict.fromkeys(n for ds in theirs.files for n in ds.variables)
    for name in names:
        if name not in ours.variables:
            return f"{name!r} is missing"
        want = theirs.variable(str(name))
        if want is not None and (trouble := differs(str(name), ours[name], want, spec)):
            return trouble
    if theirs.deep:
        want = theirs.variable("w", "deep")
        deep = opened(target, "byteatlas", "deep")
        if want is not None and (trouble := differs("w", deep["w"], want, spec)):
            return f"deep: {trouble}"
    return None


def differs(name: str, ours: xr.DataArray, want: xr.DataArray, spec: SetSpec) -> str | None:
    """Compare one variable, whichever way time goes."""
    left, right = plain(ours.values), plain(want.values)
    if "member" in want.dims and "member" not in ours.dims:  # kept once: the same in all files that have it
        right = right[np.array([not blank_row(row) for row in right])]
        left = np.broadcast_to(left, right.shape)
    down = [s.hours for s in spec.files if len(s.hours) > 1]
    if "time" in ours.dims and spec.mode == "along" and down and all(h[0] > h[-1] for h in down):
        right = np.flip(right, ours.dims.index("time"))
    if left.shape != right.shape:
        return f"{name}: shape {left.shape}, not {right.shape}"
    for a, b in zip(left.reshape(-1).tolist(), right.reshape(-1).tolist(), strict=True):
        if a != b and not (a != a and b != b) and not close(a, b, name):
            return f"{name}: {a!r} for {b!r}: {left.tolist()} for {right.tolist()}"
    return None


def close(a: Any, b: Any, name: str) -> bool:
    """Packed float32 numbers are unpacked by xarray in float32, or in float64 where the factor is a NumPy scalar."""
    return name == "a" and isinstance(a, float) and abs(a - b) <= 2e-7 * max(abs(a), abs(b), 4.0)


def blank_row(row: NDArray[Any]) -> bool:
    return row.dtype.kind == "f" and bool(row.size) and bool(np.isnan(row).all())


def plain(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as float64, dates as milliseconds since 1970 (NaN where there is none), text as text."""
    if values.dtype.kind == "M":
        stamps = values.astype("M8[ms]")
        return np.where(np.isnat(stamps), np.nan, stamps.astype("i8").astype("f8"))
    if values.dtype.kind in "iufb":
        return values.astype("f8")
    found = np.empty(values.shape, object)
    for place, value in zip(np.ndindex(*values.shape), values.reshape(-1).tolist(), strict=True):
        found[place] = value.decode() if isinstance(value, bytes) else value
    return found
