"""Names and numbers in DAP4 documents."""

from __future__ import annotations

from typing import TypeAlias
from xml.etree import ElementTree

from byteatlas.errors import InvalidMetadata

Element: TypeAlias = ElementTree.Element
DAP = "{http://xml.opendap.org/ns/DAP/4.0#}"
DMRPP = "{http://xml.opendap.org/dap/dmrpp/1.0.0#}"
CHUNK = f"{DMRPP}chunk"
LARGEST = (1 << 63) - 1


def parse_xml(data: bytes, where: str) -> Element:
    """The document's root. Raises `InvalidMetadata`, also for documents with entities of their own."""
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text.startswith(b"<") or b"<!DOCTYPE" in data or b"<!ENTITY" in data or b"\0" in data[:64]:
        raise InvalidMetadata(where, "not a DMR++ document (or one with a document type, which none has)")
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise InvalidMetadata(where, f"not XML ({error})") from error


def integer(text: str | None) -> int:
    """A number that is not negative and fits 63 bits. Raises `InvalidMetadata`."""
    if text is None or not text.strip().isascii() or not text.strip().isdigit() or len(text) > 19:
        raise InvalidMetadata("", f"{text!r} where a number is expected")
    number = int(text)
    if number > LARGEST:
        raise InvalidMetadata("", f"{text} is too large")
    return number
