"""Cramer's rule modulo primes against python-flint, with bounds that leave no room."""

import flint
import numpy as np
import pytest
import scipy.linalg

from exactla import registry
from exactla.core import cramer as cramers_rule
from exactla.core.cramer import LIMIT, cramer, short_solution
from exactla.core.primes import primes_below


def solved(matrix, right):
    determinant = flint.fmpz_mat(matrix.tolist()).det()
    solution = flint.fmpq_mat(flint.fmpz_mat(matrix.tolist())).solve(flint.fmpq_mat(flint.fmpz_mat(right.tolist())))
    return [int((determinant * x).p) for column in zip(*solution.tolist(), strict=True) for x in column], int(
        determinant
    )


@pytest.mark.parametrize("n", [1, 2, 9, 40])
@pytest.mark.parametrize("bits", [1, 24, 62])
def test_numerators_and_determinants(backend, rng, n, bits):
    matrix, right = (rng.integers(-(1 << bits), 1 << bits, (n, k)) for k in (n, 3))
    matrix[range(n), range(n)] |= 1
    if flint.fmpz_mat(matrix.tolist()).det():
        assert cramer(registry.load(backend), matrix, right) == solved(matrix, right)


@pytest.mark.parametrize("n", [8, 32])
def test_determinants_that_attain_their_bound(backend, n):
    matrix = scipy.linalg.hadamard(n).astype(np.int64)
    right = np.ones((n, 1), np.int64)
    for factor in (1, -1, (1 << 40) - 1):
        scaled = matrix.copy()
        scaled[0] *= factor
        assert cramer(registry.load(backend), scaled, right) == solved(scaled, right)


def test_a_determinant_that_the_primes_divide_is_not_0(backend):
    primes = primes_below(LIMIT, 3)
    matrix = np.diag([*primes, 1, 1]).astype(np.int64)
    right = np.arange(5)[:, None]
    expected = [int(np.prod(np.array(primes, object))) * i // int(matrix[i, i]) for i in range(5)]
    for sign in (1, -1):
        numerators, determinant = cramer(registry.load(backend), sign * matrix, right)
        assert numerators == [sign**4 * n for n in expected]
        assert determinant == sign * int(np.prod(np.array(primes, object)))


def test_singular_matrices(backend, rng):
    matrix = rng.integers(-9, 9, (12, 12))
    matrix[:, 7] = matrix[:, 2] - matrix[:, 3]
    assert cramer(registry.load(backend), matrix, matrix[:, :1])[1] == 0
    assert cramer(registry.load(backend), matrix * 0, matrix[:, :1])[1] == 0


def test_right_sides_in_groups(backend, rng, monkeypatch):
    monkeypatch.setattr(cramers_rule, "NUMERATORS", 1)
    matrix, right = rng.integers(-99, 99, (10, 10)), rng.integers(-99, 99, (10, 5))
    assert cramer(registry.load(backend), matrix, right) == solved(matrix, right)


def planted(rng, n, columns, bits, denominator):
    """A system whose solution has numerators of so many bits over a denominator."""
    numerators = rng.integers(-(1 << bits) + 1, 1 << bits, (n, columns))
    numerators[0] = 1
    matrix = rng.integers(-(1 << 20), 1 << 20, (n, n))
    wrong = matrix @ numerators % denominator
    matrix[:, 0] -= wrong[:, 0]
    numerators[:, 1:] = numerators[:, :1] * np.arange(2, columns + 1)
    return matrix, matrix @ numerators // denominator, numerators


@pytest.mark.parametrize("n", [1, 8, 40])
@pytest.mark.parametrize("denominator", [1, 2, 7, 12 * 64])
def test_short_solutions_are_seen(backend, rng, n, denominator):
    matrix, right, numerators = planted(rng, n, 3, 12, denominator)
    found, divisor = short_solution(registry.load(backend), matrix, right)
    assert denominator % divisor == 0
    assert (np.array(found).reshape(3, n).T * (denominator // divisor) == numerators).all()


def test_other_solutions_are_not_taken_for_short(backend, rng):
    """Not long ones, nor those that a prime makes short, nor one of several, nor where words would wrap."""
    matrix, right, numerators = planted(rng, 12, 1, 12, 1)
    (prime,) = primes_below(LIMIT, 1)
    loaded = registry.load(backend)
    assert short_solution(loaded, matrix, right) == (numerators[:, 0].tolist(), 1)
    assert short_solution(loaded, matrix, right + 1) is None
    spoilt = right.copy()
    spoilt[3] += prime
    assert short_solution(loaded, matrix, spoilt) is None
    assert short_solution(loaded, matrix << 40, right << 40) is None
    for multiple in (0, prime):  # a determinant that is 0, or divisible by the prime
        dependent = matrix.copy()
        dependent[:, 2] = dependent[:, 1]
        dependent[0, 2] += multiple
        assert short_solution(loaded, dependent, dependent @ numerators) is None


def test_one_prime_too_few_is_noticed(rng, monkeypatch):
    """A negative control: the comparison above sees a modulus that is too short."""
    matrix, right = rng.integers(-(1 << 40), 1 << 40, (12, 12)), rng.integers(-(1 << 40), 1 << 40, (12, 1))
    monkeypatch.setattr(cramers_rule, "PRIME_BITS", 40)
    assert cramer(registry.load("numpy"), matrix, right) != solved(matrix, right)
