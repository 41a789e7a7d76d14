"""Names of variables that would be one, levels with two surfaces, and labels of ECMWF."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.manifest.model import VirtualGroup
from byteatlas_scanners.grib.cubes import coordinates, names
from byteatlas_scanners.grib.products.edition2 import local_keys, scaled


@pytest.mark.parametrize(
    ("taken", "marks", "wanted"),
    [
        ({}, {}, "t"),
        ({"t": "a"}, {"a": ("x", "y"), "me": ("x", "z")}, "t_z"),
        ({"t": "a"}, {"a": ("x", "y"), "me": ("w", "z")}, "t_w"),
        ({"t": "a", "t_w": "b"}, {"a": ("x", "y"), "me": ("w", "z")}, "t_w_z"),
        ({"t": "a"}, {"a": ("x",), "me": ("x",)}, "t_2"),
        ({"t": "a", "t_2": "b", "t_3": "c"}, {"a": ("x",), "me": ("x",)}, "t_4"),
        ({"t": "a", "t_w": "b", "t_w_2": "b"}, {"a": ("x",), "me": ("w",)}, "t_w_3"),
    ],
)
def test_names_that_are_taken(
    taken: dict[str, str], marks: dict[str, tuple[str, ...]], wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "_marks", lambda cube: marks[cube])
    mine: Any = "me"
    others: Any = taken
    assert names._unique("t", mine, others) == wanted


def levels(values: list[Any], *, dimension: bool = True) -> dict[str, Any]:
    """Values of the arrays that an axis of levels becomes."""
    level = SimpleNamespace(units="m")
    bundle = SimpleNamespace(
        identity=SimpleNamespace(level="layer"), data=[SimpleNamespace(product=SimpleNamespace(level=level))]
    )
    cube: Any = SimpleNamespace(bundle=bundle)
    axis: Any = SimpleNamespace(name="layer", values=values, is_dimension=dimension)
    found = coordinates._level("z", axis, ("z",) if dimension else (), cube)
    opened: Any = ba.open(VirtualGroup(arrays=found))
    return {name: np.asarray(opened[name][...]).tolist() for name in found}


def test_levels_and_layers() -> None:
    assert levels([(1.0, None), (2.0, None)]) == {"z": [1.0, 2.0]}
    assert levels([(0.0, 10.0), (10.0, 40.0)]) == {"z": [0.0, 10.0], "z_bounds": [[0.0, 10.0], [10.0, 40.0]]}
    # the upper surfaces do not tell the layers apart: their middles do
    assert levels([(0.0, 10.0), (0.0, 40.0)]) == {"z": [5.0, 20.0], "z_bounds": [[0.0, 10.0], [0.0, 40.0]]}
    assert levels([(0.0, 10.0), (5.0, None)]) == {"z": [0.0, 5.0], "z_bounds": [[0.0, 10.0], [5.0, 5.0]]}
    assert levels([(0.0, 10.0)], dimension=False) == {"z": 0.0, "z_bounds": [0.0, 10.0]}
    found = levels([None, (5.0, None)])
    assert np.isnan(found["z"][0])
    assert found["z"][1] == 5.0


def test_labels_of_ecmwf() -> None:
    section = bytes(7) + bytes([0, 1, 0, 2, 4, 1]) + b"0001"
    wanted = {"marsClass": 1, "marsType": 2, "marsStream": 1025, "experimentVersionNumber": "0001"}
    assert dict(local_keys(section, 98)) == wanted
    assert dict(local_keys(section + b"more", 98)) == wanted
    assert dict(local_keys(section[:-1], 98)) == {}
    assert dict(local_keys(section, 7)) == {}


@pytest.mark.parametrize(
    ("factor", "value", "wanted"),
    [
        (0, 5, 5.0),
        (1, 5, 0.5),
        (-2, 5, 500.0),
        (None, 5, 5.0),
        (1, None, None),
        (99, 0, 0.0),
        (100, 5, None),
        (-100, 5, None),
    ],
)
def test_scaled_numbers(factor: int | None, value: int | None, wanted: float | None) -> None:
    keys: Any = {"scaleFactorOfX": factor, "scaledValueOfX": value}
    assert scaled(keys, "X") == wanted
