"""Determinants and their bounds against python-flint."""

import flint
import numpy as np
import pytest
import scipy.linalg

import exactla as xl
from exactla.core import determinants
from exactla.core.bounds import reduced_determinant_bits
from exactla.core.integers import IntegerMatrix


def exact(matrix):
    return int(flint.fmpz_mat([[int(x) for x in row] for row in matrix]).det())


def wide(rng, n):
    return rng.integers(-(1 << 40), 1 << 40, (n, n)).astype(object) ** 5


@pytest.mark.parametrize("n", [1, 2, 30, 90])
def test_a_reduced_bound_is_one_and_a_good_one(rng, n):
    for matrix in (rng.integers(-(1 << 23), 1 << 23, (n, n)), rng.integers(-3, 4, (n, n)), wide(rng, n)):
        value = abs(exact(matrix))
        bits = reduced_determinant_bits(matrix)
        assert value < 1 << bits
        if value and n > 2:
            assert bits <= value.bit_length() + 8
            assert bits <= IntegerMatrix(matrix).bounds.determinant


@pytest.mark.parametrize(
    "matrix",
    [
        np.ones((6, 6), np.int64),
        np.zeros((3, 3), np.int64),
        np.diag([1, 1 << 62, 3]),
        np.array([[1, 1 << 60], [0, 1]]),
        np.array([[10**400, 1], [1, 10**400]], object),
        np.array([[-1, 10**30], [-1, 10**30 - 1]], object),
        scipy.linalg.pascal(30, exact=True).astype(object),
        np.array([[-(2**62), 2**62 - 1], [2**62 - 1, 2**62 - 1]]),
    ],
    ids=str,
)
def test_a_bound_on_matrices_that_floating_point_makes_nothing_of(matrix):
    assert abs(exact(matrix)) < 1 << reduced_determinant_bits(matrix)


@pytest.mark.parametrize("worth", [-1, 1000])
def test_determinants_with_and_without_the_bound(backend, rng, monkeypatch, worth):
    monkeypatch.setattr(determinants, "WORTH_A_BOUND", worth)
    for matrix in (rng.integers(-(1 << 23), 1 << 23, (70, 70)), wide(rng, 20), scipy.linalg.hadamard(64)):
        assert xl.det(matrix) == exact(matrix)


def test_large_cofactors(backend, rng):
    """Smith forms with many equal factors, of which a denominator holds one."""
    n = 66
    lower = np.tril(rng.integers(-2, 3, (n, n)), -1) + np.eye(n, dtype=int)
    upper = np.triu(rng.integers(-2, 3, (n, n)), 1) + np.eye(n, dtype=int)
    for factor in (4194301, 251, -6):  # a prime of the minors, one of the lifting
        middle = np.diag([factor] * 9 + [1] * (n - 9)).astype(object)
        assert xl.det(lower.astype(object) @ middle @ upper) == factor**9
