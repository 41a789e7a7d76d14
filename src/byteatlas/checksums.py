"""Checksums that both formats and codecs have: one function for each, the libraries imported when one is computed."""

from __future__ import annotations

from collections.abc import Callable

from byteatlas.types import Buffer


def lookup3(data: Buffer, start: int = 0) -> int:
    """Bob Jenkins' lookup3 hash: the checksum of HDF5's structures, and of numcodecs' ``jenkins_lookup3``."""
    import imagecodecs

    return int(imagecodecs.h5checksum_lookup3(data, start)) & 0xFFFFFFFF


def lookup3_function() -> Callable[[Buffer], int]:
    """`lookup3` from 0, without the Python around it: for loops over thousands of structures (``tests.bench scan``)."""
    import imagecodecs

    found: Callable[[Buffer], int] = imagecodecs.h5checksum_metadata
    return found


def fletcher32(data: Buffer) -> int:
    """Fletcher-32 as HDF5 computes it, of any number of bytes (H5checksum.c)."""
    import imagecodecs

    return int(imagecodecs.h5checksum_fletcher32(data)) & 0xFFFFFFFF


def fletcher32_older(checksum: int) -> int:
    """The checksum as libhdf5 before 1.6.3 wrote it: bytes swapped in each half (H5Z__filter_fletcher32).

    >>> hex(fletcher32_older(0x12345678))
    '0x34127856'
    """
    return (checksum & 0x00FF00FF) << 8 | (checksum & 0xFF00FF00) >> 8


def crc32c(data: Buffer) -> int:
    """CRC-32C (Castagnoli), the checksum of Zarr's ``crc32c``.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    import google_crc32c
    import numpy as np

    if isinstance(data, bytes) or not len(data):
        return int(google_crc32c.value(bytes(data)))
    # It takes memory that cannot be written only: this is a view that cannot, of the same memory.
    view = np.frombuffer(data, np.uint8)
    view.flags.writeable = False
    return int(google_crc32c.value(view))
