"""The self-test passes on what is right and finds what is wrong by one unit."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest

import exactla as xl
from exactla.cli import selftest


def test_the_sample_reaches_far():
    a, b = selftest.sample()
    magnitudes = np.abs(np.concatenate([a.ravel(), b.ravel()]))
    magnitudes = magnitudes[magnitudes > 0]
    assert magnitudes.min() < 2.0**-1022
    assert magnitudes.max() == 2.0**900
    lo, hi = xl.mm_enclose(a, b)
    assert (lo < hi).any()
    assert (lo == hi).any()
    assert lo[5, 3] == -np.inf


def test_the_numbers_do_not_depend_on_the_version_of_numpy():
    first, second = selftest.uniform(1, (2,)).tolist()
    # PCG64 seeded with 1 begins with these two 64-bit words
    assert (first, second) == (0x8306BDF37922E4FF // 2048 / 2**53 - 0.5, 0xF35196BBC152A866 // 2048 / 2**53 - 0.5)


def test_right_ends_have_no_fault():
    a, b = selftest.sample()
    assert selftest.enclosure_fault(a, b, *xl.mm_enclose(a, b)) is None
    assert selftest.product_fault() is None


@pytest.mark.parametrize("end", ["lo", "hi"])
@pytest.mark.parametrize("direction", [-np.inf, np.inf])
def test_ends_spoilt_by_one_unit_are_found(end, direction):
    a, b = selftest.sample()
    right = xl.mm_enclose(a, b)
    for index in np.ndindex(right.lo.shape):
        ends = {"lo": right.lo.copy(), "hi": right.hi.copy()}
        ends[end][index] = math.nextafter(ends[end][index], direction)
        if ends[end][index] == getattr(right, end)[index]:
            continue  # nothing lies beyond an infinity
        assert f"entry {list(index)}" in str(selftest.enclosure_fault(a, b, **ends))


def test_infinite_ends_and_wrong_shapes_are_found():
    a, b = selftest.sample()
    lo, hi = xl.mm_enclose(a, b)
    assert "entry [0, 0]" in str(selftest.enclosure_fault(a, b, lo, np.full_like(hi, np.inf)))
    assert "entry [0, 0]" in str(selftest.enclosure_fault(a, b, np.full_like(lo, np.nan), hi))
    assert "shapes" in str(selftest.enclosure_fault(a, b, lo[:1], hi[:1]))


def test_the_tightest_pair_around_a_third():
    third = Fraction(1, 3)
    below = 1 / 3
    assert selftest._is_tightest(third, below, math.nextafter(below, 1))
    assert not selftest._is_tightest(third, below, below)
    assert not selftest._is_tightest(third, below, np.nextafter(math.nextafter(below, 1), 1))
    assert selftest._is_tightest(Fraction(below), below, below)
    assert not selftest._is_tightest(Fraction(below), below, math.nextafter(below, 1))


def test_the_tightest_pair_around_an_overflow():
    largest = sys.float_info.max
    beyond = 2 * Fraction(largest)
    assert selftest._is_tightest(beyond, largest, np.inf)
    assert selftest._is_tightest(-beyond, -np.inf, -largest)
    assert not selftest._is_tightest(beyond, np.inf, np.inf)
    assert not selftest._is_tightest(beyond, math.nextafter(largest, 0), np.inf)
    assert not selftest._is_tightest(Fraction(largest), largest, np.inf)
    assert not selftest._is_tightest(beyond, np.nan, np.nan)


def test_a_product_that_raises_is_a_fault(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("no device")

    monkeypatch.setattr(xl, "mm_enclose", broken)
    assert selftest.product_fault() == "ZeroDivisionError: no device"
