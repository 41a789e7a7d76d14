"""What a busy machine takes is told apart from what a run takes; on a quiet one nothing is taken off."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.faults.lost_time import QUIET, Spent, lost_between, slowness, spent, waited
from tests.faults.matrix import DEADLINE, HANGS, TIMES_OVER, is_late


def test_the_queue_of_each_thread_is_read(tmp_path: Path) -> None:
    for name, text in {"7": "10 2000000000 3", "8": "10 500000000 3", "9": "", "10": "no numbers"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "schedstat").write_text(text)
    (tmp_path / "11").mkdir()
    assert waited(tmp_path) == {"7": 2.0, "8": 0.5}
    assert waited(tmp_path / "nothing") == {}


def test_threads_that_begin_and_end_meanwhile() -> None:
    assert lost_between({"1": 1.0, "2": 5.0}, {"1": 1.25, "3": 0.5}) == 0.75


def test_it_never_takes_off_what_the_process_itself_used(tmp_path: Path) -> None:
    """Ten threads in the queue for a second each have lost a second of the clock, not ten."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "schedstat").write_text("0 0 0")
    with spent(tmp_path) as found:
        (tmp_path / "7" / "schedstat").write_text(f"0 {10**12} 0")
        until = time.process_time() + 0.05
        while time.process_time() < until:
            pass
    assert 0.04 < found.judged <= found.seconds


def test_slowness_is_that_of_a_quiet_machine_or_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10**6))
    monkeypatch.setattr(time, "thread_time", lambda: next(clock) * 0.004)
    for wall, expected in ((0.012 * QUIET * 0.9, 1.0), (0.036, 3.0)):
        ticks = iter(range(10**6))
        monkeypatch.setattr(time, "perf_counter", lambda ticks=ticks, wall=wall: next(ticks) * wall)
        assert slowness() == pytest.approx(expected)


def test_an_error_is_measured_too() -> None:
    with pytest.raises(KeyError), spent() as found:
        raise KeyError
    assert found.seconds > 0


def test_the_bar_of_a_quiet_machine_is_the_deadlines() -> None:
    most = TIMES_OVER * DEADLINE
    assert not is_late(Spent(most - 0.1), DEADLINE)
    assert is_late(Spent(most + 0.1), DEADLINE)
    assert not is_late(Spent(most + 0.3, lost=0.2 + 0.2), DEADLINE)
    assert is_late(Spent(HANGS * DEADLINE + 0.1, lost=HANGS * DEADLINE), DEADLINE), "no machine excuses a hang"
