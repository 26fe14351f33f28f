"""Triangular factors in residues, by the native library: see `exactla.backend.Elimination`.

An open block is kept apart, as columns of L and rows of U, so that entries of what is found next lie side by side. When
the block ends it joins L, held by rows, and U, packed, which are the two sides of the products for blocks to come.
"""

import ctypes
from time import perf_counter

import numpy as np

from exactla.backend import Pivots
from exactla.core.limbs import Limbs, from_limbs
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


PARTS = "conversion", "reconstruction"
"""What the native library counts the time of."""


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
        self.seconds = dict.fromkeys(("update", "panel", "conversion", "reconstruction"), 0.0)

    def _run(self, name: str, *arguments: object) -> None:
        start = perf_counter()
        self._native.run(name, ctypes.byref(self._job), *arguments)
        self.seconds["update"] += perf_counter() - start

    def _finish(self, name: str, panel: ctypes.Structure) -> int:
        """Run a function of a panel, and count its time: what its threads have not counted is the panel's."""
        nanoseconds = np.zeros(len(PARTS), np.int64)
        panel.nanoseconds = library.pointer(nanoseconds)
        start = perf_counter()
        found = self._native.run(name, ctypes.byref(panel))
        rest = perf_counter() - start
        for part, count in zip(PARTS, nanoseconds.tolist(), strict=True):
            self.seconds[part] += count * 1e-9
            rest -= count * 1e-9
        self.seconds["panel"] += rest
        return found

    def columns(self, start: int, stop: int, lower: Limbs, upper: Limbs) -> Pivots:
        self._start, self._stop = start, stop
        self._run("column_sums", I64(start), I64(stop))
        order, places = np.arange(len(lower)), np.zeros(stop - start, np.int64)
        pivots, value = np.zeros((stop - start, upper.shape[-1]), np.uint64), np.zeros((1, self._count), np.uint64)
        panel = self._panel(lower, upper)
        panel.order, panel.places, panel.pivots, panel.value = map(library.pointer, (order, places, pivots, value))
        done = self._finish("panel_columns", panel)
        lost = int(from_limbs(value)[0]) if done < stop - start else None
        return Pivots(order, int(np.count_nonzero(places[:done])), from_limbs(pivots[:done]).tolist(), lost)

    def exchange(self, start: int, order: Array) -> None:
        self._matrix[start:] = self._matrix[start:][order]
        self._exchange(np.ascontiguousarray(order))

    def rows(self, start: int, stop: int, upper: Limbs) -> None:
        self._run("row_sums", I64(start), I64(stop))
        self._finish("panel_rows", self._panel(upper[:, :0], upper))

    def close(self) -> None:
        self._run("keep_upper", I64(self._start), I64(self._stop))

    def put(self, start: int, stop: int, lower: Limbs, upper: Limbs) -> None:
        self._start, self._stop = start, stop
        for k in range(stop - start):
            self._put(lower[:, k], self._panel_lower[:, k, : len(lower)])
            first = start + k + 1
            self._put(upper[k, first:], self._panel_upper[:, k, first : upper.shape[1]])
        self._exchange(np.arange(len(lower)))
        self.close()

    def _exchange(self, places: Array) -> None:
        self._run("exchange", I64(self._start), I64(self._stop), library.Pointer(library.pointer(places)))

    def _panel(self, lower: Limbs, upper: Limbs) -> ctypes.Structure:
        tables = (
            base_table(self._base, 0, self._count),
            base_table(self._base, lower.shape[-1], 0),
            base_table(self._base, upper.shape[-1], 0),
        )
        entries = [library.long_integers(x) for x in (self._matrix, lower, upper)]
        return library.keep(
            library.Panel(
                ctypes.addressof(self._job),
                *map(ctypes.addressof, (*tables, *entries)),
                self._precision,
                self._start,
                self._stop,
            ),
            *tables,
            *entries,
        )

    def _put(self, limbs: Limbs, residues: Array) -> None:
        places = library.WidePlaces(library.pointer(residues), None, residues.strides[0] // 2, 0)
        self._native.run(
            "wide_residues",
            ctypes.byref(base_table(self._base, limbs.shape[-1], 0)),
            ctypes.byref(library.long_integers(limbs[None])),
            ctypes.byref(places),
        )
