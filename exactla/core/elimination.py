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
        candidates = [i for i in range(k, len(rows)) if rows[i][column]]
        if not candidates:
            continue
        # a short pivot keeps the numbers of this step short
        chosen = min(candidates, key=lambda i: abs(rows[i][column]))
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


def determinant(matrix: Sequence[Sequence[int]]) -> int:
    """The determinant of a square matrix; 1 for no rows."""
    form = echelon(matrix, len(matrix))
    if form.rank < len(matrix):
        return 0
    return int(parity(form.order) * form.denominator)


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
