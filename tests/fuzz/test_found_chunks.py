"""Chunks that fuzzing found: each ended the process once."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import imagecodecs
import numpy as np
import pytest

from byteatlas.codecs import build_pipeline
from byteatlas.codecs.isolated import children
from byteatlas.errors import CorruptChunk
from byteatlas.meta.dtypes import from_v3
from byteatlas.meta.model import CodecSpec, Encoding

LITTLE = CodecSpec("bytes", {"endian": "little"})


@pytest.mark.parametrize("name", ["blosc", "numcodecs.blosc", "imagecodecs_blosc", "numcodecs.imagecodecs_blosc"])
def test_a_blosc_buffer_that_claims_more_bytes_than_there_are(name: str) -> None:
    """C-Blosc takes the header's word for the length, and reads far behind the end."""
    pipeline = build_pipeline(Encoding((LITTLE, CodecSpec(name))), from_v3("int32"), (1024,), None)
    sound = bytes(pipeline.encode(np.arange(1024, dtype=np.int32)))
    assert pipeline.decode(sound).tolist() == list(range(1024))
    hostile = sound[:12] + (0x7EFFFFFF).to_bytes(4, "little") + (0xFFFFFF).to_bytes(4, "little") + sound[20:]
    with pytest.raises(CorruptChunk, match="blosc"):
        pipeline.decode(hostile)


def test_jpeg_xr_is_decoded_in_a_child_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """jxrlib reads behind the end of damaged images, which ends the process: the child's, not this one."""
    asked: list[str] = []
    real = children.Children.decode

    def decode(self: children.Children, request: children.ChildRequest, data: Any) -> bytearray:
        asked.append(request.function)
        assert request.alone
        return real(self, request, data)

    monkeypatch.setattr(children.Children, "decode", decode)
    array = np.add.outer(np.arange(64), np.arange(48)).astype(np.uint8)
    pipeline = build_pipeline(Encoding((CodecSpec("numcodecs.imagecodecs_jpegxr"),)), from_v3("uint8"), (64, 48), None)
    sound = bytes(imagecodecs.jpegxr_encode(array, level=1.0))
    assert np.array_equal(pipeline.decode(sound), imagecodecs.jpegxr_decode(sound))
    assert asked == ["jpegxr_decode"]
    for cut in (20, len(sound) // 2, len(sound) - 9):
        damaged = sound[:cut] + bytes(len(sound) - cut)
        with suppress(CorruptChunk):  # or an image: some damage cannot be noticed
            assert pipeline.decode(damaged).shape == (64, 48)
