"""The oracle of the LU factorisation: identities, bounds, the rules for pivots and scaling, and spoiled factors."""

import copy
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import lu_oracle
from tests.lu_oracle import Factors, PivotIsZero, power


def lotkin(n):
    return [[Fraction(1)] * n] + [[Fraction(1, i + j + 1) for j in range(n)] for i in range(1, n)]


def random(n, rng, spread=0):
    values = rng.integers(-(1 << 50), 1 << 50, (n, n)).tolist()
    scales = rng.integers(-spread, spread + 1, (n, n)).tolist()
    return [[Fraction(v) * power(e) for v, e in zip(*rows, strict=True)] for rows in zip(values, scales, strict=True)]


def defects(found: Factors) -> list[str]:
    """What is wrong with factors, by the definition written another way: in Fractions, from the products of L and U.

    With s the exact sum, every entry of U differs from s / 2**F by at most half a unit, every entry of L from
    s / U[j][j] likewise.
    """
    n, one = len(found.perm), 1 << found.precision
    wrong = []
    if sorted(found.perm) != list(range(n)):
        return ["permutation"]
    for i in range(n):
        for j in range(n):
            total = sum(found.lower[i][k] * found.upper[k][j] for k in range(min(i, j)))
            s = one * found.scaled[found.perm[i]][j] - total
            divisor, entry = (one, found.upper[i][j]) if i <= j else (found.upper[j][j], found.lower[i][j])
            error = abs(entry - Fraction(s, divisor))
            if error > Fraction(1, 2) or (error == Fraction(1, 2) and entry % 2):
                wrong.append(f"entry {i}, {j}")
            if i > j and found.upper[i][j]:
                wrong.append(f"upper {i}, {j}")
            if i < j and found.lower[i][j]:
                wrong.append(f"lower {i}, {j}")
            if i > j:
                pivot = one * found.scaled[found.perm[j]][j] - sum(
                    found.lower[j][k] * found.upper[k][j] for k in range(j)
                )
                candidate = one * found.scaled[found.perm[i]][j] - sum(
                    found.lower[i][k] * found.upper[k][j] for k in range(j)
                )
                if abs(candidate) > abs(pivot):
                    wrong.append(f"pivot {j}")
        if found.lower[i][i] != one:
            wrong.append(f"diagonal {i}")
    return wrong


@pytest.mark.parametrize("n", [0, 1, 2, 5, 12])
@pytest.mark.parametrize("precision", [10, 53, 200])
def test_factors_fulfil_the_definition(n, precision, rng):
    for matrix in (random(n, rng), random(n, rng, spread=60)):
        try:
            assert not defects(lu_oracle.factor(matrix, precision))
        except PivotIsZero:
            assert precision == 10


def test_lotkin_and_its_digits(rng):
    n, precision = 12, 300
    matrix = lotkin(n)
    found = lu_oracle.factor(matrix, precision)
    assert not defects(found)
    x = list(map(Fraction, range(1, n + 1)))
    b = [sum((a * v for a, v in zip(row, x, strict=True)), Fraction(0)) for row in matrix]
    errors = [abs(v / w - 1) for v, w in zip(lu_oracle.solve(found, b), x, strict=True)]
    assert max(errors) < power(-220)
    assert max(errors) > power(-300)


def test_backward_error_is_that_of_the_roundings(rng):
    n, precision = 9, 80
    found = lu_oracle.factor(random(n, rng), precision)
    one = 1 << precision
    for i in range(n):
        for j in range(n):
            product = sum(found.lower[i][k] * found.upper[k][j] for k in range(n))
            difference = abs(Fraction(product, one) - found.scaled[found.perm[i]][j])
            # half a unit for U; half of a unit of L times U[j][j]
            bound = Fraction(1, 2) if i <= j else Fraction(abs(found.upper[j][j]), 2 * one)
            assert difference <= bound


def test_the_first_of_equal_pivots_is_taken():
    assert lu_oracle.factor([[Fraction(1, 2), Fraction(1, 4)], [Fraction(-1, 2), Fraction(1, 3)]], 60).perm == [0, 1]
    assert lu_oracle.factor([[Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)]], 60).perm == [1, 0]
    ties = [[Fraction(v) for v in row] for row in ([0, 1, 0], [-1, 0, 0], [1, 0, 1])]
    assert lu_oracle.factor(ties, 60).perm[0] == 1


