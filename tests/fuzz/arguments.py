"""Sound calls of everything that is public, and what others may put in the place of each argument."""

from __future__ import annotations

import copy
import inspect
import itertools
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.documents import zarray

import byteatlas as ba
from byteatlas.errors import ByteatlasError
from byteatlas.values import replace

WRONG: Mapping[str, Any] = {
    "3": 3, "None": None, "b''": b"", "object": object(), "''": "", "'zsdt'": "zsdt", "-1": -1, "nan": float("nan"),
    "1.5": 1.5, "10**30": 10**30, "True": True, "[]": [], "[3]": [3], "['x']": ["x"], "(-1, -1)": (-1, -1), "{}": {},
    "{'a': 3}": {"a": 3}, "{3: 'a'}": {3: "a"}, "{'a': None}": {"a": None}, "set": {1}, "str": str, "range": range(3),
    "array": np.arange(3), "'\\0'": "\0", "'s3://'": "s3://", "1j": 1j, "inf": float("inf"),
}  # fmt: skip
"""By how it is shown."""
EVERY = 3
"""The suite tries one in so many; ``python -m tests.fuzz.run --only arguments`` tries all."""
Call = tuple[Callable[..., Any], Callable[[], dict[str, Any]]]


def references() -> dict[str, Any]:
    """A map of one array with its values in it."""
    return {
        ".zgroup": '{"zarr_format":2}',
        "x/.zarray": json.dumps(zarray([4], [2])),
        "x/.zattrs": '{"_ARRAY_DIMENSIONS":["t"]}',
        "x/0": "base64:AAAAAAEAAAA=",
        "x/1": "base64:AgAAAAMAAAA=",
    }


def group() -> ba.VirtualGroup:
    """The same as virtual arrays."""
    found = ba.load(references())
    assert isinstance(found, ba.VirtualGroup)
    return found


