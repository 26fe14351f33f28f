"""Matrices of the gallery against Fractions, and their known determinants."""

import math
from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

import exactla as xl
from exactla import gallery
from tests.multiprecision.numbers import mp, rounded

SIZES = [0, 1, 2, 3, 4, 7, 20]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("precision", [2, 53, 100, 3000])
def test_hilbert_and_lotkin(n, precision):
    expected = [[rounded(Fraction(1, i + j + 1), precision) for j in range(n)] for i in range(n)]
    assert gallery.hilbert(n, precision).tolist() == expected
    if n:
        expected[0] = [Fraction(1)] * n
    assert gallery.lotkin(n, precision).tolist() == expected
    assert gallery.lotkin(n, precision).shape == (n, n)


@pytest.mark.parametrize("n", [*SIZES, 70])
def test_pascal(n):
    expected = [[math.comb(i + j, i) for j in range(n)] for i in range(n)]
    found = gallery.pascal(n)
    assert found.tolist() == expected
    assert found.exponent == 0
    assert gallery.pascal(n, 30).tolist() == [[rounded(Fraction(v), 30) for v in row] for row in expected]
    if n:
        assert xl.det(np.array(expected, object)) == 1


@pytest.mark.parametrize("precision", [2, 53, 300])
@pytest.mark.parametrize(
    "nodes",
    [[], [0], [1, 2, 3, 4], [0.1, -0.2, 0.3], [Fraction(1, 3), Fraction(-2, 7), 5, 0], [10**30, -(10**30)]],
)
def test_vandermonde(nodes, precision):
    expected = [[rounded(Fraction(x) ** j, precision) for j in range(len(nodes))] for x in nodes]
    assert gallery.vandermonde(nodes, precision).tolist() == expected
    if all(isinstance(x, float) for x in nodes) and nodes:
        assert gallery.vandermonde(np.array(nodes), precision).tolist() == expected
        assert gallery.vandermonde(mp(nodes), precision).tolist() == expected


@pytest.mark.parametrize("precision", [2, 63, 64, 65, 200])
def test_random_entries_fill_their_range(precision):
    x = gallery.random(20, precision)
    assert (x.shape, x.exponent) == ((20, 20), -precision)
    values = x.to_fractions()
    assert (abs(values) <= 1).all()
    assert values.max() > Fraction(1, 4) > -Fraction(1, 4) > values.min()
    assert len({v * 2**precision % 2 for v in values.ravel()}) == 2
    assert xl.digest(x) == xl.digest(gallery.random(20, precision))
    assert xl.digest(x) != xl.digest(gallery.random(20, precision, seed=1))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("power", [0, 1, 40, 300])
def test_a_condition_is_exact_before_rounding(n, power):
    """Singular values are the powers of two: A A^T has their squares as eigenvalues."""
    exact = gallery.random(n, 5000, condition=1 << power).to_fractions()
    squares = sorted(Fraction(1, 4 ** (power * i // max(n - 1, 1))) for i in range(n))
    gram = flint.fmpq_mat(n, n, [flint.fmpq(int(v.numerator), int(v.denominator)) for v in (exact @ exact.T).ravel()])
    polynomial = flint.fmpq_poly([1])
    for square in squares:
        polynomial *= flint.fmpq_poly([flint.fmpq(-square.numerator, square.denominator), 1])
    assert gram.charpoly() == polynomial
    if n >= 5 and power:
        assert (exact != 0).mean() > 0.6


def test_a_condition_with_rounding():
    exact = gallery.random(9, 5000, condition=2**60).to_fractions()
    found = gallery.random(9, 80, condition=2**60).to_fractions()
    assert (found == np.vectorize(lambda v: rounded(v, 80), otypes=[object])(exact)).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: gallery.hilbert(-1, 53), ValueError, "n=-1"),
        (lambda: gallery.hilbert(2.5, 53), TypeError, "float"),
        (lambda: gallery.lotkin(2, 1), ValueError, "2 bits or more"),
        (lambda: gallery.vandermonde([[1]], 53), ValueError, "1 axis"),
        (lambda: gallery.vandermonde(["1"], 53), TypeError, r"nodes\[0\] is a str"),
        (lambda: gallery.vandermonde([2, Decimal("1e200000000")], 53), OverflowError, r"^nodes\[1\]: about"),
        (lambda: gallery.vandermonde([2, mpmath.mpf("1e10000000000")], 53), OverflowError, r"^nodes\[1\]: about"),
        (lambda: gallery.hilbert(10**9, 53), xl.WorkspaceError, "1,000,000,000,000,000,000 entries"),
        (lambda: gallery.lotkin(10**30, 53), xl.WorkspaceError, "entries of 1 limbs"),
        (lambda: gallery.random(3, 53, condition=3), ValueError, "power of two"),
        (lambda: gallery.random(3, 53, condition=0), ValueError, "power of two"),
        (lambda: gallery.random(3, 53, seed=-1), ValueError, "seed"),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_what_does_not_fit_is_refused_before_it_is_made():
    with xl.workspace_limit(10_000), pytest.raises(xl.WorkspaceError):
        gallery.pascal(500)
    with xl.workspace_limit(10_000), pytest.raises(xl.WorkspaceError):
        gallery.random(50, 500)
