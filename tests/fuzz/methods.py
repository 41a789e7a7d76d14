"""Sound calls of the methods of arrays, groups and virtual nodes, for what others may put in the place of arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.arguments import WRONG, Call, fault, group, references, some

import byteatlas as ba
from byteatlas.values import replace

INDICES: dict[str, Any] = {
    **WRONG, "(0, 0)": (0, 0), "99": 99, "-99": -99, "...,...": (..., ...), "::0": slice(None, None, 0),
    "::'a'": slice("a"), "::1.5": slice(1.5), "[0.5]": [0.5], "[99]": [99], "[[0], [1, 2]]": [[0], [1, 2]],
    "texts": np.array(["a"]), "booleans": np.array([True]), "all booleans": np.ones((4, 4), bool),
    "objects": np.array([object()]), "dates": np.array(["2001-01-01"], "M8[D]"), "10**30:": slice(10**30, None),
    "set of slices": {1: slice(None)}, "nested": ((0,),), "uint64": np.uint64(1 << 63), "0-d": np.array(0.5),
    "'x'": "x", "[slice]": [slice(None)], "many": (0,) * 70, "complex": [1j],
}  # fmt: skip
"""What may stand between brackets, by how it is shown: NumPy takes some of it."""
VALUES: dict[str, Any] = {**WRONG, "too many": np.zeros(9), "ragged": [[1], [1, 2]], "dict": {"x": 1}, "dates": "now"}


def subjects(folder: Path) -> dict[str, Callable[[], Any]]:
    """What has the methods, made anew for each call where calls change it."""
    number = iter(range(1 << 30))

    def writable() -> ba.WritableArray:
        place = folder / f"m{next(number)}"
        return ba.create_array(place, "", ba.array_meta([4], "<i4", chunks=[2]))

    array, opened = ba.open_array(references(), "x"), ba.open_group(references())
    return {"array": lambda: array, "group": lambda: opened, "writable": writable, "virtual": group}


def calls(folder: Path) -> dict[str, Call]:
    """A method, or an operator, and its sound arguments, by name."""
    made = subjects(folder)
    array, opened, writable, virtual = (made[name] for name in ("array", "group", "writable", "virtual"))
    where = {"selection": slice(0, 2), "out": None}

    def of(subject: Callable[[], Any], method: str) -> Callable[..., object]:
        return lambda **given: getattr(subject(), method)(**given)

    def operator(subject: Callable[[], Any], *path: str) -> Callable[..., object]:
        def act(**given: Any) -> object:
            found = subject()
            for name in path:
                found = getattr(found, name)
            if "values" in given:
                found[given["selection"]] = given["values"]
                return None
            return found[given["selection"]]

        return act

    written: dict[str, Any] = {"selection": slice(0, 2), "values": 3}
    return {
        "array[]": (operator(array), lambda: {"selection": 0}),
        **{f"{way}[]": (operator(array, way), lambda: {"selection": 0}) for way in ("oindex", "vindex", "blocks")},
        **{f"Array.{name}": (of(array, name), lambda: where) for name in ("read", "read_blocks", "read_orthogonal")},
        "Array.read_points": (of(array, "read_points"), lambda: {"selection": [0, 1], "out": None}),
        "Array.with_options": (of(array, "with_options"), lambda: {"options": ba.ReadOptions()}),
        "writable[]": (operator(writable), lambda: {"selection": 0}),
        "writable[]=": (operator(writable), lambda: written),
        "WritableArray.append": (of(writable, "append"), lambda: {"values": [1], "axis": 0}),
        "WritableArray.resize": (of(writable, "resize"), lambda: {"shape": (6,)}),
        "WritableArray.set_orthogonal": (of(writable, "set_orthogonal"), lambda: written),
        "WritableArray.with_options": (of(writable, "with_options"), lambda: {"options": ba.ReadOptions()}),
        "group[]": (operator(opened), lambda: {"selection": "x"}),
        "Group.array": (of(opened, "array"), lambda: {"path": "x"}),
        "Group.group": (of(opened, "group"), lambda: {"path": ""}),
        "virtual[]": (operator(virtual), lambda: {"selection": "x"}),
        "in group": (lambda path: path in opened(), lambda: {"path": "x"}),
        "in virtual": (lambda path: path in virtual(), lambda: {"path": "x"}),
        "Group.get": (of(opened, "get"), lambda: {"key": "x"}),
    }  # fmt: skip


def tried(parameter: str) -> Mapping[str, Any]:
    """What is put in the place of an argument."""
    if parameter == "selection":
        return INDICES
    return VALUES if parameter == "values" else WRONG


def faults(name: str, call: Call, every: int = 1) -> Iterator[tuple[str, str]]:
    """(call, what came out) of each argument that others put in the place of a sound one."""
    function, sound = call
    for parameter in sound():
        for shown, value in some(tried(parameter), name + parameter, every):
            if found := fault(partial(function, **{**sound(), parameter: value})):
                yield f"{name}({parameter}={shown})", found


STORAGE = (
    "anon", "client_kwargs", "config_kwargs", "headers", "region", "region_name", "endpoint_url", "key", "secret",
    "token", "profile", "account_name", "account_key", "username", "password", "timeout", "requester_pays", "protocol",
    "auto_mkdir", "skip_instance_cache", "use_listings_cache", "backend", "default_block_size", "verify", "ssl",
)  # fmt: skip
"""Options that servers' file systems know: what is wrong with one shows when it is used."""
NOWHERE = {"endpoint_url": "http://127.0.0.1:9", "key": "a", "secret": "b", "region": "x"}
PLACES: dict[str, tuple[str, ba.Access]] = {
    "http": ("http://127.0.0.1:9/a.nc", ba.Access()),
    "memory": ("memory://nowhere/a.json", ba.Access()),
    "obstore": ("s3://b/a.nc", ba.Access(NOWHERE, backend="obstore")),
    "s3fs": ("s3://b/a.nc", ba.Access(NOWHERE, backend="fsspec")),
}
"""Where nothing is, each by another back end: only what is handed in decides."""


def storage_faults(place: str, every: int = 1) -> Iterator[tuple[str, str]]:
    """(option, what came out) of wrong contents of ``storage_options``."""
    url, sound = PLACES[place]
    quick = replace(sound, retry=ba.Retry(tries=1, idle=1.0))
    for name in STORAGE:
        for shown, value in some(WRONG, place + name, every):
            options = {**quick.storage_options, name: value}

            def act(options: Any = options) -> object:
                return ba.open(url, access=ba.Access(options, backend=sound.backend, retry=quick.retry))

            if found := fault(act):
                yield f"{place}: {name}={shown}", found
