"""The codecs: configurations, what they refuse, fields of a message, kerchunk's and gribberish's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.codecs.grib import built, oracle

from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.codecs.grib import fields
from byteatlas.codecs.grib.sections.fingerprint import fingerprint
from byteatlas.errors import ByteatlasError, CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding

SHAPE = (1, 31, 16)


def pipeline(name: str, kind: str = "f8", shape: tuple[int, ...] = SHAPE, **configuration: Any) -> Pipeline:
    return build_pipeline(Encoding((CodecSpec(name, configuration),)), from_numpy(np.dtype(kind)), shape, np.nan)


def sample(edition: int, **keys: Any) -> bytes:
    ec = oracle.eccodes()
    with oracle.handle(f"regular_ll_sfc_grib{edition}", **keys) as made:
        ec.codes_set_values(made, oracle.field_values(496))
        return oracle.message(made)


def two_fields() -> bytes:
    """A message of two fields: sections 4 to 7 come again, with other values."""
    first, second = sample(2), built.run_length()
    place = 16
    while second[place + 4] < 4:
        place += int.from_bytes(second[place : place + 4], "big")
    body = bytearray(first[:-4] + second[place:])
    body[8:16] = len(body).to_bytes(8, "big")
    return bytes(body)


@pytest.mark.parametrize("edition", [1, 2])
def test_a_chunk_is_a_message(edition: int) -> None:
    data = sample(edition)
    wanted = oracle.expected(data).reshape(SHAPE)
    assert np.array_equal(pipeline(f"byteatlas.grib{edition}", field=0).decode(data), wanted)
    out = np.empty(SHAPE, np.float32)
    pipeline(f"byteatlas.grib{edition}", "f4", dtype="float32").decode(data, out)
    assert np.array_equal(out, wanted.astype(np.float32))


def test_fields_of_one_message() -> None:
    data = two_fields()
    assert np.array_equal(
        pipeline("byteatlas.grib2", field=1).decode(data).reshape(-1),
        oracle.expected(built.run_length()),
        equal_nan=True,
    )
    assert np.array_equal(pipeline("byteatlas.grib2").decode(data).reshape(-1), oracle.expected(sample(2)))
    with pytest.raises(CorruptChunk, match="field 2 of a message of 2"):
        pipeline("byteatlas.grib2", field=2).decode(data)


@pytest.mark.parametrize("edition", [1, 2])
def test_another_grid_is_refused(edition: int) -> None:
    data, other = sample(edition), sample(edition, longitudeOfLastGridPointInDegrees=31)
    found = fields.message(data)
    digits = fingerprint(edition, found.fields[0])
    target = pipeline(f"byteatlas.grib{edition}", grid=digits)
    assert target.decode(data).shape == SHAPE
    with pytest.raises(CorruptChunk, match="grid is not that of its array"):
        target.decode(other)


def test_the_other_edition_is_refused() -> None:
    with pytest.raises(CorruptChunk, match="edition 2"):
        pipeline("byteatlas.grib1").decode(sample(2))


def test_vertical_coordinates_are_no_part_of_the_grid() -> None:
    data = sample(1)
    start = 8 + int.from_bytes(data[8:11], "big")
    length = int.from_bytes(data[start : start + 3], "big")
    grid = data[start : start + length]
    more = bytearray((length + 8).to_bytes(3, "big") + grid[3:] + bytes(8))
    more[3], more[4] = 2, 33
    body = bytearray(data[:start] + more + data[start + length :])
    body[4:7] = len(body).to_bytes(3, "big")
    both = [fingerprint(1, fields.message(bytes(d)).fields[0]) for d in (data, body)]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    "configuration",
    [{"field": -1}, {"grid": "12"}, {"grid": "x" * 16}, {"dtype": "<f4"}, {"dtype": "<i4"}, {"rows": 1}, {"other": 1}],
)
def test_configurations_that_are_refused(configuration: dict[str, Any]) -> None:
    with pytest.raises(InvalidMetadata):
        pipeline("byteatlas.grib2", **configuration)


def test_integers_are_no_target() -> None:
    with pytest.raises(InvalidMetadata, match="float32 and float64"):
        pipeline("byteatlas.grib2", "i4")


def test_messages_are_not_written() -> None:
    with pytest.raises(Unsupported, match="only decodes"):
        pipeline("byteatlas.grib2").encode(np.zeros(SHAPE))


def test_rows_to_and_fro() -> None:
    data = sample(2, alternativeRowScanning=1)
    stored = oracle.expected(data).reshape(SHAPE)
    assert np.array_equal(pipeline("byteatlas.grib2", rows="stored").decode(data), stored)
    straight = pipeline("byteatlas.grib2").decode(data)
    assert np.array_equal(straight[:, ::2], stored[:, ::2])
    assert np.array_equal(straight[:, 1::2], stored[:, 1::2, ::-1])


@pytest.mark.parametrize("name", ["grib", "numcodecs.grib"])
@pytest.mark.parametrize("edition", [1, 2])
def test_kerchunk(name: str, edition: int) -> None:
    data = sample(edition)
    found = pipeline(name, var="t", dtype="float64", shape=(31, 16)).decode(data)
    assert np.array_equal(found.reshape(-1), oracle.expected(data))


def test_kerchunk_in_version_2() -> None:
    """There the codec is a filter of the bytes of the elements."""
    data = sample(2)
    chain = (CodecSpec("bytes", {"endian": "little"}), CodecSpec("numcodecs.grib", {"var": "t", "dtype": "float64"}))
    found = build_pipeline(Encoding(chain), from_numpy(np.dtype("f8")), (31, 16), None).decode(data)
    assert np.array_equal(found.reshape(-1), oracle.expected(data))


def test_gribberish() -> None:
    data = sample(2)
    found = pipeline("gribberish", var="t").decode(data)
    assert np.array_equal(found.reshape(-1), oracle.expected(data))
    assert np.array_equal(pipeline("gribberish", north_up=True).decode(data), found)
    upwards = sample(2, jScansPositively=1)
    assert np.array_equal(pipeline("gribberish", north_up=True).decode(upwards), found[:, ::-1])
    with pytest.raises(Unsupported, match="adjust_longitude_range"):
        pipeline("gribberish", adjust_longitude_range=True)


@pytest.mark.parametrize("name", ["grib", "gribberish"])
def test_coordinates_of_foreign_maps(name: str) -> None:
    data = sample(2)
    found = pipeline(name, var="latitude", shape=(31, 16)).decode(data)
    assert np.allclose(found[:, 0], np.linspace(60, 0, 31), atol=1e-12)


def test_mutants_give_errors_or_values() -> None:
    """Every byte of small messages damaged in turn: our errors, or an array of the right shape."""
    rng = np.random.default_rng(4)
    for data in (sample(1), sample(2), built.second_order("general"), built.complex_missing(2, 2), built.run_length()):
        target = pipeline(f"byteatlas.grib{data[7]}")
        for place in rng.integers(0, len(data), 300).tolist():
            mutant = bytearray(data)
            mutant[place] ^= int(rng.integers(1, 256))
            try:
                assert target.decode(bytes(mutant)).shape == SHAPE
            except ByteatlasError:
                continue
