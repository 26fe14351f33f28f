"""Components of floats by the native library, beside the functions of `exactla.core.expansions`."""

from typing import Any

import numpy as np
import pytest

from exactla import registry
from exactla.core import expansions
from exactla.core.limbs import to_limbs
from exactla.formats import FLOAT64

ROWS = 3000


@pytest.fixture
def native() -> Any:
    return registry.load("cpu").multiprecision.expansions  # type: ignore[attr-defined]


def floats(rng, spread, count):
    """Encodings [ROWS, count] of any numbers, zeros and powers of two among them."""
    values = rng.standard_normal((ROWS, count)) * 2.0 ** rng.integers(-spread, spread + 1, (ROWS, count))
    values[rng.random(values.shape) < 0.1] = 0
    powers = rng.random(values.shape) < 0.1
    values[powers] = 2.0 ** rng.integers(-spread, spread + 1, np.count_nonzero(powers))
    return values.view(np.uint64)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("spread", [0, 60, 1000])
def test_sums(native, rng, count, spread):
    words = floats(rng, spread, count)
    needed = expansions.extent(words, FLOAT64)
    assert native.extent(words, FLOAT64) == needed
    needed = expansions.Extent(needed.exponent, needed.limbs + 1)  # any components: sums are longer
    assert np.array_equal(native.sums(words, FLOAT64, needed), expansions.sums(words, FLOAT64, needed))


def test_subnormal_components(native):
    words = np.array([[1, 3], [(1 << 52) - 1, 1 << 63 | 1], [1 << 52, 1]], np.uint64)
    needed = expansions.extent(words, FLOAT64)
    assert native.extent(words, FLOAT64) == needed == expansions.Extent(-1074, 1)
    assert np.array_equal(native.sums(words, FLOAT64, needed), expansions.sums(words, FLOAT64, needed))


def test_no_components(native):
    words = np.zeros((4, 2), np.uint64)
    assert native.extent(words, FLOAT64) == expansions.extent(words, FLOAT64) == expansions.Extent(0, 1)
    assert native.extent(words[:0], FLOAT64) == expansions.Extent(0, 1)
    assert not native.sums(words, FLOAT64, expansions.Extent(0, 1)).any()


@pytest.mark.parametrize("exponent", [-(1 << 50), -1200, -1074, -400, 0, 800, 1 << 50])
@pytest.mark.parametrize("bits", [1, 53, 64, 300])
def test_back(native, rng, bits, exponent):
    integers = [int.from_bytes(rng.bytes(40), "little", signed=True) >> (320 - bits) for _ in range(ROWS)]
    integers += [0, 1, -1, (1 << 54) + 1, (1 << 54) + 2, (1 << 54) + 3, (1 << 54) + 6, -(1 << 54) - 2, (1 << 54) - 1]
    limbs = to_limbs(integers, 6)
    for count in (1, 2, 3, 4):
        assert np.array_equal(native.components(limbs, exponent, count), expansions.components(limbs, exponent, count))


def test_the_first_that_is_not_finite(native, rng):
    words = floats(rng, 10, 3)
    assert native.first_not_finite(words, FLOAT64) == -1
    words[2000, 1] = words[900, 2] = 0x7FF << 52
    words[2500, 0] = 0xFFF8 << 48
    assert native.first_not_finite(words, FLOAT64) == expansions.first_not_finite(words, FLOAT64) == 2702


def test_the_first_that_overlaps(native):
    words = np.array([[1.0, 2.0**-53, 0.0]] * ROWS).view(np.uint64)
    assert native.first_overlap(words) == expansions.first_overlap(words) == -1
    for wrong in ([1.0, 2.0**-52, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 2.0**-80]):
        words[2100] = words[1500] = np.array(wrong).view(np.uint64)
        assert native.first_overlap(words) == expansions.first_overlap(words) == 1500
