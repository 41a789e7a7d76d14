"""Names and numbers in DAP4 documents."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from byteatlas import markup
from byteatlas.errors import InvalidMetadata

__all__ = ["CHUNK", "DAP", "DMRPP", "LARGEST", "Element", "integer", "parse_xml"]

DAP = "{http://xml.opendap.org/ns/DAP/4.0#}"
DMRPP = "{http://xml.opendap.org/dap/dmrpp/1.0.0#}"
CHUNK = f"{DMRPP}chunk"
LARGEST = (1 << 63) - 1


def parse_xml(data: bytes, where: str) -> Element:
    """The document's root. Raises `InvalidMetadata`, also for documents with entities of their own."""
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    try:
        return markup.parse_xml(text)
    except ValueError as error:
        raise InvalidMetadata(where, f"not a DMR++ document: {error}") from error


def integer(text: str | None) -> int:
    """A number that is not negative and fits 63 bits. Raises `InvalidMetadata`."""
    if text is None or not text.strip().isascii() or not text.strip().isdigit() or len(text) > 19:
        raise InvalidMetadata("", f"{text!r} where a number is expected")
    number = int(text)
    if number > LARGEST:
        raise InvalidMetadata("", f"{text} is too large")
    return number
