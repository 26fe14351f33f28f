"""Liftings and minors of every backend, by the identities that they are defined by."""

import flint
import numpy as np
import pytest

from exactla import registry
from exactla.core.elimination import parity
from exactla.core.integers import IntegerMatrix
from exactla.core.moduli import ResidueBase
from exactla.core.primes import primes_below
from exactla_backends.cpu.lifting import disjoint_base


def lifting(backend, matrix, count=6):
    found = registry.load(backend)
    return found.lifting(IntegerMatrix(matrix), ResidueBase(primes_below(found.prime_limits[0], count)))


def value(pieces):
    return int.from_bytes(np.ascontiguousarray(pieces).tobytes(), "little", signed=True)


def assert_lifts(found, matrix, residual, steps):
    digits, rest = found.lift(residual, steps)
    assert digits.dtype == np.uint16
    assert digits.shape[:3] == (steps, *residual.shape[::-1])
    product = found.base.product
    x = np.zeros(residual.shape, object)
    for i, digit in enumerate(digits):
        for place in np.ndindex(residual.shape):
            entry = value(digit[place[::-1]])
            assert abs(entry) < product
            x[place] += entry * product**i
    assert (matrix.astype(object) @ x + rest.astype(object) * product**steps == residual).all()


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 63, 64, 65, 130])
@pytest.mark.parametrize("columns", [1, 3, 17])
def test_steps(backend, rng, n, columns):
    matrix = rng.integers(-(1 << 23), 1 << 23, (n, n))
    residual = rng.integers(-(1 << 40), 1 << 40, (n, columns))
    assert_lifts(lifting(backend, matrix), matrix, residual, 3)


@pytest.mark.parametrize("bits", [1, 31, 63, 64, 100, 200, 300, 2000])
def test_entries_and_residuals_of_any_size(backend, rng, bits):
    matrix = np.array([[int(rng.integers(1 << 30)) ** 70 % (1 << bits) for _ in range(9)] for _ in range(9)], object)
    residual = np.array([[int(rng.integers(1 << 30)) ** 70 % (1 << bits)] for _ in range(9)], object)
    matrix += np.eye(9, dtype=object)
    narrow = matrix.astype(np.int64) if bits < 63 else matrix
    found = lifting(backend, narrow)
    if found.base.moduli:
        assert_lifts(found, matrix, residual, 4)
        small = rng.integers(-9, 9, (9, 2))
        assert_lifts(found, matrix, small, 2)
        assert_lifts(found, matrix, residual, 4)


def test_determinants_and_primes_that_divide_them(backend, rng):
    primes = primes_below(registry.load(backend).prime_limits[0], 6)
    lower = np.tril(rng.integers(-3, 4, (70, 70)), -1) + np.eye(70, dtype=int)
    upper = np.triu(rng.integers(-3, 4, (70, 70)), 1) + np.eye(70, dtype=int)
    lower[40, 40] = primes[2]
    matrix = lower @ upper
    found = lifting(backend, matrix)
    expected = int(flint.fmpz_mat(matrix.tolist()).det())
    assert found.determinants == tuple(expected % p for p in primes)
    assert primes[2] not in found.base.moduli
    assert_lifts(found, matrix, np.ones((70, 1), np.int64), 2)


def test_pivots_that_have_to_be_looked_for(backend, rng):
    matrix = np.eye(100, dtype=int)[rng.permutation(100)]
    found = lifting(backend, matrix)
    sign = int(flint.fmpz_mat(matrix.tolist()).det())
    assert found.determinants == tuple(sign % p for p in found.base.moduli)
    assert_lifts(found, matrix, np.arange(100)[:, None], 1)


def assert_minors(found, matrix, primes):
    shape = matrix.shape
    for prime, minor in zip(primes, found.minors(matrix, primes), strict=True):
        over = flint.nmod_mat(*shape, [int(x) % prime for x in matrix.ravel()], prime)
        assert len(minor.rows) == len(minor.columns) == over.rank()
        form, rank = over.rref()
        pivots = [next(j for j in range(shape[1]) if form[i, j] != 0) for i in range(rank)]
        assert list(minor.columns) == pivots
        part = matrix[list(minor.rows)][:, pivots]
        assert int(flint.fmpz_mat(part.tolist()).det()) % prime == minor.value
        if shape[0] == shape[1] == rank:
            whole = int(flint.fmpz_mat(matrix.tolist()).det())
            assert whole % prime == minor.value * parity(minor.rows) % prime


@pytest.mark.parametrize("shape", [(5, 5), (40, 40), (90, 33), (33, 90), (70, 70)])
def test_minors(backend, rng, shape):
    matrix = rng.integers(-9, 9, (shape[0], 30)) @ rng.integers(-9, 9, (30, shape[1]))
    matrix[:, 1] = 2 * matrix[:, 0]
    assert_minors(registry.load(backend), matrix, [4194301, 101])


def test_moduli_beside_the_primes():
    base = ResidueBase(primes_below(256, 12))
    found = disjoint_base(base, 36)
    assert found is not None
    assert len(found.moduli) == 5
    assert not set(found.moduli) & set(base.moduli)
    assert disjoint_base(base, 5000) is None


def centred(number, modulus):
    residue = number % modulus
    return residue - modulus if 2 * residue > modulus else residue


@pytest.mark.parametrize("n", [1, 5, 33])
@pytest.mark.parametrize("columns", [1, 2, 9])
def test_expansions(backend, rng, n, columns):
    """Digits of the first entries, sums over entries and sums over steps, of digits that come in several parts."""
    matrix = rng.integers(-(1 << 23), 1 << 23, (n, n))
    right = rng.integers(-(1 << 40), 1 << 40, (n, columns))
    found = lifting(backend, matrix)
    weights = rng.integers(1, 1 << 14, n * columns)
    expansion = found.expand(right, weights)
    for steps in (1, 3, 2):
        expansion.lift(steps)
    digits, _ = found.lift(right, 6)
    numbers = [[value(digit[place]) for place in np.ndindex(columns, n)] for digit in digits]
    combined = [sum(int(w) * x for w, x in zip(weights, row, strict=True)) for row in numbers]
    product = found.base.product
    for count, steps in ((1, 6), (min(3, n * columns), 4)):
        leading = expansion.leading(count, steps)
        assert [len(column) for column in leading] == [steps] * count
        for entry, column in enumerate(leading):
            expected = sum(product**i * numbers[i][entry] for i in range(steps))
            assert (sum(product**i * d for i, d in enumerate(column)) - expected) % product**steps == 0
    total = sum(product**i * c for i, c in enumerate(combined))
    seen = sum(product**i * c for i, c in enumerate(expansion.combinations()))
    assert (seen - total) % product**6 == 0
    determinant = abs(int(flint.fmpz_mat(matrix.tolist()).det()))
    for steps in (1, 3, 4, 6):
        modulus = product**steps
        powers = [determinant * product**i % modulus for i in range(steps)]
        exact = [
            centred(sum(w * row[e] for w, row in zip(powers, numbers, strict=False)), modulus)
            for e in range(n * columns)
        ]
        found_numbers = expansion.multiply(powers, modulus)
        integers = found_numbers.integers()
        assert [centred(x, modulus) for x in integers] == exact
        assert all(x == y for x, y in zip(integers, exact, strict=True) if 4 * abs(y) < modulus)
        assert 0 <= found_numbers.bits - max(abs(x).bit_length() for x in integers) <= 1
