"""Bounds hold for determinants and for numerators of Cramer's rule, and are attained to a bit or two."""

import math

import numpy as np
import pytest
import scipy.linalg

from exactla.core.bounds import squares
from exactla.core.elimination import determinant
from exactla.core.integers import IntegerMatrix


@pytest.mark.parametrize("top", [1, 100, 1 << 30, 1 << 31, 1 << 62])
def test_minors_stay_below_their_bounds(rng, top):
    for n in (1, 2, 5):
        a, b = rng.integers(-top, top, (n, n)), rng.integers(-top, top, n)
        a[np.diag_indices(n)] += 1
        bounds = IntegerMatrix(a).bounds
        assert abs(determinant(a.tolist())) < 2**bounds.determinant
        for j in range(n):
            spoilt = a.copy()
            spoilt[:, j] = b
            assert abs(determinant(spoilt.tolist())) < 2 ** bounds.numerators(sum(int(x) ** 2 for x in b))


@pytest.mark.parametrize("bits", [100, 480, 481, 2000])
def test_bounds_of_long_integers(bits):
    top = (1 << bits) - 1
    a = np.array([[top, top], [-top, top]], object)
    bounds = IntegerMatrix(a).bounds
    assert bounds.determinant - 2 <= (2 * top * top).bit_length() <= bounds.determinant
    assert bits < bounds.other_columns <= bits + 3


def test_columns_of_zeros_have_bounds():
    assert IntegerMatrix(np.zeros((3, 3), np.int64)).bounds.determinant >= 0


def test_hadamard_matrices_attain_the_bound():
    a = scipy.linalg.hadamard(16)
    assert IntegerMatrix(a).bounds.determinant <= math.log2(16**8) + 2


def test_sums_of_squares_do_not_wrap():
    for dtype, top in ((np.int64, (1 << 31) - 1), (np.int64, (1 << 63) - 1), (object, 1 << 100)):
        a = np.full((3, 2), top, dtype)
        assert squares(a, top) == ([2 * top * top] * 3, [3 * top * top] * 2)
