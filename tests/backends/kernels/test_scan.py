"""Row exponents, bits and finiteness, against the formats' exact values and the NumPy backend."""

from fractions import Fraction

import numpy as np
import pytest

from exactla.backend import Operand
from exactla.formats import FLOAT64, FLOAT_FORMATS, INTEGER_FORMATS
from exactla_backends.numpy.backend import NumpyBackend
from tests.backends.kernels.data import limbs_of, random_encodings, random_integers, values, wide_integers

NONE = 1 << 40
SHAPES = [(1, 1), (3, 64), (5, 65), (20, 7), (9, 33), (2, 200), (0, 4), (4, 0)]


@pytest.mark.parametrize("format", FLOAT_FORMATS.values(), ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_floats(kernels, rng, format, shape):
    x = random_encodings(rng, format, shape)
    lowest, highest, bad = kernels.scan(x, format)
    exact = values(x, format)
    for r in range(shape[0]):
        row = [v for v in exact[r] if v]
        if not row:
            assert (lowest[r], highest[r]) == (NONE, -NONE)
            continue
        assert all((v / Fraction(2) ** int(lowest[r])).denominator == 1 for v in row)
        assert any((v / Fraction(2) ** int(lowest[r])).numerator % 2 for v in row)
        assert all(abs(v) < Fraction(2) ** int(highest[r]) for v in row)
    assert bad == sum(not format.is_finite(int(e)) for e in x.flat)
    finite = [format.is_finite(int(e)) for e in x.flat]
    assert kernels.first_nonfinite(x, format) == (finite.index(False) if False in finite else -1)


@pytest.mark.parametrize("format", FLOAT_FORMATS.values(), ids=str)
def test_as_the_reference(kernels, rng, format):
    x = random_encodings(rng, format, (12, 100))
    x[3] = 0
    lowest, highest, bad = kernels.scan(x, format)
    (expected,) = NumpyBackend().scan([[Operand(x[None], format, (1, *x.shape))]])
    lowest, highest = np.where(highest == -NONE, 0, lowest), np.where(highest == -NONE, 0, highest)
    np.testing.assert_array_equal(lowest, expected.operands[0].exponents[0])
    assert (highest - lowest).max() == expected.bits
    assert (bad == 0) is expected.finite


@pytest.mark.parametrize("format", INTEGER_FORMATS.values(), ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_integers(kernels, rng, format, shape):
    x = random_integers(rng, format, shape)
    lowest, highest, bad = kernels.scan(x, format)
    if x.size:
        assert (lowest == 0).all()
        assert highest.tolist() == [max(abs(int(v)).bit_length() for v in row) for row in values(x, format)]
    assert bad == 0
    assert kernels.first_nonfinite(x, format) == -1


def test_limbs(kernels, rng):
    numbers = wide_integers(rng, 1 << 200, (9, 70))
    lowest, highest, bad = kernels.scan(limbs_of(numbers, 8), None)
    assert (lowest == 0).all()
    assert highest.tolist() == [max(abs(n).bit_length() for n in row) for row in numbers]
    assert bad == 0


@pytest.mark.parametrize("view", [lambda x: x[::-1], lambda x: x[:, ::-2], lambda x: x[:, 3:80:7], lambda x: x.T])
def test_any_strides(kernels, rng, view):
    x = view(random_encodings(rng, FLOAT64, (90, 90)))
    for found, expected in zip(kernels.scan(x, FLOAT64), kernels.scan(x.copy(), FLOAT64), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert kernels.first_nonfinite(x, FLOAT64) == kernels.first_nonfinite(x.copy(), FLOAT64)


def test_unaligned_entries(kernels, rng):
    x = random_encodings(rng, FLOAT64, (6, 70))
    shifted = np.zeros(x.nbytes + 1, np.uint8)
    shifted[1:] = x.view(np.uint8).ravel()
    y = shifted[1:].view(np.uint64).reshape(x.shape)
    np.testing.assert_array_equal(kernels.scan(y, FLOAT64)[0], kernels.scan(x, FLOAT64)[0])
