"""What of the corpora is not presented, or not right, and why: exact lists beside the tests.

A list that differs fails the test, in either direction. With ``BYTEATLAS_WRITE_LISTS=1`` the tests write the lists
anew; the difference is then looked at before it is kept.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import byteatlas as ba
from byteatlas.errors import ByteatlasError
from byteatlas.scanning.report import reason_of

LISTS = Path(__file__).with_name("lists")

Outcomes = dict[str, dict[str, str]]
"""For each file, by its name in the corpus: what is not right in it, by path, and why ("" is the whole file)."""


def why(error: ByteatlasError) -> str:
    """The class of an error, and its reason where it has one."""
    return f"{type(error).__name__}: {reason_of(error)}"


def refused(path: Path) -> dict[str, str]:
    """What a scan of a file refuses, and why."""
    try:
        report = ba.scan(path, on_refusal="ignore").report
    except ByteatlasError as error:
        return {"": why(error)}
    return {item.path: item.reason or "" for item in report if item.status == "refused"}


def compare(name: str, found: Outcomes) -> None:
    """The outcomes are exactly those of the list."""
    sound = {file: dict(sorted(what.items())) for file, what in sorted(found.items()) if what}
    path = LISTS / f"{name}.json"
    if os.environ.get("BYTEATLAS_WRITE_LISTS"):
        LISTS.mkdir(exist_ok=True)
        path.write_text(json.dumps(sound, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert sound == json.loads(path.read_text(encoding="utf-8"))
