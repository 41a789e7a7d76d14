"""A part of xarray's own backend tests, with this library's engine doing the reading.

The tests of the installed release write with xarray's engines; what they open comes from ours. Those that cannot pass
are in `KNOWN`, each with the reason that docs/status/xarray.md gives. ``BYTEATLAS_XARRAY_TESTS=all`` runs all classes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest

xarray = pytest.importorskip("xarray")
for needed in ("netCDF4", "h5netcdf", "zarr", "dask"):
    pytest.importorskip(needed)
api = pytest.importorskip("xarray.backends.api")
upstream = pytest.importorskip("xarray.tests.test_backends")
conftest = pytest.importorskip("xarray.tests.conftest")
xarray.set_options(warn_for_unclosed_files=False)  # xarray.tests turns it on, for all tests that come after it
default_zarr_format, use_dask, time_unit = upstream.default_zarr_format, conftest.use_dask, conftest.time_unit

KNOWN: Mapping[str, str] = {
    "test_encoding_unlimited_dims": "unlimited",
    "test_encoding_enum__no_fill_value": "enum",
    "test_encoding_enum__multiple_variable_with_enum": "enum",
    "test_encoding_enum__error_multiple_variable_with_changing_enum": "enum",
    "test_byte_attrs": "bytes",
    "test_compression_encoding": "szip",
    "test_read_non_consolidated_warning": "warning",
    "test_phony_dims_warning": "warning",
    "test_decode_utf8_warning": "warning",
    "test_zarr_fill_value_setting": "v2-fill",
    "test_load_async": "async",
}
"""Tests by name -> the reason's name in docs/status/xarray.md."""
OTHERS = (None, "netcdf4", "h5netcdf", "scipy", "zarr")
ONLY_THEIRS = (
    "mode",
    "consolidated",
    "zarr_format",
    "format",
    "lock",
    "phony_dims",
    "decode_vlen_strings",
    "auto_complex",
)
ALL = (
    "TestNetCDF4Data",
    "TestNetCDF4ViaDaskData",
    "TestH5NetCDFData",
    "TestH5NetCDFViaDaskData",
    "TestNetCDF3ViaNetCDF4Data",
    "TestNetCDF4ClassicViaH5NetCDFData",
    "TestGenericNetCDFData",
    "TestZarrDirectoryStore",
    "TestZarrWriteEmpty",
)
FEW = {
    "TestNetCDF4Data": (
        "test_roundtrip_test_data test_open_group test_open_subgroup test_write_groups test_compound_encoding "
        "test_encoding_kwarg test_encoding_chunksizes test_encoding_chunksizes_unlimited test_default_fill_value "
        "test_dump_and_open_encodings test_array_type_after_indexing test_variable_len_strings test_mask_and_scale "
        "test_roundtrip_string_with_fill_value_vlen test_zero_dimensional_variable test_dropna test_vectorized_indexing"
    ),
    "TestZarrDirectoryStore": (
        "test_roundtrip_test_data test_with_chunkstore test_open_group test_compressor_encoding test_group "
        "test_encoding_kwarg test_chunk_encoding test_zarr_fill_value_in_encoding_on_read "
        "test_array_type_after_indexing "
        "test_roundtrip_consolidated test_write_persistence_modes test_drop_encoding test_hidden_zarr_keys"
    ),
}


def read_by_us(real: Callable[..., Any]) -> Callable[..., Any]:
    """``open_dataset`` that opens files with our engine, whichever of xarray's own was asked for."""

    def call(*given: Any, **options: Any) -> Any:
        target = options.pop("filename_or_obj") if "filename_or_obj" in options else given[0]
        there = isinstance(target, (str, os.PathLike)) and os.path.exists(target)  # noqa: PTH110
        if there and options.get("engine") in OTHERS:
            options.update(options.pop("backend_kwargs", None) or {})
            options = {name: value for name, value in options.items() if name not in ONLY_THEIRS}
            options["engine"] = "byteatlas"
        return real(target, *given[1:], **options)

    return call


class ReadByUs:
    """Mixed into a class of xarray's tests."""

    @pytest.fixture(autouse=True)
    def ours(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        for mark in request.node.iter_markers("skip_if_param"):  # xarray's own mark, which its conftest reads
            found = request.node.callspec.params if hasattr(request.node, "callspec") else {}
            if any(found.get(name) == value for name, value in mark.kwargs.items() if name in found):
                pytest.skip(mark.kwargs["reason"])
        real = read_by_us(api.open_dataset)
        for place in (api, upstream, xarray):
            monkeypatch.setattr(place, "open_dataset", real)


def _class(name: str, wanted: set[str] | None) -> type:
    base = getattr(upstream, name)
    tests = {test for test in dir(base) if test.startswith("test_")}
    left_out = {test: None for test in tests if test in KNOWN or (wanted is not None and test not in wanted)}
    marks = [pytest.mark.filterwarnings("ignore")]
    return type(name, (ReadByUs, base), {**left_out, "pytestmark": [*getattr(base, "pytestmark", []), *marks]})


if os.environ.get("BYTEATLAS_XARRAY_TESTS") == "all":
    globals().update({name: _class(name, None) for name in ALL})
else:
    globals().update({name: _class(name, set(tests.split())) for name, tests in FEW.items()})
