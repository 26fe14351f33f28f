"""Denominators and common divisors of rows and columns, taken out and put back."""

from fractions import Fraction

import gmpy2
import numpy as np

from exactla.core.scaling import RationalRows, compact, content, scaled


def values(matrix):
    return [[Fraction(int(x)) * Fraction(str(matrix.scale(i))) for x in row] for i, row in enumerate(matrix.integers)]


def test_rows_and_columns_become_primitive(rng):
    integers = rng.integers(-9, 9, (5, 4)) * np.array([2, 3, 1, 7, 4])[:, None] * np.array([6, 1, 10, 1])
    integers[2] = 0
    matrix = RationalRows(integers, [gmpy2.mpq(1, i + 1) for i in range(5)])
    form = scaled(matrix)
    assert content(form.integers) is None
    assert content(form.integers.T) is None
    rows, columns = form.rows or [1] * 5, form.columns or [1] * 4
    found = [[Fraction(str(rows[i])) * int(form.integers[i, j]) * columns[j] for j in range(4)] for i in range(5)]
    assert found == values(matrix)


def test_right_sides_follow_the_rows():
    form = scaled(RationalRows(np.array([[2, 4], [3, 9]]), None))
    right, divisor = form.right_side(RationalRows(np.array([[1], [1]]), None))
    # x + 2 y = 1/2 and x + 3 y = 1/3, times 6
    assert (right.tolist(), divisor) == ([[3], [2]], 6)


def test_the_most_negative_integer_is_no_int64():
    assert compact(np.array([-(1 << 63)], object)).dtype == object
    assert compact(np.array([1 - (1 << 63), (1 << 63) - 1], object)).dtype == np.int64
    assert compact(np.array([1 << 63], np.uint64)).tolist() == [1 << 63]
