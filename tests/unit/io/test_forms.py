"""One table of forms: what can be written is recognised by every part that asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteatlas.errors import FetchFailed
from byteatlas.io.access import Access
from byteatlas.io.forms import COMPRESSIONS, MAP_SUFFIXES, compression_of_bytes, compression_of_name, form_of_name
from byteatlas.io.kind import kind_of
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import VirtualGroup
from byteatlas.manifest.references import read_references, write_references
from byteatlas.manifest.targets import format_for


@pytest.mark.parametrize("suffix", MAP_SUFFIXES)
def test_maps_of_every_suffix_are_written_and_recognised(suffix: str, tmp_path: Path) -> None:
    target = f"{tmp_path}/map{suffix}"
    write_references(VirtualGroup(), target)
    assert form_of_name(target) == format_for(target, None) == kind_of(target) == kind_of(f"s3://none/map{suffix}")
    assert isinstance(read_references(target), VirtualGroup)
    path = Path(target)
    head = path.read_bytes()[:8] if path.is_file() else b""
    assert compression_of_bytes(head) == compression_of_name(suffix)


def test_upper_case_says_the_same() -> None:
    assert [form_of_name(f"a{s.upper()}") for s in MAP_SUFFIXES] == [form_of_name(f"a{s}") for s in MAP_SUFFIXES]
    assert all(compression_of_name(f"A{s.upper()}") == c.name for c in COMPRESSIONS for s in c.suffixes)


@pytest.mark.parametrize("name", ["air.nc", "air.tif", "json", "x.gz", "", "parquet"])
def test_other_names_say_nothing(name: str) -> None:
    assert form_of_name(name) is None


def test_an_outage_does_not_make_another_kind_of_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Parquet map has ``.zgroup`` beside ``.zmetadata``: whoever does not get the one must not go by the other."""
    answers = {
        "memory://m/ocean": FetchFailed("memory://m/ocean", "404", absent=True),
        "memory://m/ocean/zarr.json": FetchFailed("memory://m/ocean/zarr.json", "404", absent=True),
        "memory://m/ocean/.zmetadata": FetchFailed("memory://m/ocean/.zmetadata", "503", transient=True),
    }

    def opened(access: Access, url: str) -> MemorySource:
        if url in answers:
            raise answers[url]
        return MemorySource(b"{}", url)

    monkeypatch.setattr(Access, "open", opened)
    with pytest.raises(FetchFailed, match="503"):
        kind_of("memory://m/ocean")
    answers["memory://m/ocean/.zmetadata"] = FetchFailed("memory://m/ocean/.zmetadata", "404", absent=True)
    assert kind_of("memory://m/ocean") == "zarr"
