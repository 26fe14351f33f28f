"""Triangular factors in residues, by the native library: see `exactla.backend.Elimination`.

An open block is kept apart, as columns of L and rows of U, so that entries of what is found next lie side by side. When
the block ends it joins L, held by rows, and U, packed, which are the two sides of the products for blocks to come.
"""

import ctypes
from collections.abc import Sequence

import numpy as np

from exactla.core.limbs import Limbs
from exactla.core.moduli import ResidueBase
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import I64, Array, Instructions
from exactla_backends.cpu.residues import aligned, padded, padded_columns, padded_depth
from exactla_backends.cpu.wide import base_table

SLAB = 64
READ = 128
"""Entries past a row that may be read."""

MOST_COLUMNS = 64
"""Of a block."""


def elimination_bytes(rows: int, columns: int, base: ResidueBase) -> int:
    """Bytes of what an elimination holds."""
    planes, depth = 2 * len(base.moduli), padded_depth(rows)
    factors = planes * (rows + padded_columns(columns)) * depth + planes * columns * SLAB
    return factors + planes * min(rows, MOST_COLUMNS) * (2 * max(rows, columns) + rows + 3 * READ)


class NativeElimination:
    """See `exactla.backend.Elimination`: each method has its postcondition there."""

    def __init__(self, native: Instructions, matrix: Limbs, precision: int, base: ResidueBase) -> None:
        self._native, self._matrix, self._precision, self._base = native, matrix.copy(), precision, base
        size, columns, _ = matrix.shape
        moduli, block = len(base.moduli), min(size, MOST_COLUMNS)
        self._count = base.product.bit_length() // 64 + 1
        self._lower = np.zeros((moduli, 2, size, padded_depth(size)), np.int8)
        self._upper = aligned((moduli, 2, padded_columns(columns) * padded_depth(size)))
        self._slab = np.zeros((moduli, 2, columns, SLAB), np.int8)
        self._panel_lower = np.zeros((moduli, block, padded(size, SLAB) + READ), np.int16)
        self._panel_upper = np.zeros((moduli, block, padded(columns, SLAB) + READ), np.int16)
        self._sums = np.zeros((moduli, block, padded(max(size, columns), SLAB) + READ), np.int16)
        constants = library.product_constants(base, 2)
        arrays = (self._lower, self._upper, self._slab, self._panel_lower, self._panel_upper, self._sums)
        strides = (x.shape[2] for x in arrays[3:])
        self._job = library.keep(
            library.Elimination(
                library.pointer(constants),
                moduli,
                padded_depth(size),
                *map(library.pointer, arrays),
                size,
                columns,
                block,
                *strides,
            ),
            constants,
        )
        self._start = self._stop = 0
        self._pivots: list[int] = []

    def _run(self, name: str, *arguments: object) -> None:
        self._native.run(name, ctypes.byref(self._job), *arguments)

    def open_columns(self, start: int, stop: int) -> None:
        self._start, self._stop, self._pivots = start, stop, []
        self._run("column_sums", I64(start), I64(stop))

    def column(self, j: int) -> Limbs:
        k = j - self._start
        sums = self._sums[:, k, : len(self._matrix) - self._start]
        found = self._finished(
            sums, self._panel_lower[:, :k, : sums.shape[1]], self._panel_upper[:, :k, j], self._matrix[self._start :, j]
        )
        found[self._pivots] = 0
        return found

    def put_column(self, j: int, row: int, column: Limbs) -> None:
        self._pivots.append(row)
        self._put(column, self._panel_lower[:, j - self._start, : len(column)])

    def rest_of_row(self, j: int) -> Limbs:
        row, k = self._pivots[-1], j - self._start
        width = self._stop - 1 - j
        sums = np.zeros((len(self._sums), padded(width, SLAB)), np.int16)
        sums[:, :width] = self._sums[:, k + 1 : k + 1 + width, row]
        return self._finished(
            sums[:, :width],
            self._panel_upper[:, :k, j + 1 : self._stop],
            self._panel_lower[:, :k, row],
            self._matrix[self._start + row, j + 1 : self._stop],
        )

    def put_row(self, i: int, first: int, row: Limbs) -> None:
        self._put(row, self._panel_upper[:, i - self._start, first : first + len(row)])

    def exchange(self, start: int, order: Sequence[int]) -> None:
        places = np.ascontiguousarray(order, np.int64)
        self._matrix[start:] = self._matrix[start:][places]
        self._run("exchange", I64(start), I64(self._stop), library.Pointer(library.pointer(places)))

    def open_rows(self, start: int, stop: int) -> None:
        self._start, self._stop = start, stop
        self._run("row_sums", I64(start), I64(stop))

    def row(self, i: int) -> Limbs:
        k = i - self._start
        width = self._matrix.shape[1] - self._stop
        return self._finished(
            self._sums[:, k, :width],
            self._panel_upper[:, :k, self._stop : self._stop + width],
            self._panel_lower[:, :k, k],
            self._matrix[i, self._stop :],
        )

    def close(self) -> None:
        self._run("keep_upper", I64(self._start), I64(self._stop))

    def _finished(self, sums: Array, vectors: Array, factors: Array, minuend: Limbs) -> Limbs:
        """2**F minuend - (sums [P, n] + the sum over k of factors [P, k] times vectors [P, k, n])."""
        found = np.empty((sums.shape[1], self._count), np.uint64)
        matrix = library.long_integers(minuend[None])
        job = library.WideSums(
            library.pointer(sums),
            sums.strides[0] // 2,
            0,
            library.pointer(vectors),
            vectors.strides[0] // 2,
            vectors.strides[1] // 2,
            library.pointer(factors),
            factors.strides[0] // 2,
            factors.strides[1] // 2,
            factors.shape[1],
            ctypes.addressof(matrix),
            self._precision,
        )
        self._native.run(
            "wide_integers",
            ctypes.byref(base_table(self._base, 0, self._count)),
            ctypes.byref(library.keep(job, matrix)),
            ctypes.byref(library.long_integers(found[None])),
        )
        return found

    def _put(self, limbs: Limbs, residues: Array) -> None:
        places = library.WidePlaces(library.pointer(residues), None, residues.strides[0] // 2, 0)
        self._native.run(
            "wide_residues",
            ctypes.byref(base_table(self._base, limbs.shape[-1], 0)),
            ctypes.byref(library.long_integers(limbs[None])),
            ctypes.byref(places),
        )
