"""docs/status/tests.md lists `raise` statements that are there, each with a reason; its table has every package."""

from __future__ import annotations

import re

from tests.mutation.packages import modules, package_of
from tests.mutation.refusals import statements, unreached
from tests.places import ROOT

PAGE = (ROOT / "docs" / "status" / "tests.md").read_text(encoding="utf-8")


def test_what_never_runs_is_there_and_has_a_reason() -> None:
    listed = unreached(PAGE)
    known = {u for file in {u.file for u in listed} for _, u in statements(ROOT, file)}
    assert set(listed) - known == set(), "no longer in the code: take it off the list"
    assert all(len(why.split()) > 2 for why in listed.values())


def test_every_line_of_the_list_is_read() -> None:
    rows = PAGE.split("## Refusals that no test runs")[1].split("|---|---|---|---|\n")[1].split("\n\n")[0]
    assert len(rows.splitlines()) == len(unreached(PAGE))


def test_every_row_is_a_package() -> None:
    named = re.findall(r"^\| `([\w.]+)` \| [\d-]", PAGE, re.M)
    assert len(named) == len(set(named)) > 20
    assert set(named) <= {package_of(file) for file in modules(ROOT)}
