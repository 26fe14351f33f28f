"""Residues to integers, to encodings and to sums of residues, against Python integers, the oracle and NumPy."""

import numpy as np
import pytest

from exactla.backend import Operand
from exactla.formats import FLOAT16, FLOAT64, FLOAT_FORMATS
from exactla.results import Rounding
from exactla_backends.numpy.backend import NumpyBackend
from tests.backends.kernels.data import base_for, bases, centred_residues, wide_integers
from tests.oracle import FORMATS, encode

SHAPES = [(1, 1), (3, 64), (5, 65), (20, 7), (9, 33), (2, 130)]
ROUNDINGS = tuple(Rounding)


@pytest.mark.parametrize("octets", [1, 2])
def test_integers_of_every_base(kernels, rng, octets):
    for base in bases(octets):
        numbers = wide_integers(rng, base.product // 4, (3, 50))
        assert kernels.integers(centred_residues(numbers, base, octets), base) == numbers.ravel().tolist()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_integers_of_every_shape(kernels, rng, shape):
    base = base_for(256, 166)
    numbers = wide_integers(rng, base.product // 4, shape)
    assert kernels.integers(centred_residues(numbers, base, 1), base) == numbers.ravel().tolist()


def test_integers_from_strided_residues(kernels, rng):
    base = base_for(256, 60)
    numbers = wide_integers(rng, base.product // 4, (4, 80))
    wide = np.full((len(base.moduli), 4, 96), 77, np.int8)
    wide[:, :, :80] = centred_residues(numbers, base, 1)
    assert kernels.integers(wide[:, :, :80], base) == numbers.ravel().tolist()


def test_one_wrong_residue_is_noticed(kernels, rng):
    base = base_for(256, 60)
    numbers = wide_integers(rng, base.product // 4, (2, 30))
    residues = centred_residues(numbers, base, 1)
    residues[2, 1, 3] += 1
    found = kernels.integers(residues, base)
    assert [i for i, (x, y) in enumerate(zip(found, numbers.ravel(), strict=True)) if x != y] == [33]


def near_ties(rng, format, base, shape):
    """Integers and exponents of rows and columns around values, halves and quarters of steps, in the whole range."""
    numbers = wide_integers(rng, base.product // 4, shape)
    for index in np.ndindex(shape):
        length = int(numbers[index]).bit_length()
        extra = int(rng.integers(0, max(length - format.precision, 0) + 1))
        kept = numbers[index] >> extra << extra
        numbers[index] = kept + int(rng.integers(-1, 2)) + ((1 << extra) >> 1) * int(rng.integers(0, 2))
        numbers[index] = max(-(base.product // 4), min(base.product // 4, numbers[index]))
    top = format.largest >> format.fraction_bits
    centre = -format.bias - format.fraction_bits - base.product.bit_length() // 2
    rows = rng.integers(centre - 8, centre + top + 8, shape[0])
    return numbers, rows, rng.integers(-6, 6, shape[1])


@pytest.mark.parametrize("format", FLOAT_FORMATS.values(), ids=str)
def test_rounding(kernels, rng, format):
    for bits in (20, 60, 166):
        base = base_for(256, bits)
        numbers, rows, columns = near_ties(rng, format, base, (7, 70))
        found = kernels.round(centred_residues(numbers, base, 1), base, rows, columns, format, ROUNDINGS, shift=-3)
        for result, rounding in zip(found, ROUNDINGS, strict=True):
            for r, c in np.ndindex(numbers.shape):
                exponent = int(rows[r] + columns[c]) - 3
                expected = encode(numbers[r, c], exponent, FORMATS[format.name], rounding.value)
                assert int(result[r, c]) == expected, (numbers[r, c], exponent, rounding)


@pytest.mark.parametrize("format", FLOAT_FORMATS.values(), ids=str)
@pytest.mark.parametrize("octets", [1, 2])
def test_rounding_as_the_reference(kernels, rng, format, octets):
    base = base_for(256 if octets == 1 else 1 << 16, 240)
    numbers, rows, columns = near_ties(rng, format, base, (21, 130))
    residues = centred_residues(numbers, base, octets)
    left, right = (Operand(None, format, (1, len(e), 0), exponents=e[None]) for e in (rows, columns))
    expected = NumpyBackend().round(residues[:, None], base, (left, right, ([0], [0]), 0), format, ROUNDINGS)
    found = kernels.round(residues, base, rows, columns, format, ROUNDINGS)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y[0])


def test_rounding_of_thousands_of_bits(kernels, rng):
    base = base_for(1 << 16, 4300)
    numbers = wide_integers(rng, base.product // 4, (2, 65))
    rows, columns = np.array([-2300, -5000]), np.zeros(65, np.int64)
    (found,) = kernels.round(centred_residues(numbers, base, 2), base, rows, columns, FLOAT64, [Rounding.NEAREST])
    for r, c in np.ndindex(numbers.shape):
        assert int(found[r, c]) == encode(numbers[r, c], int(rows[r]), FORMATS["float64"], "nearest")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rounding_of_every_shape(kernels, rng, shape):
    base = base_for(256, 60)
    numbers, rows, columns = near_ties(rng, FLOAT16, base, shape)
    (found,) = kernels.round(centred_residues(numbers, base, 1), base, rows, columns, FLOAT16, [Rounding.DOWN])
    for r, c in np.ndindex(shape):
        assert int(found[r, c]) == encode(numbers[r, c], int(rows[r] + columns[c]), FORMATS["float16"], "down")


def test_rounding_the_most_negative_integer(kernels):
    """-2**31 in one limb is its own negative."""
    base = base_for(256, 32)
    numbers = np.array([[-(1 << 31), 1 << 31, -(1 << 31) + 1]], object)
    zeros = np.zeros(3, np.int64)
    (found,) = kernels.round(centred_residues(numbers, base, 1), base, zeros, zeros, FLOAT64, [Rounding.NEAREST])
    np.testing.assert_array_equal(found.view(np.float64), numbers.astype(np.float64))


@pytest.mark.parametrize("octets", [1, 2])
@pytest.mark.parametrize("count", [1, 2, 5, 100])
def test_combine(kernels, rng, octets, count):
    for base in bases(octets):
        moduli = np.array(base.moduli)[:, None, None]
        reach = moduli >> 1
        planes = [rng.integers(-reach, moduli - reach, (len(moduli), 3, 70)) for _ in range(count)]
        planes[0] = np.broadcast_to(-reach, planes[0].shape)
        signs = [int(sign) for sign in rng.choice([-1, 1], count)]
        found = kernels.combine([(s, x.astype(f"i{octets}")) for s, x in zip(signs, planes, strict=True)], base)
        total = sum(s * x for s, x in zip(signs, planes, strict=True))
        np.testing.assert_array_equal(found, (total + reach) % moduli - reach)
