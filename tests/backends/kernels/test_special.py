"""Classes of non-finite entries and the encodings of their products, against the NumPy backend."""

import numpy as np
import pytest

from exactla.backend import Operand
from exactla.formats import FLOAT_FORMATS, INTEGER_FORMATS
from exactla_backends.numpy import special
from exactla_backends.numpy.backend import NumpyBackend
from tests.backends.kernels.data import (
    base_for,
    centred_residues,
    limbs_of,
    random_encodings,
    random_integers,
    wide_integers,
)

PIECES = ("sign", "abs_sign", "infinity", "abs_infinity", "zero", "nan", "one")


@pytest.mark.parametrize("format", FLOAT_FORMATS.values(), ids=str)
@pytest.mark.parametrize("shape", [(3, 100), (13, 9)], ids=str)
def test_classes_of_floats(kernels, rng, format, shape):
    x = random_encodings(rng, format, shape)
    expected = NumpyBackend().special_pieces(Operand(x[None], format, (1, *shape)))
    for found, name in zip(kernels.classify(x, format), PIECES, strict=True):
        np.testing.assert_array_equal(found, getattr(expected, name).buffer[0], err_msg=name)


@pytest.mark.parametrize("format", INTEGER_FORMATS.values(), ids=str)
def test_classes_of_integers(kernels, rng, format):
    x = random_integers(rng, format, (4, 70))
    typed = x.view(f"{'iu'[not format.signed]}{x.itemsize}")
    expected = NumpyBackend().special_pieces(Operand(typed[None], format, (1, 4, 70)))
    for found, name in zip(kernels.classify(x, format), PIECES, strict=True):
        np.testing.assert_array_equal(found, getattr(expected, name).buffer[0], err_msg=name)


def test_classes_of_limbs(kernels, rng):
    numbers = wide_integers(rng, 1 << 90, (4, 70))
    zeros = np.zeros(numbers.shape, np.int64)
    sign = np.where(numbers < 0, -1, np.where(numbers > 0, 1, 0))
    expected = [sign, np.abs(sign), zeros, zeros, 1 - np.abs(sign), zeros, zeros + 1]
    np.testing.assert_array_equal(kernels.classify(limbs_of(numbers, 3), None), expected)


@pytest.mark.parametrize("format", FLOAT_FORMATS.values(), ids=str)
@pytest.mark.parametrize(("octets", "bits"), [(1, 10), (1, 45), (2, 20)])
def test_mark(kernels, rng, format, octets, bits):
    base = base_for(256 if octets == 1 else 1 << 16, bits)
    shape = (9, 37)
    count = rng.integers(0, 3, shape) * rng.integers(0, 100, shape)
    signed = np.where(rng.random(shape) < 0.5, count, -count)
    signed = np.where(rng.random(shape) < 0.3, signed // 2, signed)
    invalid = rng.integers(0, 2, shape) * rng.integers(0, 2, shape)
    encodings = random_encodings(rng, format, shape, spread=2)
    expected = encodings.copy()
    special.mark(expected, signed, count, invalid, format)
    kernels.mark(encodings, [centred_residues(x, base, octets) for x in (signed, count, invalid)], base, format)
    np.testing.assert_array_equal(encodings, expected)
