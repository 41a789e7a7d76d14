"""What a form of maps cannot say is refused, and not passed over."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.errors import BadRequest
from byteatlas.manifest.model import VirtualGroup
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.manifest.references import write_references


def test_version_3_in_parquet(tmp_path: Path) -> None:
    group = VirtualGroup(arrays={"x": inline_array(np.arange(3.0), ("x",), {})})
    with pytest.raises(BadRequest, match="Parquet maps have no form for version 3"):
        write_references(group, tmp_path / "m.parquet", options=MapWriteOptions(zarr_format=3))
    assert not (tmp_path / "m.parquet").exists()
    write_references(group, tmp_path / "m.json", options=MapWriteOptions(zarr_format=3))
