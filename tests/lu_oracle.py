"""The LU factorisation by its definition, in Python's integers: one exact sum and one rounding an entry.

Shares no code with exactla. A matrix is a list of rows of Fractions. Everything of the result is an integer:

Equilibration: columns first, by powers of two, so that the largest magnitude of each lies in [1/2, 1); rows after
that, likewise; what is 0 throughout stays as it is. With F the precision and A' the scaled matrix times 2**F, rounded
to integers, for j = 0, 1, ..., n - 1:

    s[i][j] = 2**F A'[i][j] - sum over k < min(i, j) of L[i][k] U[k][j]
    U[i][j] = RN(s[i][j] / 2**F)                                            for i < j
    the pivot is the row i >= j with the largest |s[i][j]|, the first of several
    U[j][j] = RN(s[j][j] / 2**F),   L[i][j] = RN(2**F s[i][j] / (2**F U[j][j])) = RN(s[i][j] / U[j][j])   for i > j

RN is to nearest, ties to even. L and U hold integers in units of 2**-F, and the diagonal of L is 2**F.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Rows = Sequence[Sequence[Fraction]]


@dataclass(frozen=True)
class Factors:
    """P A' = L U up to rounding: row i of the permuted matrix is row perm[i] of A'."""

    precision: int
    perm: list[int]
    lower: list[list[int]]
    upper: list[list[int]]
    row_exponents: list[int]
    column_exponents: list[int]
    scaled: list[list[int]]
    """A', in the order of the rows as they were given."""


class PivotIsZero(ArithmeticError):
    """U[j][j] rounds to 0 in column `column`, which is exactly 0 where `exact`."""

    def __init__(self, column: int, exact: bool) -> None:
        super().__init__(f"the pivot of column {column} rounds to 0")
        self.column, self.exact = column, exact


def factor(matrix: Rows, precision: int) -> Factors:
    """The factors of a square matrix.

    Raises
    ------
    PivotIsZero
        A pivot rounds to 0.
    """
    rows, columns, scaled = equilibrated(matrix, precision)
    n = len(scaled)
    one = 1 << precision
    perm = list(range(n))
    working = [[one * entry for entry in row] for row in scaled]
    lower = [[0] * n for _ in range(n)]
    upper = [[0] * n for _ in range(n)]
    for j in range(n):
        for i in range(j):  # sums of this column are exact, from entries that are final
            upper[i][j] = nearest(working[i][j] - inner(lower[i], upper, j, i), one)
        for i in range(j, n):
            working[i][j] -= inner(lower[i], upper, j, j)
        pivot = max(range(j, n), key=lambda i: (abs(working[i][j]), -i))
        perm[j], perm[pivot] = perm[pivot], perm[j]
        for held in (working, lower):
            held[j], held[pivot] = held[pivot], held[j]
        upper[j][j] = nearest(working[j][j], one)
        if not upper[j][j]:
            raise PivotIsZero(j, working[j][j] == 0)
        lower[j][j] = one
        for i in range(j + 1, n):
            lower[i][j] = nearest(working[i][j], upper[j][j])
    return Factors(precision, perm, lower, upper, rows, columns, scaled)


def equilibrated(matrix: Rows, precision: int) -> tuple[list[int], list[int], list[list[int]]]:
    """Exponents r and c, and RN(2**precision A[i][j] / 2**(r[i] + c[j]))."""
    values = [[Fraction(entry) for entry in row] for row in matrix]
    columns = [exponent(column) for column in zip(*values, strict=True)]
    narrowed = [[entry / power(c) for entry, c in zip(row, columns, strict=True)] for row in values]
    rows = [exponent(row) for row in narrowed]
    scaled = [
        [round(entry / power(r) * power(precision)) for entry in row] for row, r in zip(narrowed, rows, strict=True)
    ]
    return rows, columns, scaled


def exponent(values: Sequence[Fraction]) -> int:
    """The e with 2**(e - 1) <= largest magnitude < 2**e; 0 for zeros."""
    largest = max(map(abs, values), default=Fraction(0))
    if not largest:
        return 0
    found = largest.numerator.bit_length() - largest.denominator.bit_length()
    while largest >= power(found):
        found += 1
    while largest < power(found - 1):
        found -= 1
    return found


def power(e: int) -> Fraction:
    """2**e."""
    return Fraction(2) ** e


def nearest(numerator: int, denominator: int) -> int:
    """The integer nearest to numerator / denominator, the even one of two."""
    return round(Fraction(numerator, denominator))


def inner(row: Sequence[int], upper: Sequence[Sequence[int]], column: int, length: int) -> int:
    """The sum of the first `length` products of a row of L and a column of U."""
    return sum(row[k] * upper[k][column] for k in range(length))


def solve(factors: Factors, right: Sequence[Fraction]) -> list[Fraction]:
    """Substitution with the factors in exact rational numbers: what a solution by them is measured against."""
    n, one = len(right), 1 << factors.precision
    b = [right[p] / power(factors.row_exponents[p]) for p in factors.perm]
    y: list[Fraction] = []
    for i in range(n):
        y.append(b[i] - sum((Fraction(factors.lower[i][k], one) * y[k] for k in range(i)), Fraction(0)))
    x = [Fraction(0)] * n
    for i in reversed(range(n)):
        left = y[i] - sum((Fraction(factors.upper[i][k], one) * x[k] for k in range(i + 1, n)), Fraction(0))
        x[i] = left / Fraction(factors.upper[i][i], one)
    return [value / power(c) for value, c in zip(x, factors.column_exponents, strict=True)]


def substituted(factors: Factors, right: Sequence[Fraction]) -> list[Fraction]:
    """Substitution in fixed point: b scaled to a largest entry in [1/2, 1), every component rounded once.

    They have 32 bits more than the factors.
    """
    n, one, precision = len(right), 1 << factors.precision, factors.precision + 32
    scaled = [b / power(r) for b, r in zip(right, factors.row_exponents, strict=True)]
    top = exponent(scaled)
    b = [round(scaled[p] * power(precision - top)) for p in factors.perm]
    y: list[int] = []
    for i in range(n):
        y.append(nearest(one * b[i] - sum(factors.lower[i][k] * y[k] for k in range(i)), one))
    x = [0] * n
    for i in reversed(range(n)):
        x[i] = nearest(one * y[i] - sum(factors.upper[i][k] * x[k] for k in range(i + 1, n)), factors.upper[i][i])
    return [v * power(top - c - precision) for v, c in zip(x, factors.column_exponents, strict=True)]


def refined(factors: Factors, matrix: Rows, right: Sequence[Fraction], steps: int) -> list[Fraction]:
    """Refinement with exact residuals and sums: x + S(b - A x), so many times, from S(b)."""
    x = substituted(factors, right)
    for _ in range(steps):
        residual = [
            b - sum((a * v for a, v in zip(row, x, strict=True)), Fraction(0))
            for row, b in zip(matrix, right, strict=True)
        ]
        x = [v + d for v, d in zip(x, substituted(factors, residual), strict=True)]
    return x
