"""DMR++ documents, made here from HDF5 files with h5py's own chunk index, read to the values that h5py reads."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import h5py
import numpy as np
import pytest

import byteatlas as ba
from byteatlas.array import open_node
from byteatlas.errors import CorruptFile, InvalidMetadata
from byteatlas.manifest.model import VirtualGroup
from byteatlas.manifest.references import read_references, write_references

HEAD = (
    '<?xml version="1.0" encoding="ISO-8859-1"?>\n<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" '
    'xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" dapVersion="4.0" dmrVersion="1.0" name="a.h5" '
    'dmrpp:href="OPeNDAP_DMRpp_DATA_ACCESS_URL" dmrpp:version="3.21.0">'
)
NAMES = {"f4": "Float32", "f8": "Float64", "i2": "Int16", "i4": "Int32", "u1": "UInt8"}


def variable(name: str, data: h5py.Dataset, dims: list[str]) -> str:
    """One variable as Hyrax' build_dmrpp describes it."""
    order = "BE" if data.dtype.str[0] == ">" else "LE"
    filters = [
        f for f, on in (("shuffle", data.shuffle), ("deflate", data.compression), ("fletcher32", data.fletcher32)) if on
    ]
    about = f'byteOrder="{order}" fillValue="{data.fillvalue}"'
    if filters:
        about += f' compressionType="{" ".join(filters)}" deflateLevel="{data.compression_opts}"'
    inside = ""
    if data.chunks:
        inside = f"<dmrpp:chunkDimensionSizes>{' '.join(map(str, data.chunks))}</dmrpp:chunkDimensionSizes>"
        for i in range(data.id.get_num_chunks()):
            info = data.id.get_chunk_info(i)
            place = ",".join(map(str, info.chunk_offset))
            inside += (
                f'<dmrpp:chunk offset="{info.byte_offset}" nBytes="{info.size}" chunkPositionInArray="[{place}]"/>'
            )
    elif data.id.get_offset() is not None:
        inside = f'<dmrpp:chunk offset="{data.id.get_offset()}" nBytes="{data.id.get_storage_size()}"/>'
    compact = (
        ""
        if data.chunks or data.id.get_offset() is not None
        else (f"<dmrpp:compact>{base64.b64encode(data[()].tobytes()).decode()}</dmrpp:compact>")
    )
    attributes = "".join(
        f'<Attribute name={quoteattr(k)} type="String"><Value>{escape(str(v))}</Value></Attribute>'
        for k, v in data.attrs.items()
    )
    marks = "".join(f'<Dim name="{d}"/>' if d.startswith("/") else f'<Dim size="{d}"/>' for d in dims)
    kind = NAMES[data.dtype.str[1:]]
    return f'<{kind} name="{name}">{marks}{attributes}<dmrpp:chunks {about}>{inside}</dmrpp:chunks>{compact}</{kind}>'


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    rng = np.random.default_rng(0)
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset(
            "packed", data=rng.normal(size=(10, 12)).astype("f4"), chunks=(4, 5), compression=4, shuffle=True
        )
        f["packed"].attrs["units"] = "m < s & é"
        f.create_dataset("checked", data=np.arange(20, dtype=">i4"), chunks=(6,), fletcher32=True, compression=1)
        f.create_dataset("plain", data=np.arange(12, dtype="f8"))
        sparse = f.create_dataset("g/sparse", (9, 9), "i2", chunks=(3, 3), fillvalue=-5)
        sparse[3:6, 6:9] = 7
        space = h5py.h5s.create_simple((4,))
        layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        layout.set_layout(h5py.h5d.COMPACT)
        h5py.Dataset(h5py.h5d.create(f.id, b"compact", h5py.h5t.STD_U8LE, space, layout))[...] = [1, 2, 3, 4]
    with h5py.File(path) as f:
        body = '<Dimension name="x" size="10"/><Dimension name="y" size="12"/>'
        body += variable("packed", f["packed"], ["/x", "/y"]) + variable("checked", f["checked"], ["20"])
        body += variable("plain", f["plain"], ["/y"]) + variable("compact", f["compact"], ["4"])
        sparse = variable("sparse", f["g/sparse"], ["/g/z", "/g/z"])
        body += f'<Group name="g"><Dimension name="z" size="9"/>{sparse}</Group>'
        body += '<String name="words"><Dim size="2"/></String><Structure name="s"><Int32 name="a"/></Structure>'
        body += '<Attribute name="HDF5_GLOBAL" type="Container"><Attribute name="n" type="Int32">'
        body += '<Value value="3"/><Value>4</Value></Attribute></Attribute>'
        values = {n: f[n][()] for n in ("packed", "checked", "plain", "compact", "g/sparse")}
    (tmp_path / "a.h5.dmrpp").write_text(HEAD + body + "</Dataset>", encoding="latin-1")
    return tmp_path / "a.h5.dmrpp", values


