"""Systems that broke other programs (each named by its report), and matrices with known answers."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import flint
import gmpy2
import mpmath
import numpy as np
import pytest
import scipy.linalg

import exactla as xl

ODD_PRIMES = [p for p in range(3, 256) if all(p % q for q in range(2, p))]
PRODUCT = math.prod(ODD_PRIMES)


def test_flint_335_a_tiny_solution_takes_a_handful_of_steps(backend, rng):
    a = rng.integers(-(1 << 23), 1 << 23, (150, 150))
    x = rng.integers(-5, 6, 150)
    steps = []
    found = xl.solve(a, a @ x, progress=lambda done, total: steps.append(done / total))
    assert found.numerators.tolist() == x.tolist()
    assert found.denominator == 1
    assert steps[-1] < 0.2


def test_flint_2711_a_matrix_of_rank_2(backend):
    a = np.arange(200 * 200).reshape(200, 200)
    assert xl.rank(a) == 2
    assert xl.solve(a, np.ones(200, int), singular="none") is None
    with pytest.raises(xl.SingularMatrixError):
        xl.solve(a, np.ones(200, int))
    assert xl.det(a) == 0


def test_flint_2743_null_space_of_a_wide_matrix(backend, rng):
    a = rng.integers(-8, 8, (200, 202))
    basis = xl.nullspace(a)
    assert basis.shape == (202, 2)
    assert not (a.astype(object) @ basis.numerators).any()


def test_flint_2705_and_our_own_products_of_all_primes(backend):
    assert xl.solve(np.array([[2 * PRODUCT, 0], [0, 0]], object), [2 * PRODUCT, 0], singular="none") is None
    particular, basis = xl.solve_general(np.array([[2 * PRODUCT, 0], [0, 0]], object), [2 * PRODUCT, 0])
    assert particular.tolist() == [1, 0]
    assert basis.tolist() == [[0], [1]]
    x = xl.solve(np.eye(50, dtype=object) * PRODUCT, np.arange(50))
    assert x[1] == Fraction(1, PRODUCT)


def test_a_determinant_divisible_by_exactly_the_small_primes(backend, rng):
    n = 50
    lower = np.tril(rng.integers(-3, 4, (n, n)), -1) + np.eye(n, dtype=int)
    upper = np.triu(rng.integers(-3, 4, (n, n)), 1) + np.eye(n, dtype=int)
    middle = np.eye(n, dtype=object)
    middle[7, 7] = PRODUCT
    a = lower.astype(object) @ middle @ upper
    assert xl.det(a) == PRODUCT
    x = xl.solve(a, np.arange(n))
    assert (a @ x.numerators == np.arange(n).astype(object) * np.array(x.denominator, object)).all()


def test_linbox_107_109_118_148(backend):
    assert xl.solve([[2**200 + 1]], [2**201 + 2]).tolist() == [2]
    assert xl.det([[2**26]]) == 67108864
    assert xl.det(2 * np.eye(46, dtype=int)) == 2**46
    for p in (251, 4194301, 2**31 - 1):
        assert xl.solve([[p, 0], [0, 1]], [1, 1]).tolist() == [Fraction(1, p), 1]


def test_linbox_56_189_underdetermined_systems(backend):
    assert sum(xl.solve_general([[1, 1]], [1]).particular) == 1
    x = xl.solve_general([[0, 1, 2]], [1]).particular
    assert x[1] + 2 * x[2] == 1


def test_sage_40210_iml_and_scipy_2249(backend):
    with pytest.raises(xl.InconsistentSystemError):
        xl.solve([[1], [2], [3]], [1, 1, 1])
    with pytest.raises(xl.SingularMatrixError):
        xl.solve([[1, 2], [2, 4]], [1, 1])
    with pytest.raises(xl.SingularMatrixError):
        xl.solve([[1, 2, 3], [4, 5, 6], [7, 8, 9]], [1, 2, 3])


def test_macaulay2_2908_4639(backend):
    zero = np.zeros((8, 4), int)
    assert xl.solve_general(zero, np.zeros(8, int)).particular.tolist() == [0] * 4
    with pytest.raises(xl.InconsistentSystemError):
        xl.solve_general(zero, np.ones(8, int))
    assert xl.det([[0, 1], [1, 0]]) == -1


def test_numpy_9127_and_hsnf_33_int64_does_not_wrap(backend):
    assert xl.det(np.array([[14, 2], [10, 0]])) == -20
    huge = np.iinfo(np.int64).max
    assert xl.det(np.array([[huge, -huge], [huge, huge]])) == 2 * huge**2
    least = np.iinfo(np.int64).min
    assert xl.solve(np.array([[least, 0], [0, 1]]), np.array([least, least])).tolist() == [1, least]


def test_python_flint_351_no_unknowns(backend):
    empties: list[Any] = [[], np.zeros((0, 0)), np.zeros((0, 0), int)]
    for empty in empties:
        assert xl.det(empty) == 1
        assert xl.rank(empty) == 0
        assert xl.inv(empty).shape == (0, 0)
        assert xl.solve(empty, []).tolist() == []
    assert xl.nullspace(np.zeros((0, 3), int)).tolist() == np.eye(3, dtype=int).tolist()
    assert xl.solve(np.eye(3), np.zeros((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"])
def test_every_integer_type_with_its_extremes(library, dtype):
    limits = np.iinfo(dtype) if dtype != "bool" else None
    low, high = (0, 1) if limits is None else (limits.min, limits.max)
    a = np.array([[high, low], [1, 1]], dtype) if low else np.array([[high, 1], [0, 1]], dtype)
    if dtype not in library.dtypes:
        pytest.skip(f"{library.name} has no {dtype}")
    x = xl.solve(library.make(a), library.make(np.array([high, 1], dtype)))
    exact = [[int(v) for v in row] for row in a]
    assert [sum(v * y for v, y in zip(row, x, strict=True)) for row in exact] == [high, 1]


def test_fpylll_251_numbers_of_every_kind():
    numbers: list[Any] = [np.int8(2), np.uint64(2**64 - 1), gmpy2.mpz(3), flint.fmpz(5), True, 0.1, np.float32(0.1)]
    numbers += [10**50, gmpy2.mpq(1, 3), Fraction(2, 7), flint.fmpq(3, 4)]
    exact = [Fraction(x) for x in (2, 2**64 - 1, 3, 5, 1, 0.1, float(np.float32(0.1)), 10**50)]
    exact += [Fraction(1, 3), Fraction(2, 7), Fraction(3, 4)]
    n = len(numbers)
    a = np.zeros((n, n), object)
    a[range(n), range(n)] = numbers
    for system in (a, a.tolist()):
        assert xl.solve(system, [1] * n).tolist() == [1 / x for x in exact]
    assert xl.solve(flint.fmpz_mat([[2, 1], [1, 1]]), flint.fmpq_mat([[flint.fmpq(1, 2)], [0]]))[0, 0] == Fraction(1, 2)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), np.float32("-inf"), gmpy2.mpfr("nan")])
def test_entries_that_are_no_numbers(wrong):
    with pytest.raises(xl.NonFiniteError, match=r"A\[0, 1\]"):
        xl.solve([[1, wrong], [0, 1]], [1, 1])
    with pytest.raises(xl.NonFiniteError, match=r"b\[1\]"):
        xl.solve(np.eye(2), np.array([1, float(wrong)]))
    for other in ("1", None, 1j):
        with pytest.raises(TypeError, match=r"A\[0, 1\]"):
            xl.solve([[1, other], [0, 1]], [1, 1])
    with pytest.raises(TypeError, match="complex"):
        xl.solve(np.eye(2) * 1j, [1, 1])
    with pytest.raises(ValueError, match="ragged"):
        xl.solve([[1, 2], [1]], [1, 1])


@pytest.mark.parametrize("number", [Decimal("1e999999999999"), Decimal("1e-999999999999"), mpmath.mpf("1e10000000000")])
def test_entries_that_are_too_long_to_be_written_are_refused_at_once(number):
    with pytest.raises(OverflowError, match=r"^A\[0, 0\]: about .* bits to be written out"):
        xl.solve([[number]], [1])
    with pytest.raises(OverflowError, match=r"^b\[0\]: about"):
        xl.solve([[1]], [number])


def test_decimals_and_numbers_of_mpmath_are_exact():
    assert xl.solve([[Decimal("0.1"), 0], [0, mpmath.mpf("0.1")]], [1, 1]).tolist() == [10, 1 / Fraction(0.1)]
    with pytest.raises(xl.NonFiniteError, match=r"b\[0\]"):
        xl.solve([[1]], [Decimal("-inf")])


def test_octave_symbolic_1304_long_results_can_be_shown():
    x = xl.solve([[1, 0], [0, 10**5000]], [10**6000, 1])
    assert len(repr(x)) < 200
    assert "bits" in repr(x)


def test_soplex_7_rationals_and_floats_stay_exact(backend):
    assert xl.solve([[3]], [Fraction(2, 3)]).tolist() == [Fraction(2, 9)]
    assert xl.solve([[3]], [0.1]).tolist() == [Fraction(0.1) / 3]


def test_python_flint_224_inputs_are_read_once(rng):
    a = rng.integers(-100, 100, (60, 60))
    b = rng.integers(-100, 100, 60)
    expected = xl.solve(a.copy(), b.copy())

    def spoil(done, total):
        a[:] = 0
        b[:] = 0

    assert xl.solve(a, b, progress=spoil) == expected


@pytest.mark.parametrize("n", [3, 45])
def test_zero_sides_huge_sides_and_zero_components(backend, rng, n):
    a = rng.integers(-(1 << 20), 1 << 20, (n, n))
    zero = xl.solve(a, np.zeros(n, int))
    assert (zero.numerators.tolist(), zero.denominator) == ([0] * n, 1)
    x = xl.solve(a, np.array([2**5000 + i for i in range(n)], object))
    assert (
        a.astype(object) @ x.numerators == np.array([(2**5000 + i) * x.denominator for i in range(n)], object)
    ).all()
    planted = np.arange(n) % 3
    assert xl.solve(a, a @ planted).numerators.tolist() == planted.tolist()


def test_hex_dev_10220_no_mixed_bounds(backend):
    assert xl.solve([[2, 3], [0, 1]], [0, 1]).tolist() == [Fraction(-3, 2), 1]


@pytest.mark.parametrize("n", [5, 30, 45, 64])
def test_pascal_past_63_bits(backend, n):
    a = scipy.linalg.pascal(n, exact=True).astype(object)
    assert xl.det(a) == 1
    x = xl.solve(a, [1] * n)
    assert x.tolist() == [1] + [0] * (n - 1)
    b = [(-1) ** i * i for i in range(n)]
    x = xl.solve(a, b)
    assert x.denominator == 1
    assert (a @ x.numerators == np.array(b, object)).all()


@pytest.mark.parametrize("n", [4, 20, 41])
def test_hilbert_lotkin_and_cauchy(backend, n):
    hilbert = [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]
    inverse = xl.inv(hilbert)
    expected = [
        [
            (-1) ** (i + j)
            * (i + j + 1)
            * math.comb(n + i, n - j - 1)
            * math.comb(n + j, n - i - 1)
            * math.comb(i + j, i) ** 2
            for j in range(n)
        ]
        for i in range(n)
    ]
    assert inverse.tolist() == expected
    lotkin = [[Fraction(1)] * n, *hilbert[1:]]
    x = xl.solve(lotkin, [Fraction(1)] * n)
    assert [sum(a * y for a, y in zip(row, x, strict=True)) for row in lotkin] == [1] * n


@pytest.mark.parametrize("n", [6, 44])
def test_matrices_with_known_determinants(backend, n):
    i, j = np.indices((n, n)) + 1
    assert xl.det(np.minimum(i, j)) == 1
    frank = np.where(j >= i - 1, n + 1 - np.maximum(i, j), 0)
    assert xl.det(frank) == 1
    totients = math.prod(sum(math.gcd(k, m) == 1 for m in range(1, k + 1)) for k in range(1, n + 1))
    assert xl.det(np.gcd(i, j)) == totients
    assert xl.det(np.where(i == j, i, np.minimum(i, j) - 2)) == 1  # Moler
    redheffer = ((j % i == 0) | (j == 1)).astype(int)
    assert xl.det(redheffer) == sum(_moebius(k) for k in range(1, n + 1))
    clement = np.where(j == i + 1, n - i, 0) + np.where(j == i - 1, j, 0)
    assert (xl.det(clement) == 0) == (n % 2 == 1)


def _moebius(k):
    factors = [p for p in range(2, k + 1) if k % p == 0 and all(p % q for q in range(2, p))]
    return 0 if any(k % (p * p) == 0 for p in factors) else (-1) ** len(factors)


def test_rosser_and_odd_clement_are_singular(backend):
    rosser = [
        [611, 196, -192, 407, -8, -52, -49, 29],
        [196, 899, 113, -192, -71, -43, -8, -44],
        [-192, 113, 899, 196, 61, 49, 8, 52],
        [407, -192, 196, 611, 8, 44, 59, -23],
        [-8, -71, 61, 8, 411, -599, 208, 208],
        [-52, -43, 49, 44, -599, 411, 208, 208],
        [-49, -8, 8, 59, 208, 208, 99, -911],
        [29, -44, 52, -23, 208, 208, -911, 99],
    ]
    assert xl.det(rosser) == 0
    assert xl.rank(rosser) == 7
    n = 45
    clement = np.diag(np.arange(n - 1, 0, -1), 1) + np.diag(np.arange(1, n), -1)
    assert xl.rank(clement) == n - 1
    assert xl.solve(clement, np.ones(n, int), singular="none") is None


@pytest.mark.parametrize("n", [4, 64])
def test_hadamard_attains_the_bound(backend, n):
    a = scipy.linalg.hadamard(n)
    assert abs(xl.det(a)) == math.isqrt(n**n)
    assert xl.inv(a).tolist() == (a.T.astype(object) * Fraction(1, n)).tolist()


@pytest.mark.parametrize("n", [3, 42])
def test_vandermonde(backend, n):
    points = list(range(1, n + 1))
    a = np.array([[p**k for k in range(n)] for p in points], object)
    assert xl.det(a) == math.prod(y - x for i, x in enumerate(points) for y in points[i + 1 :])
    # the polynomial that is 1 / p at every point
    x = xl.solve(a, [Fraction(1, p) for p in points])
    assert [sum(x[k] * p**k for k in range(n)) for p in points] == [Fraction(1, p) for p in points]


def test_planted_smith_form(backend, rng):
    n = 45
    invariants = [1] * 30 + [2] * 6 + [6] * 5 + [12] * 3 + [60 * 10**20]
    lower = np.tril(rng.integers(-2, 3, (n, n)), -1) + np.eye(n, dtype=int)
    upper = np.triu(rng.integers(-2, 3, (n, n)), 1) + np.eye(n, dtype=int)
    a = lower.astype(object) @ np.diag(np.array(invariants, object)) @ upper
    assert xl.det(a) == math.prod(invariants)
    assert xl.inv(a).denominator == invariants[-1]


@pytest.mark.parametrize("n", [2, 6])
def test_entries_of_ten_thousand_bits(backend, rng, n):
    a = np.array([[int(rng.integers(1 << 62)) ** 161 for _ in range(n)] for _ in range(n)], object)
    x = xl.solve(a, [1] * n)
    assert (a @ x.numerators == x.denominator).all()