def calls(folder: Path, file: str) -> dict[str, Call]:
    """A function and its sound arguments, by name. ``file``: a small archive file."""
    number = iter(range(1 << 30))

    def fresh(suffix: str = "") -> str:
        return str(folder / f"{next(number)}{suffix}")

    def written() -> str:
        target = fresh(".json")
        ba.write(group(), target)
        return target

    def store() -> str:
        target = fresh(".zarr")
        ba.copy(group(), target)
        return target

    common: dict[str, Any] = {"access": None, "storage_options": None, "policy": None}
    meta = ba.array_meta([4], "<i4")
    return {
        "scan": (ba.scan, lambda: {
            "url": file, "format": None, "on_refusal": "ignore", "options": None, "side_file": None, "window": None,
            "scanners": None, "progress": None, **common}),
        "scan_many": (ba.scan_many, lambda: {
            "urls": [file], "executor": None, "format": None, "options": None, "progress": None, **common}),
        "load": (ba.load, lambda: {
            "target": references(), "options": None, "absent_parts": None, "branch": None, "tag": None,
            "snapshot": None, **common}),
        "write": (ba.write, lambda: {
            "node": group(), "target": fresh(".json"), "format": None, "options": None, "mode": None, "progress": None,
            **common}),
        "open": (ba.open, lambda: {
            "target": references(), "path": "", "options": None, "absent_parts": None, "branch": None, "tag": None,
            "snapshot": None, **common}),
        "open_array": (ba.open_array, lambda: {"target": references(), "path": "x", "options": None, **common}),
        "open_group": (ba.open_group, lambda: {"target": references(), "path": "", "options": None, **common}),
        "open_writable": (ba.open_writable, lambda: {
            "target": store(), "path": "x", "options": None, "access": None, "storage_options": None}),
        "create_array": (ba.create_array, lambda: {
            "target": fresh(), "path": "a", "meta": meta, "options": None, "access": None, "storage_options": None}),
        "create_group": (ba.create_group, lambda: {
            "target": fresh(), "path": "", "attributes": None, "zarr_format": 3, "access": None,
            "storage_options": None}),
        "array_meta": (ba.array_meta, lambda: {
            "shape": [4], "dtype": "<i4", "chunks": [2], "shards": None, "compression": None, "fill_value": None,
            "dimension_names": None, "attributes": None, "zarr_format": 3}),
        "copy": (ba.copy, lambda: {
            "source": references(), "target": fresh(), "path": "", "options": None, "progress": None, **common}),
        "from_model": (ba.from_model, lambda: {
            "model": ba.to_model(references()), "target": fresh(), "path": "", "zarr_format": None, "overwrite": False,
            "consolidated": False, "access": None, "storage_options": None}),
        "to_model": (ba.to_model, lambda: {"target": references(), "path": "", "depth": None, **common}),
        "combine": (ba.combine, lambda: {
            "inputs": [group(), group()], "concat": "t", "coords": {"t": ba.ByOrder()}, "options": None,
            "progress": None, **common}),
        "plan_combine": (ba.plan_combine, lambda: {
            "inputs": [group(), group()], "concat": "t", "options": None, "progress": None, **common}),
        "prepare_combine": (ba.prepare_combine, lambda: {
            "inputs": [group(), group()], "concat": "t", "options": None, "names": None, "progress": None, **common}),
        "prepare_many": (ba.prepare_many, lambda: {
            "names": [written(), written()], "options": ba.CombineOptions(concat=("t",)), "executor": None,
            "progress": None, "width": 64, **common}),
        "append": (ba.append, lambda: {
            "target": written(), "inputs": [written()], "concat": "t", "options": None, "replace": False,
            "progress": None, **common}),
        "concat": (ba.concat, lambda: {"groups": [group(), group()], "dim": "t", "options": None, **common}),
        "select": (ba.select, lambda: {"group": group(), "region": {"t": slice(0, 2)}, "cut": True, **common}),
        "mask": (ba.mask, lambda: {
            "group": group(), "region": {"t": slice(0, 2)}, "keep_cut": False, "fill": None, **common}),
        "multi_zarr": (ba.multi_zarr, lambda: {
            "path": [references(), references()], "concat_dims": "t", "coo_map": {"t": "INDEX"}, "out": None,
            "append": False, "names": None, "options": None, **common}),
        "by_valid_time": (ba.by_valid_time, lambda: {"group": group(), "at_least": 0.0, **common}),
        "check": (ba.check, lambda: {"target": references(), "look_in": (), **common}),
        "verify": (ba.verify, lambda: {"target": file, "options": None, "progress": None, **common}),
        "report": (ba.report, lambda: {
            "target": references(), "title": None, "concat": (), "looks": False, "progress": None, **common}),
        "stac_item": (ba.stac_item, lambda: {
            "target": references(), "href": None, **common,
            "options": ba.StacOptions(start="2001-01-01T00:00:00Z", bbox=(0.0, 0.0, 1.0, 1.0))}),
        "georeference": (ba.georeference, lambda: {"target": references(), "path": "x", **common}),
        "levels_of": (ba.levels_of, lambda: {"group": ba.open(references())}),
        "from_virtual": (ba.from_virtual, lambda: {"dataset": None}),
        "zarr_store": (ba.zarr_store, lambda: {"target": references(), "normalise": False, "options": None, **common}),
    }  # fmt: skip


