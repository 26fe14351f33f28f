"""Fraction-free elimination of small matrices on the host: everything about a system from one echelon form.

Rows are lists of integers. After k pivots every entry is a minor of order k of the rows as given (Bareiss 1968,
"Sylvester's identity and multistep integer-preserving Gaussian elimination"), so divisions are exact and entries stay
as short as determinants are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import gmpy2

Rows = list[list[Any]]


@dataclass(frozen=True)
class Echelon:
    """A reduced echelon form, scaled to integers.

    Attributes
    ----------
    rows : list of list of int
        Row k has `denominator` in column pivots[k] and 0 in the other pivot columns; rows past the rank are zero in
        the columns that were eliminated.
    pivots : list of int
        The pivot columns, ascending.
    order : list of int
        Row k comes from row order[k] of the matrix as it was given.
    denominator : int
        The minor of the pivot rows, in this order, and the pivot columns; 1 for rank 0.
    """

    rows: Rows
    pivots: list[int]
    order: list[int]
    denominator: Any

    @property
    def rank(self) -> int:
        """Number of pivots."""
        return len(self.pivots)


def echelon(matrix: Sequence[Sequence[int]], columns: int) -> Echelon:
    """The reduced echelon form of integer rows, with pivots among the first `columns` columns."""
    rows: Rows = [[gmpy2.mpz(x) for x in row] for row in matrix]
    order = list(range(len(rows)))
    pivots: list[int] = []
    denominator: Any = gmpy2.mpz(1)
    for column in range(columns):
        k = len(pivots)
        chosen = _pivot(rows, k, column)
        if chosen is None:
            continue
        rows[k], rows[chosen] = rows[chosen], rows[k]
        order[k], order[chosen] = order[chosen], order[k]
        pivots.append(column)
        _eliminate(rows, k, column, denominator)
        denominator = rows[k][column]
    return Echelon(rows, pivots, order, denominator)


def _eliminate(rows: Rows, k: int, column: int, previous: Any) -> None:
    """Clear the column in all rows but k, and leave the pivot of row k in all pivot columns."""
    pivot_row = rows[k]
    pivot = pivot_row[column]
    for i, row in enumerate(rows):
        if i != k:
            factor = row[column]
            rows[i] = [gmpy2.divexact(pivot * x - factor * y, previous) for x, y in zip(row, pivot_row, strict=True)]


@dataclass(frozen=True)
class Factors:
    """A nonsingular matrix after the eliminations below its diagonal: ready for right-hand sides.

    Attributes
    ----------
    rows : list of list of int
        On the diagonal the leading minors, to the right of it rows as they were when they became pivots, to the left
        of it the entries that were eliminated.
    order : list of int
        As in `Echelon`.
    """

    rows: Rows
    order: list[int]

    @property
    def determinant(self) -> Any:
        """The determinant."""
        return parity(self.order) * self._minor

    @property
    def _minor(self) -> Any:
        return self.rows[-1][-1] if self.rows else gmpy2.mpz(1)

    def solve(self, right_side: Sequence[Any]) -> tuple[list[Any], Any]:
        """Numerators and a denominator, the determinant up to its sign, of the solution for one right-hand side."""
        values = [gmpy2.mpz(right_side[i]) for i in self.order]
        previous: Any = gmpy2.mpz(1)
        for k, row in enumerate(self.rows):
            for i in range(k + 1, len(values)):
                values[i] = gmpy2.divexact(row[k] * values[i] - self.rows[i][k] * values[k], previous)
            previous = row[k]
        for i in reversed(range(len(values))):
            known = sum(map(gmpy2.mul, self.rows[i][i + 1 :], values[i + 1 :]))
            values[i] = gmpy2.divexact(self._minor * values[i] - known, self.rows[i][i])
        return values, self._minor


def factors(matrix: Sequence[Sequence[Any]]) -> Factors | None:
    """The factors of a square matrix; None where it is singular."""
    rows: Rows = [[gmpy2.mpz(x) for x in row] for row in matrix]
    order = list(range(len(rows)))
    previous: Any = gmpy2.mpz(1)
    for k in range(len(rows)):
        chosen = _pivot(rows, k, k)
        if chosen is None:
            return None
        rows[k], rows[chosen] = rows[chosen], rows[k]
        order[k], order[chosen] = order[chosen], order[k]
        pivot, right = rows[k][k], rows[k][k + 1 :]
        for row in rows[k + 1 :]:
            factor = row[k]
            row[k + 1 :] = [
                gmpy2.divexact(pivot * x - factor * y, previous) for x, y in zip(row[k + 1 :], right, strict=True)
            ]
        previous = pivot
    return Factors(rows, order)


def _pivot(rows: Rows, k: int, column: int) -> int | None:
    """The row from k on with the shortest pivot, which keeps the numbers of a step short; None where all are 0."""
    candidates = [i for i in range(k, len(rows)) if rows[i][column]]
    return min(candidates, key=lambda i: abs(rows[i][column]), default=None)


def determinant(matrix: Sequence[Sequence[int]]) -> int:
    """The determinant of a square matrix; 1 for no rows."""
    found = factors(matrix)
    return 0 if found is None else int(found.determinant)


def parity(order: Sequence[int]) -> int:
    """The sign of a permutation: 1 or -1."""
    seen = [False] * len(order)
    signs = []
    for start in range(len(order)):
        length, i = 0, start
        while not seen[i]:
            seen[i] = True
            length, i = length + 1, order[i]
        signs.append(-1 if length and length % 2 == 0 else 1)
    return prod(signs)
