"""How many bits of a solution are right: at most three fewer than floating point of the same precision finds.

One solution has some more or fewer by chance, arb's as well: the error of an ill-conditioned system is a random
multiple of one vector. So medians of many right-hand sides tell more.
"""

from fractions import Fraction
from math import inf, log2

import gmpy2
import numpy as np
import pytest

import exactla as xl

flint = pytest.importorskip("flint")

LEEWAY = 3


def right_bits(values, expected=None):
    """The b with a largest relative error below 2**-b, of 1, 2, ..., n if nothing else is expected."""
    expected = range(1, len(values) + 1) if expected is None else expected
    error = max(abs(v - x) / x for v, x in zip(values, expected, strict=True))
    return inf if error == 0 else log2(error.denominator) - log2(error.numerator)


def midpoints(values):
    return [flint.arb(flint.fmpq(v.numerator, v.denominator)).mid() for v in values]


def exactly(value):
    mantissa, exponent = value.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def solved_by_arb(a, b, precision):
    size = len(b)
    with flint.ctx.workprec(precision):
        matrix = flint.arb_mat(size, size, midpoints(v for row in a for v in row))
        found = matrix.solve(flint.arb_mat(size, 1, midpoints(b)), algorithm="approx")
        return [exactly(found[i, 0]) for i in range(size)]


def solved_by_mpfr(a, b, precision):
    """Gaussian elimination with partial pivoting, row by row."""
    with gmpy2.context(gmpy2.get_context(), precision=precision):
        rows = [[gmpy2.mpfr(gmpy2.mpq(v)) for v in (*row, c)] for row, c in zip(a, b, strict=True)]
        for k in range(len(rows)):
            top = max(range(k, len(rows)), key=lambda i: abs(rows[i][k]))
            rows[k], rows[top] = rows[top], rows[k]
            for i in range(k + 1, len(rows)):
                factor = rows[i][k] / rows[k][k]
                rows[i][k + 1 :] = [x - factor * y for x, y in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)]
        x = [row[-1] for row in rows]
        for i in reversed(range(len(rows))):
            for k in range(i + 1, len(rows)):
                x[i] -= rows[i][k] * x[k]
            x[i] /= rows[i][i]
        return [Fraction(int(v.as_integer_ratio()[0]), int(v.as_integer_ratio()[1])) for v in x]


@pytest.mark.parametrize(("size", "precision"), [(24, 200), (40, 400), (64, 454), (64, 800), (96, 600)])
def test_lotkin(size, precision):
    matrix = xl.gallery.lotkin(size, precision=precision)
    right = matrix @ np.arange(1, size + 1)
    a, b = matrix.to_fractions().tolist(), right.to_fractions().tolist()
    found = right_bits(xl.lu_factor(matrix, precision=precision).solve(right).to_fractions().tolist())
    for other in (solved_by_arb, solved_by_mpfr):
        assert found >= right_bits(other(a, b, precision)) - LEEWAY


@pytest.mark.parametrize(("size", "precision"), [(48, 500), (64, 800), (128, 1600)])
def test_many_solutions(rng, size, precision):
    matrix = xl.gallery.lotkin(size, precision=precision)
    solutions = rng.integers(1, 1000, (size, 32))
    right = matrix @ solutions
    found = xl.lu_factor(matrix, precision=precision).solve(right).to_fractions()
    with flint.ctx.workprec(precision):
        a, b = (
            flint.arb_mat(*x.shape, midpoints(v for row in x.to_fractions().tolist() for v in row))
            for x in (matrix, right)
        )
        other = a.solve(b, algorithm="approx")
    gained = []
    for k, expected in enumerate(solutions.T.tolist()):
        arb = right_bits([exactly(other[i, k]) for i in range(size)], expected)
        gained.append(right_bits(found[:, k].tolist(), expected) - arb)
    assert np.median(gained) >= -LEEWAY
