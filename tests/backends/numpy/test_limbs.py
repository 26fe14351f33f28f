"""Integers of many limbs, against Python integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactla_backends.numpy import limbs as mp
from exactla_backends.numpy.encodings import Decoded
from tests.backends.devices import objects

INTEGERS = st.lists(st.integers(-(2**200), 2**200), min_size=1, max_size=9)
bounded = settings(deadline=None, max_examples=60, derandomize=True)
EDGES = sorted(
    {
        s * ((1 << b) + d)
        for b in (0, 1, 22, 23, 24, 25, 47, 48, 62, 63, 64, 71, 72)
        for d in (-1, 0, 1)
        for s in (1, -1)
    }
)


def value(limbs):
    """The integers that limbs stand for."""
    return sum(objects(limb) << mp.BITS * j for j, limb in enumerate(limbs))


def is_carried(limbs):
    """Whether limbs are two's complement: all in [0, 2**24) but the top one."""
    return all(((limb >= 0) & (limb < 1 << mp.BITS)).all() for limb in limbs[:-1])


def twos_complement(numbers, count=None):
    limbs, bits = mp.from_integers(np.array(numbers, object))
    return mp.carry(mp.extend(limbs, count or mp.count_for(bits)))


@pytest.mark.parametrize("bits", range(100))
def test_the_count_holds_integers_of_so_many_bits(bits):
    room = mp.count_for(bits) * mp.BITS
    # (1 << bits) - 1 and its negative in two's complement
    assert room >= bits + 1
    assert room < bits + 1 + mp.BITS


@pytest.mark.parametrize("significand", [0, 1, 0b101, (1 << 24) - 1, 1 << 24, (1 << 53) - 1, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_from_decoded_at_every_shift(significand, sign):
    for shift in [*range(130), 1000]:
        count = mp.count_for(significand.bit_length() + shift)
        decoded = Decoded(np.array([sign]), np.array([significand], np.uint64), np.array([0]))
        limbs = mp.from_decoded(decoded, np.array([shift]), count)
        assert value(limbs)[0] == sign * significand << shift
        assert (abs(limbs) < 1 << mp.BITS).all()


def test_from_decoded_drops_zeros_at_negative_shifts():
    decoded = Decoded(np.array([1, -1]), np.array([5 << 50, 3 << 62], np.uint64), np.array([0, 0]))
    assert value(mp.from_decoded(decoded, np.array([-50, -60]), 2)).tolist() == [5, -12]


@given(INTEGERS)
@bounded
def test_from_integers_and_back(numbers):
    limbs, bits = mp.from_integers(np.array(numbers, object))
    assert bits == max(abs(n).bit_length() for n in numbers)
    assert value(limbs).tolist() == numbers
    assert mp.to_integers(mp.carry(limbs)).tolist() == numbers


@pytest.mark.parametrize("number", EDGES)
def test_to_integers_is_int64_exactly_where_it_fits(number):
    for count in (mp.count_for(abs(number).bit_length()), 6):
        found = mp.to_integers(twos_complement([number], count))
        assert found.tolist() == [number]
        assert found.dtype == (np.int64 if -(1 << 63) <= number < 1 << 63 else object)


def test_shapes_are_kept():
    numbers = objects(np.arange(24).reshape(2, 3, 4)) << 70
    limbs, _ = mp.from_integers(numbers)
    assert limbs.shape[1:] == (2, 3, 4)
    assert (mp.to_integers(mp.carry(limbs)) == numbers).all()
    for shape in ((0,), (2, 0), (0, 3, 4)):
        assert mp.from_integers(np.empty(shape, object))[0].shape[1:] == shape
        assert mp.to_integers(np.zeros((5, *shape), np.int64)).shape == shape


@given(st.lists(st.lists(st.integers(-(2**40), 2**40), min_size=3, max_size=3), min_size=1, max_size=6))
@bounded
def test_carry_keeps_the_value(columns):
    limbs = np.array(columns, np.int64).T.copy()
    before = value(limbs)
    assert mp.carry(limbs) is limbs
    assert (value(limbs) == before).all()
    assert is_carried(limbs)


@given(INTEGERS)
@bounded
def test_magnitude(numbers):
    limbs, negative = mp.magnitude(twos_complement(numbers))
    assert value(limbs).tolist() == [abs(n) for n in numbers]
    assert negative.tolist() == [n < 0 for n in numbers]
    assert is_carried(limbs)


def test_magnitude_with_a_carry_through_every_limb():
    numbers = [-(1 << 72), 1 - (1 << 72), -1, 0, (1 << 72) - 1]
    assert value(mp.magnitude(twos_complement(numbers, 4))[0]).tolist() == [abs(n) for n in numbers]


@given(INTEGERS, INTEGERS)
@bounded
def test_less(x, y):
    size = min(len(x), len(y))
    x, y = x[:size], y[:size]
    assert mp.less(twos_complement(x, 10), twos_complement(y, 10)).tolist() == [
        a < b for a, b in zip(x, y, strict=True)
    ]


def test_less_leaves_its_operands_alone():
    x, y = twos_complement([1 << 60], 4), twos_complement([-1], 4)
    assert not mp.less(x, y).any()
    assert (value(x), value(y)) == (1 << 60, -1)


def test_extend_copies():
    limbs = twos_complement([5])
    wide = mp.extend(limbs, 4)
    wide[0] = 0
    assert value(limbs).tolist() == [5]
