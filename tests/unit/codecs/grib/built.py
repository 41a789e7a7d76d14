"""Messages of packings that ecCodes reads and does not write, built from bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tests.unit.codecs.grib import oracle


def bits(values: Sequence[int], width: int | Sequence[int]) -> str:
    """Binary digits of numbers of these widths."""
    widths = [width] * len(values) if isinstance(width, int) else width
    return "".join(f"{v:0{w}b}" if w else "" for v, w in zip(values, widths, strict=True))


def octets(digits: str) -> bytes:
    """Digits as bytes, filled up with zeros."""
    digits += "0" * (-len(digits) % 8)
    return int("1" + digits, 2).to_bytes(len(digits) // 8 + 1, "big")[1:] if digits else b""


def edition1(section: bytes, scale: int = 1) -> bytes:
    """The sample message of edition 1 with another section 4 (without its length), of even length."""
    with oracle.handle("regular_ll_sfc_grib1") as made:
        data = oracle.message(made)
    product = 8 + int.from_bytes(data[8:11], "big")
    start = product + int.from_bytes(data[product : product + 3], "big")
    section += bytes((len(section) + 3) % 2)
    body = data[:start] + (len(section) + 3).to_bytes(3, "big") + section + b"7777"
    product1 = bytearray(body)
    product1[26 + 8 : 28 + 8] = scale.to_bytes(2, "big")
    product1[4:7] = len(body).to_bytes(3, "big")
    return bytes(product1)


def head1(flags: int, width: int, groups: int, count: int, extended: int) -> bytearray:
    """Octets 4 to 21 of second-order packing: E = -3, R = 100 as an IBM number."""
    head = bytearray([flags, 0x80, 3, 0x42, 0x64, 0, 0, width, 0, 0, extended, 0, 0])
    head += groups.to_bytes(3, "big")[1:] + count.to_bytes(2, "big") + bytes([groups >> 16])
    return head


def integers(count: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, 200, count)


def second_order(layout: str, boustrophedonic: bool = False) -> bytes:
    """Second-order packing of the sample's 31 rows of 16 points: ``constant``, ``general`` or ``rows``."""
    rng = np.random.default_rng(5)
    count, rows, columns = 496, 31, 16
    starts = np.arange(0, count, columns) if layout == "rows" else np.unique(np.append(rng.integers(0, count, 60), 0))
    lengths = np.diff(starts, append=count)
    first = rng.integers(0, 1 << 9, len(starts))
    widths = np.full(len(starts), 5) if layout == "constant" else rng.integers(0, 12, len(starts))
    values = [
        int(rng.integers(0, 1 << w)) for w, n in zip(widths.tolist(), lengths.tolist(), strict=True) for _ in range(n)
    ]
    begins = np.zeros(count, int)
    begins[starts] = 1
    digits = {"constant": 0x20, "general": 0x30, "rows": 0x10}
    head = head1(0x40, 9, len(starts), count, digits[layout] | (4 if boustrophedonic else 0))
    head += bytes([5]) if layout == "constant" else bytes(widths.tolist())
    if layout != "rows":
        head += octets(bits(begins.tolist(), 1))
    head += octets(bits(first.tolist(), 9))
    head += octets(bits(values, np.repeat(widths, lengths).tolist()))
    assert rows * columns == count
    return edition1(bytes(head))


def edition2(section5: bytes, data: bytes) -> bytes:
    """The sample message of edition 2 with another section 5 (from octet 10 on) and 7 (from octet 6 on)."""
    with oracle.handle("regular_ll_sfc_grib2") as made:
        whole = oracle.message(made)
    place, parts = 16, [whole[:16]]
    while whole[place : place + 4] != b"7777":
        length, number = int.from_bytes(whole[place : place + 4], "big"), whole[place + 4]
        section = whole[place : place + length]
        if number == 5:
            section = (9 + len(section5)).to_bytes(4, "big") + section[4:9] + section5
        elif number == 7:
            section = (5 + len(data)).to_bytes(4, "big") + b"\x07" + data
        parts.append(section)
        place += length
    body = bytearray(b"".join(parts) + b"7777")
    body[8:16] = len(body).to_bytes(8, "big")
    return bytes(body)


def run_length() -> bytes:
    """Run length packing with 12 levels, 496 values, runs of one and of hundreds of values."""
    top, known = 12, 12
    levels = np.arange(5, 5 + 7 * known, 7)
    base = 255 - top
    data, left, rng = bytearray(), 496, np.random.default_rng(2)
    while left:
        run = int(min(left, rng.choice((1, 2, 9, 300))))
        data.append(int(rng.integers(0, top + 1)))
        rest = run - 1
        while rest:
            data.append(rest % base + top + 1)
            rest //= base
        left -= run
    section = (200).to_bytes(2, "big") + bytes([8]) + top.to_bytes(2, "big") + known.to_bytes(2, "big") + bytes([1])
    return edition2(section + levels.astype(">u2").tobytes(), bytes(data))


def complex_missing(management: int, order: int) -> bytes:
    """Complex packing whose groups have primary and secondary missing values in them."""
    rng = np.random.default_rng(9)
    count, groups = 496, 40
    lengths = rng.multinomial(count - 3 * groups, np.ones(groups) / groups) + 3
    widths = rng.integers(0, 7, groups)
    references = rng.integers(0, 1 << 7, groups)
    references[4], references[7], widths[4], widths[7] = 127, 126, 0, 0
    values = [
        int(rng.integers(0, 1 << w)) for w, n in zip(widths.tolist(), lengths.tolist(), strict=True) for _ in range(n)
    ]
    extra = b"".join(v.to_bytes(2, "big") for v in (700, 690)[:order]) + ((0x8003).to_bytes(2, "big") if order else b"")
    data = extra + octets(bits(references.tolist(), 7)) + octets(bits(widths.tolist(), 3))
    data += octets(bits((lengths - 3).tolist(), 6))
    data += octets(bits(values, np.repeat(widths, lengths).tolist()))
    head = (
        (3 if order else 2).to_bytes(2, "big")
        + bytes.fromhex("43890000")
        + b"\x80\x02"
        + b"\x00\x01"
        + bytes([7, 0, 1])
    )
    head += (
        bytes([management]) + bytes(8) + groups.to_bytes(4, "big") + bytes([0, 3]) + (3).to_bytes(4, "big") + b"\x01"
    )
    head += int(lengths[-1]).to_bytes(4, "big") + bytes([6])
    return edition2(head + (bytes([order, 2]) if order else b""), data)


def png(width: int) -> bytes:
    """PNG: grey of 8 and 16 bits, red, green and blue for 24 bits, with opacity for 32."""
    import imagecodecs

    octets_of = np.random.default_rng(1).integers(0, 256, (31, 16, width // 8), np.uint8)
    image = octets_of.view(">u2").astype(np.uint16)[..., 0] if width == 16 else octets_of.squeeze()
    head = (41).to_bytes(2, "big") + bytes.fromhex("43890000") + b"\x80\x02" + b"\x00\x01" + bytes([width, 0])
    return edition2(head, imagecodecs.png_encode(image))
