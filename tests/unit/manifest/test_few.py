"""Numbers of small maps: the short way and the long way say the same, or the short way says nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from byteatlas.manifest.json.text.numbers import grid_positions, two_numbers
from byteatlas.manifest.json.text.small_numbers import slices, small_pairs, small_positions

NUMBER = st.one_of(st.integers(0, 12), st.integers(0, 10**19 - 1), st.sampled_from([10**18, 10**19, 2**64])).map(str)
PLAIN = st.builds(lambda a, b, c, d: f",{c}{a},{d}{b}", NUMBER, NUMBER, st.sampled_from(["", " "]), st.just(""))
TAIL = st.one_of(PLAIN, PLAIN, PLAIN, st.text(",0123 -.e", max_size=12))
KEY = st.one_of(
    st.builds(lambda a, b: f"{a}.{b}", st.integers(0, 12), st.integers(0, 4)), st.text(".0123/\\", max_size=5)
)


def columns(texts: list[str]) -> tuple[bytes, np.ndarray, np.ndarray, np.ndarray]:
    """The texts in one, and where each begins and ends."""
    stops = np.cumsum([len(t) + 1 for t in texts], dtype=np.int64)
    begin = np.array([0, *stops[:-1]], np.int64)
    data = "|".join(texts).encode() + b"|"
    return data, np.frombuffer(data, np.uint8), begin, stops - 1


@given(st.lists(TAIL, min_size=1, max_size=12))
def test_pairs(texts: list[str]) -> None:
    data, view, begin, end = columns(texts)
    found = small_pairs(slices(data, begin, end))
    first, second, good = two_numbers(view, begin, end)
    if found is not None:
        assert good.all()
        np.testing.assert_array_equal(found[0], first)
        np.testing.assert_array_equal(found[1], second)
    else:
        short = [t.replace(" ", "").split(",") for t in texts]
        assert not good.all() or any(n != str(int(n)) for _, *pair in short for n in pair)


@given(st.lists(KEY, min_size=1, max_size=12), st.sampled_from([(13, 5), (3, 2), (13,), (2, 2, 2), (2000, 5)]))
def test_positions(texts: list[str], counts: tuple[int, ...]) -> None:
    for separator in "./":
        data, view, begin, end = columns([t.replace(".", separator) for t in texts])
        found = small_positions(slices(data, begin, end), counts, separator)
        flat, good = grid_positions(view, begin, end, counts, ord(separator))
        if found is not None:
            assert good.all()
            np.testing.assert_array_equal(found, flat)
        elif np.prod(counts) <= 1024:
            assert not good.all() or b"\\" in data
