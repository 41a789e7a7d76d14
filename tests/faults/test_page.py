"""The page of the fault matrix is what its figures make it, and says that nothing went wrong."""

from __future__ import annotations

from tests.fault_server import KINDS
from tests.faults.findings import ENDS, PAGE, Findings, page, row_of, rows_of
from tests.faults.lost_time import Spent
from tests.faults.operations import READING, WRITING
from tests.s3_servers import S3_KINDS


def test_the_page_is_that_of_its_figures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(rows_of(text))


def test_what_it_says() -> None:
    rows = rows_of(PAGE.read_text(encoding="utf-8"))
    assert {row["place"] for row in rows} <= {"HTTP", "obstore", "s3fs"}
    for row in rows:
        kinds = KINDS if row["place"] == "HTTP" else S3_KINDS
        assert row["kinds of faults"] == str(len(kinds))
        assert len(kinds) >= 25
        assert len(READING) <= int(row["operations"]) <= len(READING) + len(WRITING)
        count = {name: int(row[name].replace(",", "")) for name in ("runs", *ENDS)}
        assert sum(count[name] for name in ENDS) == count["runs"]
        assert not any(count[name] for name in ENDS if name not in ("right", "error"))
    assert sum(int(row["faulted requests"].replace(",", "")) for row in rows) >= 10_000


def test_figures_of_a_run_become_a_line() -> None:
    found, more = Findings(), Findings()
    found.count(3, Spent(1.0, 0.25))
    more.count(4, Spent(0.5))
    found.ends.update(["right"])
    more.ends.update(["error"])
    more.wrong.append("s3fs: something")
    found.add(more)
    assert (found.runs, found.faulted, found.slowest.judged, found.wrong) == (2, 7, 0.75, ["s3fs: something"])
    row = row_of("s3fs", 31, 22, found, short=True)
    assert rows_of(page([row])) == [row]
    assert (row["right"], row["error"], row["wrong"], row["slowest"]) == ("1", "1", "0", "0.8 s")
