"""Slips of callers: each is a `BadRequest` that says what was expected, and none destroys a file."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.cli.app import run
from byteatlas.types import ByteRange

h5py = pytest.importorskip("h5py")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(6.0)
    return path


def closed(path: Path) -> Any:
    file = path.open("rb")
    file.close()
    return file


any_ba: Any = ba  # what a type checker would find is tried on purpose
SLIPS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "options of another verb": ("ScanOptions was expected", lambda p: any_ba.scan(p, options=ba.ReadOptions())),
    "options as a dict": ("ReadOptions was expected", lambda p: any_ba.open(p, options={"threads": 2})),
    "copy options": ("CopyOptions was expected", lambda p: any_ba.copy(p, p.parent / "o.zarr", options={})),
    "verify options": ("VerifyOptions was expected", lambda p: any_ba.verify(p, options={})),
    "write options": ("MapWriteOptions was", lambda p: any_ba.write(ba.scan(p), p.parent / "o.json", options={})),
    "combine options": ("CombineOptions was expected", lambda p: any_ba.combine([p], options={})),
    "on_refusal": ("known: warn, raise, ignore", lambda p: any_ba.scan(p, on_refusal="wran")),
    "a scanner that is none": (
        "known: .*hdf5",
        lambda p: ba.scan(p, options=ba.ScanOptions(extra={"hdf": {"a": 1}})),
    ),
    "names to concat": ("scan or load", lambda p: any_ba.concat([str(p)], "x")),
    "a name to concat": ("groups is a list", lambda p: any_ba.concat(str(p), "x")),
    "a name as others": ("others is a list", lambda p: any_ba.scan(p).concat(str(p), "x")),
    "a number to concat": ("groups is int", lambda p: any_ba.concat(5, "x")),
    "no dimension": ("dim is NoneType", lambda p: any_ba.concat([ba.scan(p)], None)),
    "an empty dimension": ("dim is empty", lambda p: any_ba.scan(p).concat([], "")),
    "a number as dimension": ("concat is int; a name", lambda p: any_ba.combine([p], 5)),
    "nothing as dimension": ("concat is NoneType", lambda p: any_ba.combine([p], None)),
    "bytes as dimension": ("concat is bytes", lambda p: any_ba.plan_combine([p], b"x")),
    "dimensions that are no text": ("concat is list", lambda p: any_ba.CombineOptions(concat=[1])),
    "an empty name": ("empty name", lambda p: any_ba.combine([p], "")),
    "a region": ("region is int; a dict", lambda p: any_ba.select(ba.scan(p), 5)),
    "a region of a mask": ("region is ndarray", lambda p: any_ba.scan(p).mask(np.arange(3))),
    "a target to append to": ("int is no path", lambda p: any_ba.append(5, [p], "x")),
    "a store without a place": ("names no place", lambda p: any_ba.copy(p, "s3://")),
    "a target with a zero": ("NUL", lambda p: any_ba.copy(p, f"{p}\0x")),
    "a name to select": ("scan or load", lambda p: any_ba.select(str(p), {"x": 1})),
    "a name to write": ("scan or load", lambda p: any_ba.write(str(p), p.parent / "o.json")),
    "nowhere to write": ("no path, URL or dict", lambda p: any_ba.write(ba.scan(p), None)),
    "duplicates": ("known: error, first, last", lambda p: ba.combine([p], duplicates="frist")),
    "order": ("known: coordinate, given", lambda p: any_ba.CombineOptions(order="name")),
    "coords": ("a dict of dimensions", lambda p: ba.combine([p], "x", coords="x")),
    "pattern": ("not a regular expression", lambda p: any_ba.FromName("(")),
    "stamps": ("known: free", lambda p: any_ba.Access(stamps="all")),
    "absent_parts": ("known: raise, missing", lambda p: any_ba.load(p, absent_parts="none")),
    "retry": ("retry is int; Retry was expected", lambda p: any_ba.Access(retry=3)),
    "storage options": (
        "storage_options is str; a dict whose keys are text",
        lambda p: any_ba.open(p, storage_options="anon"),
    ),
    "no list": ("inputs is int; a list", lambda p: any_ba.combine(3, "x")),
    "references instead of a list": ("inputs is dict; a list", lambda p: any_ba.combine({"refs": {}}, "x")),
    "bytes to scan": ("bytes are no path", lambda p: any_ba.scan(p.read_bytes())),
    "bytes to open": ("bytes are no path", lambda p: any_ba.open(p.read_bytes())),
    "bytes to load": ("bytes are no path", lambda p: any_ba.load(bytes(p))),
    "bytes to combine": ("inputs is bytes", lambda p: any_ba.combine(bytes(p))),
    "a text file": ("must be binary", lambda p: any_ba.scan(io.TextIOWrapper(io.BytesIO()))),
    "a closed file": ("closed", lambda p: any_ba.scan(closed(p))),
    "a version to create": ("zarr_format is 5; known: 2, 3", lambda p: any_ba.from_model({}, {}, zarr_format=5)),
    "a version of a group": ("known: 2, 3", lambda p: any_ba.create_group({}, zarr_format=1)),
    "a version of an array": ("known: 2, 3", lambda p: any_ba.array_meta((3,), "i4", zarr_format="3")),
    "a version of a copy": ("known: 2, 3", lambda p: any_ba.CopyOptions(zarr_format=4)),
    "a path to open": ("path is int; text was", lambda p: any_ba.open(p, path=3)),
    "a path to a model": ("path is int; text was", lambda p: any_ba.to_model(p, path=3)),
    "depth": ("depth is a number of levels", lambda p: any_ba.to_model(p, depth="a")),
    "less than no depth": ("depth is a number of levels", lambda p: any_ba.to_model(p, depth=-1)),
    "levels of a path": ("str instead of a group", lambda p: any_ba.levels_of(str(p))),
    "compression by name": ("a list of CodecSpec", lambda p: any_ba.array_meta((3,), "i4", compression="zsdt")),
    "compression of names": ("a list of CodecSpec", lambda p: any_ba.array_meta((3,), "i4", compression=["zstd"])),
    "compression of a copy": ("a list of CodecSpec", lambda p: any_ba.CopyOptions(compression="zstd")),
    "chunks of a copy": ("chunks is str; whole numbers", lambda p: any_ba.CopyOptions(chunks="abc")),
    "chunks of one array": ("chunks is str; whole numbers", lambda p: any_ba.CopyOptions(chunks={"x": "abc"})),
    "shards of a copy": ("no number may be below 1", lambda p: any_ba.CopyOptions(shards=(0,))),
    "memory of a copy": ("memory is 0; a whole number from 1 on", lambda p: any_ba.CopyOptions(memory=0)),
    "tries": ("tries is a whole number", lambda p: any_ba.Retry(tries=-1)),
    "wait": ("wait is a number of seconds", lambda p: any_ba.Retry(wait=float("nan"))),
    "local": ("local is True, False, or None", lambda p: any_ba.Policy(local="no")),
    "allow": ("allow is a list of prefixes", lambda p: any_ba.Policy(allow=3)),
    "a negative shape": ("no number may be below 0", lambda p: any_ba.array_meta((-3,), "i4")),
    "a shape that is a name": ("shape is str", lambda p: any_ba.array_meta("abc", "i4")),
    "half a chunk": ("whole numbers were expected", lambda p: any_ba.array_meta((3,), "i4", chunks=(1.5,))),
    "a type that is none": ("dtype is 'flaot'; a NumPy type", lambda p: any_ba.array_meta((3,), "flaot")),
    "no workers": ("number of workers is 1", lambda p: ba.scan_many([p], "threads:0")),
    "minus one worker": ("number of workers is 1", lambda p: ba.scan_many([p], "processes:-1")),
    "an executor that is none": ("int; a name or an object", lambda p: any_ba.scan_many([p], 3)),
    "a window that is none": ("two numbers", lambda p: any_ba.scan(p, window="all")),
    "a window outside": ("is not a part of", lambda p: ba.scan(p, window=ByteRange(0, 1 << 40))),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_slips_are_told(slip: str, archive: Path) -> None:
    message, call = SLIPS[slip]
    with pytest.raises(ba.BadRequest, match=message):
        call(archive)


def test_a_pattern_may_be_text(archive: Path) -> None:
    coords = {"run": ba.FromName(r"(\w)\.h5")}  # type: ignore[arg-type]  # typed as compiled
    assert "run" in ba.combine([archive], "run", coords=coords).arrays


def test_one_dimension_is_one_not_its_letters() -> None:
    options = ba.CombineOptions(concat="time", trust="lat")  # type: ignore[arg-type]
    assert options.concat == ("time",)
    assert options.trust == ("lat",)


@pytest.mark.parametrize("form", [None, "json", "parquet"])
def test_no_map_takes_the_place_of_its_archive(form: Any, archive: Path) -> None:
    before = archive.read_bytes()
    for node in (ba.scan(archive), ba.concat([ba.scan(archive), ba.scan(archive)], "run")):
        with pytest.raises(ba.BadRequest, match="would replace"):
            ba.write(node, archive, format=form)
    assert archive.read_bytes() == before


@pytest.mark.parametrize("command", ["convert {a} {a}", "rename {a} {a}", "inline {a} {a}", "scan {a} -o {a}"])
def test_no_command_replaces_an_archive(command: str, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = archive.read_bytes()
    assert run(command.format(a=archive).split()) == 2
    assert archive.read_bytes() == before
    assert "Traceback" not in capsys.readouterr().err


def test_one_path_or_a_pattern_stands_for_a_list(tmp_path: Path) -> None:
    for i in range(3):
        with h5py.File(tmp_path / f"a{i}.h5", "w") as f:
            f["t"] = [i]
            f["t"].make_scale()
            f["x"] = [float(i)]
            f["x"].dims[0].attach_scale(f["t"])
    pattern = str(tmp_path / "a[0-9].h5")
    both: Any = ba.open(ba.combine(pattern, "t"))
    assert both["x"][...].tolist() == [0, 1, 2]
    assert len(ba.plan_combine(tmp_path / "*.h5", "t").inputs) == 3
    assert sorted(ba.scan_many(pattern).results) == sorted(str(p) for p in tmp_path.glob("*.h5"))
    assert ba.prepare_many(pattern, ba.CombineOptions(concat="t")).prepared is not None  # type: ignore[arg-type]
    assert list(ba.scan_many(str(tmp_path / "a1.h5")).results) == [str(tmp_path / "a1.h5")]
    with pytest.raises(ba.NotFound, match="nothing has a name like"):
        ba.combine(str(tmp_path / "b*.h5"), "t")


def test_a_pattern_of_urls() -> None:
    import fsspec

    system = fsspec.filesystem("memory")
    for i in range(2):
        ba.write(ba.VirtualGroup(), f"memory://globbed/{i}.json")
    assert len(ba.plan_combine("memory://globbed/*.json").inputs) == 2
    system.rm("/globbed", recursive=True)


def test_annotations_can_be_looked_up() -> None:
    for kind in (ba.VirtualArray, ba.VirtualGroup, ba.VirtualTree):
        assert "access" in get_type_hints(kind)


def test_a_part_of_a_file_is_a_file(tmp_path: Path, archive: Path) -> None:
    data = archive.read_bytes()
    (tmp_path / "all.tar").write_bytes(bytes(700) + data + bytes(9))
    opened: Any = ba.open(ba.scan(tmp_path / "all.tar", window=ByteRange(700, len(data))))
    assert opened["x"][...].tolist() == list(range(6))


def test_references_as_dicts(tmp_path: Path, archive: Path) -> None:
    for form in ("json", "json-v0"):
        refs: dict[str, Any] = {}
        ba.write(ba.scan(archive), refs, format=form)
        assert ("refs" in refs) == (form == "json")
        ba.write(refs, tmp_path / "o.json")
        for target in (refs, tmp_path / "o.json", ba.load(refs)):
            opened: Any = ba.open(target)
            assert opened["x"][...].tolist() == list(range(6))
        twice: Any = ba.open(ba.combine([refs, refs], "run"))
        assert twice["x"].shape == (2, 6)
        again: dict[str, Any] = {}
        ba.write(refs, again, format=form)
        assert again == refs


def test_options_that_are_none_name_the_likely_one(archive: Path) -> None:
    for call in (ba.combine, ba.plan_combine):
        with pytest.raises(ba.BadRequest, match="no option 'duplicate'; did you mean 'duplicates'"):
            call([archive], duplicate="first")
    with pytest.raises(ba.BadRequest, match="did you mean 'coo_dtypes'"):
        ba.multi_zarr([archive], "x", coo_dtype={})


def test_commands_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sacn", "a.nc"]) == 2
    assert "did you mean 'scan'?" in capsys.readouterr().err
