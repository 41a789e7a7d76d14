"""Object Description Language as HDF-EOS writes it: nested groups and objects of ``name=value`` lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from byteatlas.types import JSON

Odl: TypeAlias = dict[str, JSON]
"""Values by name: text, numbers, lists of them; groups and objects as further mappings."""

LONGEST, DEEPEST = 16 << 20, 32
LINE = re.compile(r"([A-Za-z_][\w.]*+)\s*+=\s*+(.*)")
TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s,()"]+)')
OPENING, CLOSING = frozenset({"GROUP", "OBJECT"}), frozenset({"END_GROUP", "END_OBJECT"})


def parse_odl(text: str) -> Odl:
    """The text as nested mappings. What is no statement is passed over; of two of one name the first counts.

    >>> parse_odl('GROUP=G\\n A=(1,2.5)\\n B="x"\\nEND_GROUP=G\\nEND')
    {'G': {'A': [1, 2.5], 'B': 'x'}}
    """
    root: Odl = {}
    stack = [root]
    pending: list[str] = []
    opened = held = 0
    for line in text[:LONGEST].split("\0", 1)[0].splitlines():
        pending.append(line.strip())
        opened, held = opened + line.count("(") - line.count(")"), held + len(line) + 1
        if opened > 0 and held < LONGEST >> 4:
            continue  # a list goes on in the next line
        found = LINE.fullmatch(" ".join(pending))
        pending, opened, held = [], 0, 0
        if found is None:
            continue
        name, value = found[1], found[2]
        if name.upper() in OPENING:
            inner: Odl = {}
            if len(stack) <= DEEPEST:
                stack[-1].setdefault(value.strip('"'), inner)
            stack.append(inner)
        elif name.upper() in CLOSING:
            if len(stack) > 1:
                stack.pop()
        else:
            stack[-1].setdefault(name, _value(value))
    return root


def _value(text: str) -> JSON:
    tokens = [quoted if word is None else _word(word) for quoted, word in _tokens(text)]
    if text.startswith("("):
        return tokens
    return tokens[0] if tokens else ""


def _tokens(text: str) -> list[tuple[str, str | None]]:
    return [(m[1] or "", m[2]) for m in TOKEN.finditer(text)]


def _word(word: str) -> JSON:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def objects(found: Mapping[str, JSON], name: str) -> list[Odl]:
    """The groups or objects inside of a group of this name, in order."""
    inner = found.get(name)
    return [value for value in inner.values() if isinstance(value, dict)] if isinstance(inner, dict) else []