def test_values_through_dmrpp(pair: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    node = ba.scan(pair[0], on_refusal="ignore")
    assert isinstance(node, VirtualGroup)
    for target in (None, "m.json", "m.parquet"):
        if target:
            write_references(node, tmp_path / target)
        root: Any = open_node(node if target is None else read_references(tmp_path / target))
        for name, expected in pair[1].items():
            found = root[name][...]
            assert found.dtype == expected.dtype.newbyteorder("=")
            np.testing.assert_array_equal(found, expected)
    assert node.attributes == {"n": [3, 4]}
    assert node.arrays["packed"].meta.attributes == {"units": "m < s & é"}
    assert node.arrays["packed"].meta.dimension_names == ("x", "y")
    refused = {i.path: i.reason for i in node.report if i.status == "refused"}
    assert refused == {"words": "datatype", "s": "datatype"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('compressionType="shuffle deflate"', 'compressionType="shuffle lzf"'),
        ("<dmrpp:chunkDimensionSizes>4 5<", "<dmrpp:chunkDimensionSizes>4<"),
        ('chunkPositionInArray="[0,5]"', 'chunkPositionInArray="[0,4]"'),
        ('chunkPositionInArray="[0,5]"', 'chunkPositionInArray="[0,500]"'),
        ('chunkPositionInArray="[0,5]"', 'chunkPositionInArray="[0,0]"'),
        ('chunkPositionInArray="[0,5]"', ""),
        ('chunkPositionInArray="[0,5]"', 'chunkPositionInArray="[0,5]" filterMask="1"'),
        ('chunkPositionInArray="[0,5]"', 'chunkPositionInArray="[0,5]" offset="-1"'),
        ('<Dim name="/x"/>', '<Dim name="/nope"/>'),
    ],
)
def test_what_is_not_understood_is_refused(pair: tuple[Path, dict[str, Any]], old: str, new: str) -> None:
    text = pair[0].read_text(encoding="latin-1")
    assert old in text
    pair[0].write_text(text.replace(old, new, 1), encoding="latin-1")
    try:
        node = ba.scan(pair[0], on_refusal="ignore")
    except InvalidMetadata:
        return  # two offsets: not XML any more
    assert isinstance(node, VirtualGroup)
    assert [i.path for i in node.report if i.status == "refused"] == ["packed", "words", "s"]
    assert "packed" not in node.arrays


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "<a>",
        "<html/>",
        HEAD,
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>' + HEAD + "<Group name='&b;'/></Dataset>",
        HEAD + "<Dimension name='x' size='-1'/></Dataset>",
        HEAD + "<Dimension name='x' size='9999999999999999999999'/></Dataset>",
        HEAD + "<Group name='..'/></Dataset>",
        HEAD + "<Group name='a'>" * 200 + "</Group>" * 200 + "</Dataset>",
    ],
)
def test_hostile_documents(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.dmrpp").write_text(text)
    with pytest.raises((InvalidMetadata, CorruptFile) if not text else InvalidMetadata):
        ba.scan(tmp_path / "a.dmrpp")
