"""docs/reference/api.md and the package name the same things."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from tests.places import ROOT

import byteatlas

PAGE = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
FIRST_CELLS = [row.split(" | ")[0] for row in PAGE.splitlines() if row.startswith("| `")]
CALLS = re.findall(r"`(\w+)\(([^`]*)\)`", "\n".join(FIRST_CELLS))
NAMED = sorted({name for cell in FIRST_CELLS for name in re.findall(r"`(\w+)", cell)})
SHORT = {f"byteatlas.{name}" for name in re.findall(r"\bba\.(\w+)", PAGE)}
DOTTED = sorted(SHORT | set(re.findall(r"`(byteatlas(?:\.\w+)+)", PAGE)))


@pytest.mark.parametrize("name", byteatlas.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert f"`{name}`" in PAGE or f"`{name}(" in PAGE


@pytest.mark.parametrize("name", NAMED)
def test_every_name_in_the_tables_is_public(name: str) -> None:
    assert name in byteatlas.__all__


@pytest.mark.parametrize("name", DOTTED)
def test_every_dotted_name_leads_somewhere(name: str) -> None:
    found: Any = byteatlas
    for i, part in enumerate(name.split(".")[1:], 2):
        if not hasattr(found, part):
            __import__(".".join(name.split(".")[:i]))
        found = getattr(found, part)


def test_the_tables_are_found() -> None:
    assert len(CALLS) > 25
    assert len(NAMED) > 60


@pytest.mark.parametrize(("name", "parameters"), CALLS)
def test_calls_have_these_parameters(name: str, parameters: str) -> None:
    known = inspect.signature(getattr(byteatlas, name)).parameters
    documented = [p for p in parameters.replace(" ", "").split(",") if p not in ("*", "...")]
    assert documented == [p for p in known if p in documented]
    required = {
        p for p, facts in known.items() if facts.default is facts.empty and facts.kind is facts.POSITIONAL_OR_KEYWORD
    }
    assert required <= set(documented)


def test_every_verb_that_touches_storage_takes_access() -> None:
    for name in byteatlas.__all__:
        verb = getattr(byteatlas, name)
        if inspect.isfunction(verb):
            known = inspect.signature(verb).parameters
            assert ("access" in known) == ("storage_options" in known), name
            assert "access" in known or name in ("array_meta", "from_virtual", "levels_of"), name
