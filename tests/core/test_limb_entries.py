"""Bits of multi-limb integers against Python's integers."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from exactla.core import limb_entries, limbs
from exactla.results import Rounding
from tests.core.test_limbs import INTEGERS, modulo

VALUES = st.lists(INTEGERS, min_size=1, max_size=6)


def held(values, more=0):
    return limbs.to_limbs(values, limbs.limbs_needed(values) + more)


def unsigned(array):
    return [sum(int(w) << 64 * j for j, w in enumerate(row)) for row in array]


def rounded(value: Fraction, rounding: Rounding, negative: bool) -> int:
    """A magnitude rounded to an integer."""
    if rounding is Rounding.NEAREST:
        return round(value)
    outward = rounding is (Rounding.DOWN if negative else Rounding.UP)
    return math.ceil(value) if outward else math.floor(value)


@given(VALUES, st.integers(0, 2))
def test_magnitudes_and_their_ends(values, more):
    found, negative = limb_entries.magnitudes(held(values, more))
    assert unsigned(found) == [abs(v) for v in values]
    assert negative.tolist() == [v < 0 for v in values]
    assert limb_entries.bit_lengths(found).tolist() == [v.bit_length() for v in map(abs, values)]
    lowest = [(v & -v).bit_length() - 1 if v else limb_entries.NO_BITS for v in values]
    assert limb_entries.lowest_bits(found).tolist() == lowest
    assert limb_entries.lowest_bits(held(values, more)).tolist() == lowest


def test_the_magnitude_of_the_least_integer():
    found, negative = limb_entries.magnitudes(limbs.to_limbs([-(1 << 127)], 2))
    assert unsigned(found) == [1 << 127]
    assert negative.all()


@given(VALUES, st.integers(-63, 600))
def test_windows(values, place):
    found = limb_entries.windows(limb_entries.magnitudes(held(values))[0], np.full(len(values), place))
    shifted = [abs(v) >> place if place >= 0 else abs(v) << -place for v in values]
    assert found.tolist() == [v % (1 << 64) for v in shifted]


@given(VALUES, st.integers(1, 53), st.integers(0, 3), st.sampled_from(list(Rounding)))
def test_rounded_windows(values, kept, beyond, rounding):
    found, negative = limb_entries.magnitudes(held(values))
    places = np.array([abs(v).bit_length() - kept + 60 * beyond for v in values])
    expected = [
        rounded(Fraction(abs(v)) / Fraction(2) ** int(p), rounding, v < 0) for v, p in zip(values, places, strict=True)
    ]
    assert limb_entries.rounded_windows(found, negative, places, rounding).tolist() == expected


WORDS = st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1), st.just(2**64 - 1))


@given(st.lists(st.tuples(INTEGERS, WORDS, st.integers(0, 500), st.booleans()), min_size=1, max_size=6))
def test_words_are_added_at_places(rows):
    values = [row[0] for row in rows]
    array = held(values)
    count = array.shape[-1]
    words = np.array([row[1] for row in rows], np.uint64)
    places, negative = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
    limb_entries.accumulate(array, words, places, negative)
    expected = [modulo(v + (-w if n else w) * 2**p, count) for v, w, p, n in rows]
    assert limbs.from_limbs(array).tolist() == expected


def test_a_borrow_runs_through_all_limbs():
    array = limbs.to_limbs([1 << 640, 0], 11)
    limb_entries.accumulate(array, np.array([1, 1], np.uint64), np.array([0, 0]), np.array([True, True]))
    assert limbs.from_limbs(array).tolist() == [(1 << 640) - 1, -1]
