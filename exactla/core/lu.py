"""LU factorisation with partial pivoting in integers: every entry an exact sum, rounded once.

For a matrix A of integers in units of 2**-F, with RN to nearest, ties to even, and for j = 0, 1, ...:

    s_ij = 2**F A_ij - sum over k < min(i, j) of L_ik U_kj
    U_ij = RN(s_ij / 2**F) for i < j
    U_jj = RN(s_jj / 2**F) in the row i >= j with the largest |s_ij|, the first on ties, which trades places with row j
    L_ij = RN(s_ij / U_jj) for i > j, and L_jj = 2**F.

Sums stay in residues until they are final. Columns are taken in blocks; how many at a time cannot be seen.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Elimination, Multiprecision
from exactla.core.limbs import LIMB, Limbs, extended, from_limbs, to_limbs
from exactla.core.nearest import nearest_quotient, nearest_scaled
from exactla.core.planning import Arithmetic, arithmetic
from exactla.errors import WorkspaceError

BLOCK = 32
"""Columns whose sums are made by one product."""

GROWTH_BITS = 12
"""Growth of U that the moduli allow for at first."""

MORE_GROWTH_BITS = 116
"""What is added where U grows more."""

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Factors:
    """L [n, n, l], U [n, columns, l] in units of 2**-precision, and which row of the matrix each of their rows is."""

    lower: Limbs
    upper: Limbs
    order: tuple[int, ...]
    precision: int
    exchanges: int
    arithmetic: Arithmetic
    memory_bytes: int


class LostPivot(Exception):
    """A pivot rounds to 0: no |s_ij| of column `column` is more than |`value`| <= 2**(F - 1)."""

    def __init__(self, column: int, value: int) -> None:
        self.column = column
        self.value = value
        super().__init__()


class _Grown(Exception):
    """A sum might not be determined by the moduli."""


def factorize(
    verbs: Multiprecision,
    matrix: Limbs,
    precision: int,
    engine: str | None = None,
    memory: Callable[[], int] | None = None,
    progress: Progress | None = None,
) -> Factors:
    """The factors of a matrix of integers up to 2**precision, limbs [n, columns, l] with columns >= n.

    Parameters
    ----------
    engine : str, optional
        A forced engine.
    memory : callable, optional
        Gives the bytes that may be taken.
    progress : callable, optional
        Called as ``progress(columns done, n)`` after each block.

    Raises
    ------
    LostPivot
        A pivot rounds to 0.
    WorkspaceError
        Residues of the factors take more memory.
    """
    run = _Run(verbs, matrix, precision, engine, memory)
    size = len(matrix)
    start = 0
    while start < size:
        stop = min(start + BLOCK, size)
        try:
            run.block(start, stop)
        except _Grown:
            run.enlarge(start)
            continue
        start = stop
        if progress is not None:
            progress(stop, size)
    return run.factors()


class _Run:
    """A factorisation under way; what is known of the factors is on the host too."""

    def __init__(
        self,
        verbs: Multiprecision,
        matrix: Limbs,
        precision: int,
        engine: str | None,
        memory: Callable[[], int] | None,
    ) -> None:
        self.verbs, self.matrix, self.precision = verbs, matrix, precision
        self.engine, self.memory = engine, memory
        self.growth = GROWTH_BITS
        size, columns, _ = matrix.shape
        self.lower_limbs = (precision + 2) // LIMB + 1
        self.order = np.arange(size)
        self.exchanges = 0
        self.columns: list[tuple[NDArray[np.int64], Limbs]] = []  # of L: rows in the order that they had, and entries
        self.largest_lower = 1 << precision
        self.largest_upper = 1
        self.upper = np.zeros((size, columns, self._upper_limbs()), np.uint64)
        self.begin()

    def _upper_limbs(self) -> int:
        return (self.precision + self.growth + 1) // LIMB + 1

    def begin(self) -> None:
        """Start with residues of nothing."""
        size, columns, _ = self.matrix.shape
        bits = 2 * self.precision + self.growth + size.bit_length() + 2
        self.arithmetic = arithmetic(self.verbs, bits, self.engine)
        base, engine = self.arithmetic.base, self.arithmetic.engine
        self.memory_bytes = self.verbs.elimination_bytes(size, columns, base, engine)
        if self.memory is not None and self.memory_bytes > (allowed := self.memory()):
            raise WorkspaceError(self.memory_bytes, allowed)
        matrix = self.verbs.upload(self.matrix[self.order])
        self.elimination: Elimination = self.verbs.elimination(matrix, self.precision, base, engine)

    def enlarge(self, start: int) -> None:
        """Moduli for longer sums, and residues of the first columns and rows of the factors for them."""
        self.growth += MORE_GROWTH_BITS
        self.upper = extended(self.upper, self._upper_limbs())
        self.begin()
        lower, put = self._lower(start), self.elimination
        for first in range(0, start, BLOCK):
            stop = min(first + BLOCK, start)
            put.open_columns(first, stop)
            for j in range(first, stop):
                put.put_column(j, j - first, self.verbs.upload(lower[first:, j]))
            put.exchange(first, range(len(lower) - first))
            for i in range(first, stop):
                put.put_row(i, i + 1, self.verbs.upload(self.upper[i, i + 1 :]))
            put.close()

    def block(self, start: int, stop: int) -> None:
        """Columns start..stop-1 of L, and so many rows of U."""
        known = self.largest_lower, self.largest_upper
        try:
            order, exchanges, columns = self._columns(start, stop)
            entered = self.order[start:].copy()
            self.elimination.exchange(start, order.tolist())
            self._rows(start, stop)
            self.elimination.close()
        except _Grown:
            self.largest_lower, self.largest_upper = known
            raise
        self.order[start:] = entered[order]
        self.exchanges += exchanges
        self.columns.append((entered, columns))

    def _columns(self, start: int, stop: int) -> tuple[NDArray[np.int64], int, Limbs]:
        """The new order of the rows from `start` on, how many exchanges made it, and L in their old order."""
        verbs, elimination = self.verbs, self.elimination
        size = len(self.matrix)
        order = np.arange(size - start)
        exchanges = 0
        found = np.zeros((size - start, stop - start, self.lower_limbs), np.uint64)
        order, places, pivots, done, value = elimination.columns(start, stop, found, self.upper[start:stop])
        pv = from_limbs(pivots)
        if done < stop - start:
            raise LostPivot(start + done, int(from_limbs(value)[0]))
        for k in range(stop - start):
            self.upper[start + k, start + k] = pivots[k]
        return order, int(np.count_nonzero(places)), found

    def _rows(self, start: int, stop: int) -> None:
        if stop == self.matrix.shape[1]:
            return
        self.elimination.rows(start, stop, self.upper[start:stop])

    def _put_row(self, i: int, first: int, stop: int, sums: object) -> None:
        row = self.verbs.scale(sums, -self.precision, self.upper.shape[-1])
        self.elimination.put_row(i, first, row)
        self.upper[i, first:stop] = self.verbs.download(row)
        _, value = self.verbs.largest(row, range(stop - first))
        self.largest_upper = max(self.largest_upper, abs(value))

    def _check(self, terms: int) -> None:
        """Raise where a sum of so many products might be too long for the moduli, or an entry of U for its limbs."""
        bound = (1 << 2 * self.precision) + terms * self.largest_lower * self.largest_upper
        limit = min(self.arithmetic.base.product >> 2, 1 << (self.precision + LIMB * self.upper.shape[-1] - 2))
        if bound > limit:
            raise _Grown

    def _lower(self, stop: int) -> Limbs:
        """The first columns of L, its rows in the order of now; 0 on the diagonal and above."""
        size = len(self.matrix)
        lower = np.zeros((size, stop, self.lower_limbs), np.uint64)
        start = 0
        for entered, columns in self.columns:
            place = np.empty(size, np.int64)
            place[entered] = np.arange(len(entered))
            width = columns.shape[1]
            lower[start:, start : start + width] = columns[place[self.order[start:]]]
            start += width
        lower[np.triu_indices(size, 0, stop)] = 0
        return lower

    def factors(self) -> Factors:
        """What was found."""
        size = len(self.matrix)
        lower = self._lower(size)
        lower[np.arange(size), np.arange(size)] = to_limbs([1 << self.precision], self.lower_limbs)
        return Factors(
            lower,
            self.upper,
            tuple(int(i) for i in self.order),
            self.precision,
            self.exchanges,
            self.arithmetic,
            self.memory_bytes,
        )
