"""The reference `StepwiseElimination`: residues of L by rows, of U by columns, the two sides of exact products."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Engine
from exactla.core.limbs import Limbs, shifted_up
from exactla.core.moduli import ResidueBase
from exactla_backends.numpy import engines, tables, wide_tables
from exactla_backends.numpy.residues import centre


class HostElimination:
    """See `exactla.backend.StepwiseElimination`: each method has its postcondition there."""

    def __init__(self, matrix: Limbs, precision: int, base: ResidueBase, engine: Engine) -> None:
        self._matrix, self._precision, self._base, self._engine = matrix.copy(), precision, base, engine
        size, columns, _ = matrix.shape
        moduli, dtype = len(base.moduli), engines.DTYPES[engine.name]
        self._count = base.product.bit_length() // 64 + 1
        self._lower = np.zeros((moduli, size, size), dtype)
        self._upper = np.zeros((moduli, columns, size), dtype)  # by columns
        self._start = self._stop = 0
        self._sums: NDArray[Any] = np.zeros((moduli, 0, 0), np.int32)
        self._pivots: list[int] = []

    def open_columns(self, start: int, stop: int) -> None:
        self._start, self._stop, self._pivots = start, stop, []
        self._sums = self._product(slice(start, None), slice(start, stop))

    def column(self, j: int) -> Limbs:
        rows, columns = slice(self._start, None), slice(j, j + 1)
        found = self._finished(rows, columns, (slice(None), _moved(columns, self._start)), j)
        found[self._pivots] = 0
        return found

    def put_column(self, j: int, row: int, column: Limbs) -> None:
        self._pivots.append(row)
        self._lower[:, self._start :, j] = wide_tables.to_residues(column, self._base)

    def rest_of_row(self, j: int) -> Limbs:
        row = slice(self._pivots[-1], self._pivots[-1] + 1)
        columns = slice(j + 1, self._stop)
        rows = slice(row.start + self._start, row.stop + self._start)
        return self._finished(rows, columns, (row, _moved(columns, self._start)), j)

    def put_row(self, i: int, first: int, row: Limbs) -> None:
        self._upper[:, first : first + len(row), i] = wide_tables.to_residues(row, self._base)

    def exchange(self, start: int, order: NDArray[np.int64]) -> None:
        self._matrix[start:] = self._matrix[start:][order]
        self._lower[:, start:] = self._lower[:, start:][:, order]

    def open_rows(self, start: int, stop: int) -> None:
        self._start, self._stop = start, stop
        self._sums = self._product(slice(start, stop), slice(stop, None))

    def row(self, i: int) -> Limbs:
        rows = slice(i, i + 1)
        return self._finished(rows, slice(self._stop, None), (_moved(rows, self._start), slice(None)), i)

    def close(self) -> None:
        self._start = self._stop

    def _product(self, rows: slice, columns: slice) -> NDArray[Any]:
        """Sums over k < start, [P, rows, columns]."""
        left, right = self._lower[:, None, rows, : self._start], self._upper[:, None, columns, : self._start]
        return engines.multiply([(1, left, right)], ([0], [0]), self._base, self._engine)[:, 0]

    def _finished(self, rows: slice, columns: slice, place: tuple[slice, slice], end: int) -> Limbs:
        """s of one row or one column of an open block, whose sums go on from k = start to k = end - 1."""
        k = slice(self._start, end)
        left, right = (x.astype(np.float64, copy=False) for x in (self._lower[:, rows, k], self._upper[:, columns, k]))
        # at most 2**11 products of magnitudes up to 2**42
        more: NDArray[np.int64] = (left @ right.swapaxes(1, 2)).astype(np.int64)
        sums = more + self._sums[(slice(None), *place)]
        residues = centre(sums, tables.moduli(self._base)[:, :, None])
        matrix = self._matrix[rows, columns].reshape(-1, self._matrix.shape[-1])
        scaled = shifted_up(matrix, self._precision, self._count)
        return wide_tables.to_limbs(residues.reshape(len(residues), -1), self._base, self._count, scaled)


def _moved(places: slice, start: int) -> slice:
    return slice(places.start - start, places.stop - start)
