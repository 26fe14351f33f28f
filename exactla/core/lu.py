"""LU factorisation with partial pivoting in integers: every entry an exact sum, rounded once.

For a matrix A of integers in units of 2**-F, with RN to nearest, ties to even, and for j = 0, 1, ...:

    s_ij = 2**F A_ij - sum over k < min(i, j) of L_ik U_kj
    U_ij = RN(s_ij / 2**F) for i < j
    U_jj = RN(s_jj / 2**F) in the row i >= j with the largest |s_ij|, the first on ties, which trades places with row j
    L_ij = RN(s_ij / U_jj) for i > j, and L_jj = 2**F.

Sums stay in residues until they are final. Columns are taken in blocks; how many at a time cannot be seen.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Buffer, Elimination, Multiprecision
from exactla.core.limbs import LIMB, OCTETS, to_limbs
from exactla.core.long_buffers import diagonal, rows_of, with_limbs
from exactla.core.planning import Arithmetic, ModulusLimits, arithmetic
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
    """Buffers of L [n, n, l] and U [n, columns, l] in units of 2**-precision, and which row each of theirs is."""

    lower: Buffer
    upper: Buffer
    order: tuple[int, ...]
    pivots: tuple[int, ...]
    precision: int
    exchanges: int
    arithmetic: Arithmetic
    memory_bytes: int
    host_syncs: int
    seconds: dict[str, float]


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
    matrix: Buffer,
    precision: int,
    engine: str | None = None,
    memory: Callable[[], int] | None = None,
    progress: Progress | None = None,
) -> Factors:
    """The factors of a matrix of integers up to 2**precision, a buffer of limbs [n, columns, l] with columns >= n.

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
        The factors and their residues take more memory.
    """
    run = _Run(verbs, matrix, precision, engine, memory)
    start = 0
    while start < run.size:
        stop = min(start + BLOCK, run.size)
        try:
            run.block(start, stop)
        except _Grown:
            run.enlarge(start)
            continue
        start = stop
        if progress is not None:
            progress(stop, run.size)
    return run.factors()


class _Run:
    """A factorisation under way. The host knows pivots, the order of rows, and how long entries of U are."""

    def __init__(
        self,
        verbs: Multiprecision,
        matrix: Buffer,
        precision: int,
        engine: str | None,
        memory: Callable[[], int] | None,
    ) -> None:
        self.verbs, self.matrix, self.precision = verbs, matrix, precision
        self.engine, self.memory = engine, memory
        self.size: int = matrix.shape[0]
        self.growth = GROWTH_BITS
        self.lower_limbs = (precision + 2) // LIMB + 1
        self.order = np.arange(self.size)
        self.exchanges = 0
        self.host_syncs = 0
        self.seconds: dict[str, float] = {}  # of eliminations that were given up
        self.pivots: list[int] = []
        self.upper_bits = 0
        self.columns: list[tuple[NDArray[np.int64], Buffer]] = []  # of L: rows in the order that they had, and entries
        self.begin()
        self.upper = verbs.zeros((*matrix.shape[:2], self.upper_limbs))

    def begin(self) -> None:
        """Start with residues of nothing."""
        size, columns = self.size, self.matrix.shape[1]
        bits = 2 * self.precision + self.growth + size.bit_length() + 2
        self.arithmetic = arithmetic(self.verbs, bits, self.engine, ModulusLimits(self.verbs.elimination_limit))
        base, engine = self.arithmetic.base, self.arithmetic.engine
        # of whatever the moduli can tell
        self.upper_limbs = max(base.product.bit_length() - self.precision, 1) // LIMB + 1
        factors = OCTETS * size * (columns * self.upper_limbs + 2 * size * self.lower_limbs)
        self.memory_bytes = factors + self.verbs.elimination_bytes(size, columns, base, engine)
        if self.memory is not None and self.memory_bytes > (allowed := self.memory()):
            raise WorkspaceError(self.memory_bytes, allowed, "factors and their residues need")
        matrix = rows_of(self.verbs, self.matrix, self.order) if self.columns else self.matrix
        self.elimination: Elimination = self.verbs.elimination(matrix, self.precision, base, engine)

    def enlarge(self, start: int) -> None:
        """Moduli for longer sums, and residues of the first columns and rows of the factors for them."""
        self.growth += MORE_GROWTH_BITS
        self.seconds = _added(self.seconds, self.elimination.seconds)
        self.begin()
        self.upper = with_limbs(self.verbs, self.upper, self.upper_limbs)
        lower = self._lower(start)
        for first in range(0, start, BLOCK):
            stop = min(first + BLOCK, start)
            self.elimination.put(first, stop, lower[first:, first:stop], self.upper[first:stop])

    def block(self, start: int, stop: int) -> None:
        """Columns start..stop-1 of L, and so many rows of U."""
        del self.pivots[start:]
        order, exchanges, columns = self._columns(start, stop)
        self.elimination.exchange(start, order)
        self.elimination.rows(start, stop, self.upper[start:stop])
        self.elimination.close()  # which the device can do before it is waited for
        self.upper_bits = self._checked_bits(start, stop, self.matrix.shape[1])
        entered = self.order[start:].copy()
        self.order[start:] = entered[order]
        self.exchanges += exchanges
        self.columns.append((entered, columns))

    def _columns(self, start: int, stop: int) -> tuple[NDArray[np.int64], int, Buffer]:
        """The new order of the rows from `start` on, how many exchanges made it, and L in their old order."""
        columns = self.verbs.zeros((self.size - start, stop - start, self.lower_limbs))
        found = self.elimination.columns(start, stop, columns, self.upper[start:stop])
        self.pivots += found.values
        self.host_syncs += len(found.values)
        if found.lost is not None:
            done = len(self.pivots)
            self._checked_bits(start, done, stop)
            raise LostPivot(done, found.lost)
        return found.order, found.exchanges, columns

    def _checked_bits(self, start: int, stop: int, columns: int) -> int:
        """Bits of U down to row `stop`; raises where a sum so far, in these columns, might be beyond the moduli.

        The first sum that was would come from entries of U that are right, and so be below the bound of those that
        were found, right or wrong. So no sum was where that bound is not. |L_ij| is at most 3/2 2**F, because
        |s_ij| <= |s_jj| < (|U_jj| + 1/2) 2**F.
        """
        found = [self.upper_bits, *(p.bit_length() for p in self.pivots[start:stop])]
        self.host_syncs += 1
        found.append(self.verbs.most_bits(self.upper[start:stop, start:columns]))
        bits = max(found)
        bound = (1 << 2 * self.precision) + (3 * stop << self.precision + bits - 1)
        if bound > self.arithmetic.base.product >> 2:
            raise _Grown
        return bits

    def _lower(self, stop: int) -> Buffer:
        """The first columns of L, its rows in the order of now; on the diagonal and above are any numbers."""
        lower = self.verbs.zeros((self.size, stop, self.lower_limbs))
        start = 0
        while self.columns:
            entered, columns = self.columns.pop(0)
            place = np.empty(self.size, np.int64)
            place[entered] = np.arange(len(entered))
            width = columns.shape[1]
            moved = rows_of(self.verbs, columns, place[self.order[start:]])
            self.verbs.store(lower[start:, start : start + width], moved)
            start += width
        self.columns.append((self.order.copy(), lower))
        return lower

    def factors(self) -> Factors:
        """What was found."""
        lower = self._lower(self.size)
        ones = to_limbs([1 << self.precision] * self.size, self.lower_limbs)
        self.verbs.store(diagonal(lower), self.verbs.upload(ones))
        self.verbs.store(diagonal(self.upper), self.verbs.upload(to_limbs(self.pivots, self.upper_limbs)))
        return Factors(
            lower,
            self.upper,
            tuple(self.order.tolist()),
            tuple(self.pivots),
            self.precision,
            self.exchanges,
            self.arithmetic,
            self.memory_bytes,
            self.host_syncs,
            _added(self.seconds, self.elimination.seconds),
        )


def _added(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    return {name: first.get(name, 0.0) + second.get(name, 0.0) for name in {**first, **second}}
