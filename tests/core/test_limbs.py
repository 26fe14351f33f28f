"""Limbs against Python's integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactla.core import limbs

INTEGERS = st.one_of(
    st.integers(-(1 << 70), 1 << 70),
    st.integers(-(1 << 400), 1 << 400),
    # edges of limbs
    st.builds(lambda k, d, s: s * ((1 << k) + d), st.integers(0, 260), st.integers(-1, 1), st.sampled_from([-1, 1])),
)
LISTS = st.lists(INTEGERS, max_size=9)


@given(LISTS, st.integers(0, 2))
def test_integers_come_back(values, spare):
    count = limbs.limbs_needed(values) + spare
    held = limbs.to_limbs(values, count)
    assert held.dtype == np.uint64
    assert held.shape == (len(values), count)
    assert held.flags.c_contiguous
    found = limbs.from_limbs(held)
    assert found.tolist() == values
    assert all(type(v) is int for v in found)


@given(INTEGERS)
def test_the_count_is_the_least(value):
    count = limbs.limbs_needed([value])
    assert -(1 << 64 * count - 1) <= value < 1 << 64 * count - 1
    if count > 1:
        with pytest.raises(OverflowError):
            limbs.to_limbs([value], count - 1)


def test_shapes_and_the_order_of_limbs():
    values = np.array([[1, -1, 1 << 64], [0, 5, -(1 << 127)]], object)
    held = limbs.to_limbs(values, 2)
    assert held.shape == (2, 3, 2)
    assert held[0].tolist() == [[1, 0], [2**64 - 1, 2**64 - 1], [0, 1]]
    assert (limbs.from_limbs(held) == values).all()
    assert limbs.from_limbs(held[:, ::2]).tolist() == values[:, ::2].tolist()
    assert limbs.from_limbs(held[0, 0]).shape == ()
    assert limbs.from_limbs(limbs.to_limbs(np.empty((0, 3), object), 1)).shape == (0, 3)
    assert limbs.limbs_needed([]) == 1


@given(LISTS, st.integers(0, 3))
def test_extension_keeps_the_integers(values, more):
    count = limbs.limbs_needed(values)
    found = limbs.extended(limbs.to_limbs(values, count), count + more)
    assert found.shape[-1] == count + more
    assert limbs.from_limbs(found).tolist() == values


def modulo(value, count):
    """The integer that `count` limbs of two's complement hold."""
    return (value + (1 << 64 * count - 1)) % (1 << 64 * count) - (1 << 64 * count - 1)


def pair(xs, ys):
    count = limbs.limbs_needed([*xs, *ys])
    return count, limbs.to_limbs(xs, count), limbs.to_limbs(ys, count)


@given(st.lists(st.tuples(INTEGERS, INTEGERS), min_size=1, max_size=6))
def test_sums_differences_and_order(pairs):
    xs, ys = zip(*pairs, strict=True)
    count, x, y = pair(xs, ys)
    kept = x.copy(), y.copy()
    assert limbs.from_limbs(limbs.added(x, y)).tolist() == [modulo(a + b, count) for a, b in pairs]
    assert limbs.from_limbs(limbs.subtracted(x, y)).tolist() == [modulo(a - b, count) for a, b in pairs]
    assert limbs.from_limbs(limbs.negated(x)).tolist() == [modulo(-a, count) for a in xs]
    assert limbs.compared(x, y).tolist() == [(a > b) - (a < b) for a, b in pairs]
    assert not limbs.compared(x, x).any()
    assert (x == kept[0]).all()
    assert (y == kept[1]).all()


@given(LISTS, st.integers(0, 300), st.integers(0, 6))
def test_shifts(values, bits, more):
    held = limbs.to_limbs(values, limbs.limbs_needed(values))
    count = held.shape[-1] + more
    assert limbs.from_limbs(limbs.shifted_up(held, bits, count)).tolist() == [modulo(v << bits, count) for v in values]
    assert limbs.from_limbs(limbs.shifted_down(held, bits)).tolist() == [v >> bits for v in values]


@given(LISTS, st.integers(0, 3))
def test_trimmed_is_the_least(values, more):
    found = limbs.trimmed(limbs.to_limbs(values, limbs.limbs_needed(values) + more))
    assert found.shape[-1] == (limbs.limbs_needed(values) if values else 1)
    assert limbs.from_limbs(found).tolist() == values


def test_a_carry_runs_through_all_limbs():
    ones = limbs.to_limbs([(1 << 640) - 1, -1, 0], 11)
    one = limbs.to_limbs([1, 1, 1], 11)
    assert limbs.from_limbs(limbs.added(ones, one)).tolist() == [1 << 640, 0, 1]
    assert limbs.from_limbs(limbs.subtracted(limbs.added(ones, one), one)).tolist() == [(1 << 640) - 1, -1, 0]
