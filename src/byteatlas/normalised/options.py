"""What may be chosen about a normalised view."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from byteatlas.errors import BadRequest
from byteatlas.values import dataclass

MIB = 1 << 20
ServedCompression: TypeAlias = Literal["zstd", "lz4"]


def check_compression(name: object) -> None:
    """Raises `BadRequest` for what is no `ServedCompression`."""
    if name not in get_args(ServedCompression):
        raise BadRequest(f"compression is {name}; known: {', '.join(get_args(ServedCompression))}")


@dataclass(frozen=True, slots=True)
class NormaliseOptions:
    """How arrays are served. Sizes are bytes.

    Attributes:
        zarr_format: 3 (``zarr.json``) or 2 (``.zarray``).
        compression: None = the bytes of the elements as they are; ``zstd`` = compressed with Zstandard; ``lz4`` = with
            Blosc's LZ4 behind a shuffle of bytes, several times as fast, and often larger.
        level: of Zstandard, 1 (fast) to 22.
        most_chunk: a chunk larger than this is cut where that costs nothing: when it is stored without compression.
        most_read: chunks that are asked for together are read together up to this size.
    """

    zarr_format: Literal[2, 3] = 3
    compression: ServedCompression | None = None
    level: int = 1
    most_chunk: int = 16 * MIB
    most_read: int = 128 * MIB

    def __post_init__(self) -> None:
        if isinstance(self.zarr_format, bool) or self.zarr_format not in (2, 3):
            raise BadRequest(f"zarr_format is {self.zarr_format}; known: 2, 3")
        if self.compression is not None:
            check_compression(self.compression)
        if isinstance(self.level, bool) or not isinstance(self.level, int) or not 1 <= self.level <= 22:
            raise BadRequest(f"level is {self.level}; known: 1 to 22")
        for name, size in (("most_chunk", self.most_chunk), ("most_read", self.most_read)):
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise BadRequest(f"{name} is a number of bytes, at least 1")


DEFAULT = NormaliseOptions()