def test_interchanges_go_by_exact_sums():
    """Two sums that differ below the last place of U."""
    f = 20
    near = Fraction(1, 2) + power(-f) * Fraction(1, 2)
    matrix = [[Fraction(1, 2), Fraction(1, 8)], [near, Fraction(1, 3)]]
    found = lu_oracle.factor(matrix, f)
    assert found.scaled[0][0] == found.scaled[1][0] == 1 << (f - 1)  # rounded alike: the first is the pivot
    assert found.perm == [0, 1]


@given(
    st.lists(st.lists(st.integers(-1000, 1000), min_size=3, max_size=3), min_size=3, max_size=3), st.integers(-90, 90)
)
def test_equilibration(rows, shift):
    matrix = [[Fraction(v) * power(shift * (j - 1)) for j, v in enumerate(row)] for row in rows]
    row_exponents, column_exponents, _ = lu_oracle.equilibrated(matrix, 60)
    narrowed = [[v / power(column_exponents[j]) for j, v in enumerate(row)] for row in matrix]
    for column in zip(*narrowed, strict=True):
        assert not any(column) or Fraction(1, 2) <= max(map(abs, column)) < 1
    both = [[v / power(r) for v in row] for row, r in zip(narrowed, row_exponents, strict=True)]
    for row in both:
        assert not any(row) or Fraction(1, 2) <= max(map(abs, row)) < 1
    for column in zip(*both, strict=True):  # scaling a row up does not push a column past 1
        assert all(abs(v) < 1 for v in column)


def test_scaling_by_powers_of_two_changes_only_exponents(rng):
    matrix = random(6, rng)
    plain = lu_oracle.factor(matrix, 90)
    columns = rng.integers(-50, 50, 6).tolist()
    scaled = lu_oracle.factor([[v * power(c) for v, c in zip(row, columns, strict=True)] for row in matrix], 90)
    assert (scaled.lower, scaled.upper, scaled.perm) == (plain.lower, plain.upper, plain.perm)
    assert scaled.column_exponents == [e + c for e, c in zip(plain.column_exponents, columns, strict=True)]
    assert scaled.row_exponents == plain.row_exponents


@pytest.mark.parametrize(
    ("matrix", "column", "exact"),
    [
        ([[0, 0], [0, 0]], 0, True),
        ([[1, 2], [2, 4]], 1, True),
        ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 2, None),
        ([[0]], 0, True),
    ],
)
def test_a_pivot_of_zero(matrix, column, exact):
    with pytest.raises(PivotIsZero) as caught:
        lu_oracle.factor([[Fraction(v) for v in row] for row in matrix], 40)
    assert caught.value.column == column
    assert exact is None or caught.value.exact == exact


def test_a_pivot_of_zero_that_more_precision_mends():
    matrix = [[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 2), Fraction(1, 2) + power(-50)]]
    with pytest.raises(PivotIsZero):
        lu_oracle.factor(matrix, 40)
    assert not defects(lu_oracle.factor(matrix, 60))


@pytest.mark.parametrize("part", ["lower", "upper"])
def test_factors_spoiled_by_one_unit_are_noticed(part, rng):
    found = lu_oracle.factor(random(5, rng), 70)
    for i, j in np.ndindex(5, 5):
        spoiled = copy.deepcopy(getattr(found, part))
        spoiled[i][j] += 1
        assert defects(replace(found, **{part: spoiled}))


def test_other_permutations_are_noticed(rng):
    found = lu_oracle.factor(random(5, rng), 70)
    perm = [*found.perm[1:], found.perm[0]]
    assert defects(replace(found, perm=perm))
    assert defects(replace(found, perm=[0] * 5)) == ["permutation"]


@pytest.mark.parametrize(
    ("numerator", "denominator", "value"), [(1, 2, 0), (3, 2, 2), (-1, 2, 0), (-3, 2, -2), (7, -2, -4), (5, 3, 2)]
)
def test_rounding(numerator, denominator, value):
    assert lu_oracle.nearest(numerator, denominator) == value
