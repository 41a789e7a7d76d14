"""The command line: what it writes, what it says, with which status it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from tests.archives import small_archive
from tests.places import ROOT

import byteatlas as ba
from byteatlas.array import Array
from byteatlas.cli.app import STATUS, cli, run
from byteatlas.cli.overview import COMMANDS, overview
from byteatlas.errors import ByteatlasError
from byteatlas.manifest.model import VirtualArray

pytest.importorskip("netCDF4")


def call(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Status, standard output, standard error."""
    status = run([str(a) for a in arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def documents(*arguments: object, capsys: pytest.CaptureFixture[str]) -> Any:
    status, out, _ = call(*arguments, "--json", capsys=capsys)
    assert status == 0
    return json.loads(out)


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A netCDF-4 file whose first chunk of ``sst`` has other bytes than when it was written."""
    path = tmp_path / "damaged.nc"
    data = bytearray(small_archive()[0].read_bytes())
    sst = ba.scan(small_archive()[0])["sst"]
    assert isinstance(sst, VirtualArray)
    at = int(sst.manifest.load().offset[0])
    data[at + 10 : at + 30] = bytes(20)
    path.write_bytes(data)
    return path


def loaded(name: str) -> click.Command:
    """A command of the table."""
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, click.Command)
    return command


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(name, "--help", capsys=capsys)
    assert status == 0
    assert f"byteatlas {name}" in out.partition("Usage:")[2].partition("\n")[2], "no example"
    command = loaded(name)
    if isinstance(command, click.Group):
        for inner in command.commands:
            status, out, _ = call(name, inner, "--help", capsys=capsys)
            assert status == 0
            assert out.count("\n") > 5
    else:
        assert "--json" in out


def test_overview(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call("--help", capsys=capsys)
    assert status == 0
    assert all(name in out for name in COMMANDS)
    status, out, _ = call("--version", capsys=capsys)
    assert (status, out.split()[0]) == (0, "byteatlas,")


@pytest.mark.parametrize("columns", [40, 60, 80, 90, 100, 150])
def test_overview_is_what_click_prints(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert call("--help", capsys=capsys)[1] == overview(columns)
    done = subprocess.run([sys.executable, "-m", "byteatlas", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout == overview(columns)


def test_a_reader_who_leaves_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "byteatlas", "-h"], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_exit_statuses_of_the_process() -> None:
    for arguments, status, words in ((["--version"], 0, b"byteatlas"), (["info", "no/such/file"], 4, b"error:")):
        command = [sys.executable, "-m", "byteatlas", *arguments]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode, words in done.stdout + done.stderr) == (status, True)


def test_help_imports_no_engine() -> None:
    code = "import sys; from byteatlas.cli.app import run; run(['--help']); print(list(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'click'" in done.stdout
    for heavy in ("numpy", "rich", "pyarrow", "fsspec", "imagecodecs"):
        assert f"'{heavy}'" not in done.stdout


def test_python_dash_m() -> None:
    done = subprocess.run([sys.executable, "-m", "byteatlas", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "version" in done.stdout


def test_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = call("scna", capsys=capsys)
    assert status == 2
    assert "scan" in err


def test_scan_into_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = small_archive()
    status, out, err = call("scan", *files, "-o", tmp_path / "maps", capsys=capsys)
    assert (status, err) == (0, "")
    assert len(out.splitlines()) == len(files)
    assert {p.name for p in (tmp_path / "maps").iterdir()} == {f"{f.stem}.json" for f in files}
    found = documents("scan", files[0], "-o", tmp_path / "one.parquet", capsys=capsys)
    assert found[0]["arrays"] == 9
    assert (tmp_path / "one.parquet" / ".zmetadata").exists()


def test_scan_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = small_archive()
    assert call("scan", *files, "-o", tmp_path / "one.json", capsys=capsys)[0] == 2
    other = tmp_path / "other"
    other.mkdir()
    twin = other / files[0].name
    twin.write_bytes(files[0].read_bytes())
    status, _, err = call("scan", files[0], twin, "-o", tmp_path / "maps", capsys=capsys)
    assert status == 2
    assert "both" in err
    assert not (tmp_path / "maps").exists()


def test_scan_goes_on_after_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.nc"
    bad.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    good = small_archive()[0]
    status, out, err = call("scan", bad, tmp_path / "none.nc", good, "-o", tmp_path / "maps", capsys=capsys)
    assert status == 3
    assert len(err.splitlines()) == 2
    assert "Traceback" not in err
    assert good.stem in out
    assert [p.name for p in (tmp_path / "maps").iterdir()] == [f"{good.stem}.json"]


def test_scan_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "null.h5"
    with h5py.File(path, "w") as file:
        file["good"] = [1, 2]
        file["bad"] = h5py.Empty("f4")
    status, out, _ = call("scan", path, "-o", tmp_path / "m.json", "--strict", capsys=capsys)
    assert (status, "refused" in out) == (1, True)
    assert call("scan", path, "-o", tmp_path / "m.json", capsys=capsys)[0] == 0
    status, out, _ = call("info", path, capsys=capsys)
    assert status == 0
    assert "refused" in out
    found = documents("info", path, capsys=capsys)
    assert [item["path"].strip("/") for item in found["refused"]] == ["bad"]


@pytest.mark.parametrize("kind", ["archive", "json", "parquet"])
def test_info(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = small_archive()[0]
    target = file if kind == "archive" else tmp_path / f"map.{kind}"
    if kind != "archive":
        assert call("scan", file, "-o", target, capsys=capsys)[0] == 0
    found = documents("info", target, capsys=capsys)
    assert found["kind"] == kind
    arrays = {a["path"]: a for a in found["arrays"]}
    sst = arrays["sst"]
    assert (sst["shape"], sst["dims"], sst["chunks"]) == ([6, 36, 72], ["time", "lat", "lon"], [1, 18, 36])
    assert (sst["dtype"], sst["chunks_present"], sst["chunks_missing"]) == ("int16", 24, 0)
    (place,) = sst["sources"]
    assert place["url"] == str(file)
    assert sst["stored_bytes"] == place["bytes"] <= place["end"] - place["begin"]
    assert "zlib(5)" in sst["codecs"]
    status, out, _ = call("info", target, "--attrs", capsys=capsys)
    assert status == 0
    for word in ("atmosphere/", "t2m", "float32", "scale_factor = 0.0099", "9 arrays", str(file)):
        assert word in out
    status, out, _ = call("info", target, "--group", "atmosphere", capsys=capsys)
    assert "t2m" in out
    assert "sst" not in out
    assert call("info", target, "--group", "nothing", capsys=capsys)[0] == 4


def test_info_of_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(tmp_path / "s.zarr")
    group.create_array("a/b", shape=(4, 4), chunks=(2, 2), dtype="f8")
    found = documents("info", tmp_path / "s.zarr", capsys=capsys)
    assert found["arrays"][0]["path"] == "a/b"
    assert "stored_bytes" not in found["arrays"][0]
    assert call("info", tmp_path / "s.zarr", capsys=capsys)[0] == 0


def test_verify(tmp_path: Path, damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = small_archive()[0]
    status, out, _ = call("verify", file, capsys=capsys)
    assert (status, "all equal" in out) == (0, True)
    found = documents("verify", file, "--sample", 2, capsys=capsys)
    assert found["ok"]
    assert found["counts"] == {"equal": 9}
    status, out, _ = call("verify", damaged, capsys=capsys)
    assert status == 1
    assert "sst" in out


def test_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, target = small_archive()[0], tmp_path / "c.zarr"
    found = documents("copy", file, target, "--chunks", "2,36,36", "--shards", "sst=2,36,72", capsys=capsys)
    assert found["arrays"] == 9
    arrays = {a["path"]: a for a in documents("info", target, capsys=capsys)["arrays"]}
    assert arrays["atmosphere/t2m"]["chunks"] == [2, 36, 36]
    ours, theirs = ba.open(target, path="sst"), ba.open(file, path="sst")
    assert isinstance(ours, Array)
    assert isinstance(theirs, Array)
    assert (ours[...] == theirs[...]).all()
    assert call("copy", file, tmp_path / "d.zarr", "--chunks", "x", capsys=capsys)[0] == 2
    other = small_archive()[1]
    assert call("copy", other, target, "--no-resume", capsys=capsys)[0] == 5


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("info", "no/such/file"), 4),
        (("verify", "no/such/file"), 4),
        (("info", "x.json", "--storage-options", "{"), 2),
        (("info",), 2),
        (("scan", "a"), 2),
    ],
)
def test_one_line_per_error(arguments: tuple[str, ...], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    found, _, err = call(*arguments, capsys=capsys)
    assert found == status
    assert "Traceback" not in err
    if status == 4:
        assert len(err.splitlines()) == 1
        assert err.startswith("error: ")


def test_every_error_has_a_status() -> None:
    def leaves(kind: type[ByteatlasError]) -> list[type[ByteatlasError]]:
        below = kind.__subclasses__()
        return [kind] if not below else [leaf for b in below for leaf in leaves(b)]

    ours = [kind for kind in leaves(ByteatlasError) if kind.__module__ == "byteatlas.errors"]
    assert len(ours) > 8
    for kind in ours:
        assert any(issubclass(kind, known) for known, _ in STATUS), kind


def test_documented_commands_and_statuses() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"`{name}" in page, f"docs/reference/cli.md does not tell of {name}"
    for _, code in STATUS:
        assert f"| {code} |" in page


def test_commands_are_click_commands() -> None:
    for name in COMMANDS:
        assert loaded(name).help, name