def used(kind: type[Any], file: str, folder: Path) -> Callable[[Any], object]:
    """What options of a kind are for, so that what the class takes is tried."""
    number = iter(range(1 << 30))
    uses: Mapping[Any, Callable[[Any], object]] = {
        ba.Access: lambda made: (ba.open(file, access=made), ba.open("memory://nowhere/a.json", access=made)),
        ba.Retry: lambda made: ba.open(file, access=ba.Access(retry=made)),
        ba.Policy: lambda made: ba.open(file, policy=made),
        ba.ReadOptions: lambda made: ba.open_array(references(), "x", options=made)[...],
        ba.ScanOptions: lambda made: ba.scan(file, options=made, on_refusal="ignore"),
        ba.VerifyOptions: lambda made: ba.verify(file, options=made),
        ba.MapWriteOptions: lambda made: ba.write(
            ba.load(references()), str(folder / f"w{next(number)}.parquet"), options=made
        ),
        ba.CopyOptions: lambda made: ba.copy(references(), str(folder / f"c{next(number)}"), options=made),
        ba.LevelOptions: lambda made: ba.copy(
            references(), str(folder / f"l{next(number)}"), options=ba.CopyOptions(levels=made)
        ),
        ba.ArrayWriteOptions: lambda made: ba.copy(
            references(), str(folder / f"a{next(number)}"), options=ba.CopyOptions(write=made)
        ),
        ba.CombineOptions: lambda made: ba.combine(
            [group()] * 2, options=made if made.concat else replace(made, concat=("t",))
        ),
        ba.StacOptions: lambda made: ba.stac_item(references(), options=made),
        ba.MultiZarrOptions: lambda made: ba.multi_zarr(
            [references()] * 2, "t", {"t": "INDEX"}, **{name: getattr(made, name) for name in MULTI}
        ),
        ba.FromAttribute: lambda made: _coordinates(made),
        ba.FromName: lambda made: _coordinates(made),
        ba.FromVariable: lambda made: _coordinates(made),
        ba.Compute: lambda made: _coordinates(made),
        ba.Values: lambda made: _coordinates(made),
    }
    return uses[kind]


def _coordinates(source: Any) -> object:
    return ba.combine([group()] * 2, "t", coords={"t": source})


MULTI = ("coo_dtypes", "identical_dims", "preprocess", "postprocess", "inline_threshold")
OPTIONS: Mapping[Any, Mapping[str, Any]] = {
    ba.Access: {}, ba.Retry: {}, ba.Policy: {}, ba.ReadOptions: {}, ba.ScanOptions: {}, ba.VerifyOptions: {},
    ba.MapWriteOptions: {}, ba.CopyOptions: {}, ba.LevelOptions: {"factors": (2,)}, ba.ArrayWriteOptions: {},
    ba.StacOptions: {"start": "2001-01-01T00:00:00Z", "bbox": (0.0, 0.0, 1.0, 1.0)},
    ba.CombineOptions: {"concat": ("t",), "coords": {"t": ba.ByOrder()}}, ba.MultiZarrOptions: {},
    ba.FromAttribute: {"name": "a"}, ba.FromName: {"pattern": re.compile("a(.)")}, ba.FromVariable: {},
    ba.Compute: {"function": lambda n, name, group: n}, ba.Values: {"values": (1, 2)},
}  # fmt: skip
"""Classes of options that callers make, and what makes a sound one."""


RUN_BY_US = {"Compute(function=str)"}
"""What callers hand in to be called: what it raises is theirs."""


def fault(act: Callable[[], object]) -> str | None:
    """What came out that should not have: an error of others, or one of ours whose message is no one clear line."""
    try:
        act()
    except ByteatlasError as error:
        text = str(error)
        if not text.strip() or "\n" in text.strip() or " object at 0x" in text or "<class" in text:
            return f"unclear: {text[:200]!r}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def some(values: Mapping[str, Any], name: str, every: int) -> Iterator[tuple[str, Any]]:
    """One in so many of the values, others for each name and the same in each run."""
    first = zlib.crc32(name.encode()) % every
    return itertools.islice(values.items(), first, None, every)


def call_faults(name: str, call: Call, every: int = 1) -> Iterator[tuple[str, str]]:
    """(call, what came out) of each argument that others put in the place of a sound one."""
    function, sound = call
    for parameter in sound():
        for shown, value in some(WRONG, name + parameter, every):
            arguments = sound()
            arguments[parameter] = copy.copy(value)
            if found := fault(partial(function, **arguments)):
                yield f"{name}({parameter}={shown})", found


def option_faults(kind: type[Any], use: Callable[[Any], object], every: int = 1) -> Iterator[tuple[str, str]]:
    for parameter in inspect.signature(kind).parameters:
        for shown, value in some(WRONG, kind.__name__ + parameter, every):
            arguments = {**OPTIONS[kind], parameter: value}
            case = f"{kind.__name__}({parameter}={shown})"
            if case not in RUN_BY_US and (found := fault(partial(_use, kind, arguments, use))):
                yield case, found


def _use(kind: type[Any], arguments: Mapping[str, Any], use: Callable[[Any], object]) -> object:
    return use(kind(**arguments))
