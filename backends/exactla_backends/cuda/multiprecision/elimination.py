"""Triangular factors in residues: see `exactla.backend.StepwiseElimination`; `elimination.cu` has the kernels.

An open block is kept apart, as columns of L and rows of U in residues, so that entries of what is found next lie side
by side. When the block ends it joins the digits of L by rows and of U by columns, which are the two sides of the
products for blocks to come.
"""

from math import prod
from typing import Any

import numpy as np

from exactla.core.limbs import OCTETS
from exactla.core.moduli import ResidueBase
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.matrix.matrix import CudaMatrix
from exactla_backends.cuda.matrix.task import Planes
from exactla_backends.cuda.multiprecision import limbs
from exactla_backends.cuda.multiprecision.conversions import Conversions, Difference, ResidueSums
from exactla_backends.cuda.multiprecision.limbs import GRID_LIMIT, THREADS, WideKernels
from exactla_backends.device.device import HostArray, Memory
from exactla_backends.device.planes import COLUMNS, DEPTH, padded

MOST_COLUMNS = 64
"""Of a block."""

MOVED_BYTES = 1 << 28
"""Memory for rows on their way to other places."""

RESIDUE_OCTETS = 2


def elimination_bytes(rows: int, columns: int, base: ResidueBase) -> int:
    """Bytes of what an elimination holds."""
    moduli, block = len(base.moduli), min(rows, MOST_COLUMNS)
    panel = RESIDUE_OCTETS * moduli * block * (padded(rows, COLUMNS) + 2 * padded(max(rows, columns), COLUMNS))
    lower, upper = (2 * moduli * lines * padded(rows, DEPTH) for lines in (rows, columns))
    return lower + upper + panel + min(lower, MOVED_BYTES)


class CudaElimination:
    """Each method has its postcondition in `exactla.backend.StepwiseElimination`.

    The attributes are what `panel` reads and writes: residues of the sums, of L and of U in an open block.
    """

    def __init__(
        self,
        device: CudaDevice,
        matrix_units: CudaMatrix,
        conversions: Conversions,
        matrix: Any,
        precision: int,
        base: ResidueBase,
    ) -> None:
        self.device, self._units, self._conversions = device, matrix_units, conversions
        self.tables = conversions.tables
        self._kernels = WideKernels(device)
        self.precision, self.base = precision, base
        self.size, self.columns = matrix.shape[:2]
        self._moduli, self.count = len(base.moduli), base.product.bit_length() // 64 + 1
        self.matrix = limbs.new(device, matrix.shape)
        device.copy(limbs.contiguous(matrix).data, self.matrix.data, OCTETS * prod(matrix.shape))
        self._depth = padded(self.size, DEPTH)
        self._lower = _Digits(device, self._moduli, self.size, self._depth)
        self._upper = _Digits(device, self._moduli, self.columns, self._depth)
        block, most = min(self.size, MOST_COLUMNS), max(self.size, self.columns)
        self.panel_lower = Residues(device, self._moduli, block, padded(self.size, COLUMNS))
        self.panel_upper = Residues(device, self._moduli, block, padded(self.columns, COLUMNS))
        self.sums = Residues(device, self._moduli, block, padded(most, COLUMNS))
        self._marks = device.allocate(self.size)
        self._start = self._stop = 0
        self._pivots: list[int] = []
        self._order: list[int] = []

    def open_columns(self, start: int, stop: int) -> None:
        self._start, self._stop, self._pivots = start, stop, []
        self.device.clear(self._marks)
        self._multiply(self._upper.rows(start, stop), self._lower.rows(start, self.size))

    def column(self, j: int) -> Any:
        k, rows = j - self._start, self.size - self._start
        sums = ResidueSums(
            *(self.sums.at(k), self.sums.plane, rows, 0, 1),
            *(self.panel_lower.at(0), self.panel_lower.plane, self.panel_lower.row),
            *(self.panel_upper.at(0, j), self.panel_upper.plane, self.panel_upper.row, k),
        )
        return self._finished(sums, self.matrix[self._start :, j], self._marks.ptr)

    def put_column(self, j: int, row: int, column: Any) -> None:
        self._pivots.append(row)
        (self._marks + row).memset_async(1, 1)
        self._put(column, self.panel_lower, self.panel_lower.at(j - self._start))

    def rest_of_row(self, j: int) -> Any:
        row, k, width = self._pivots[-1], j - self._start, self._stop - 1 - j
        sums = ResidueSums(
            *(self.sums.at(k + 1, row), self.sums.plane, width, 0, self.sums.row),
            *(self.panel_upper.at(0, j + 1), self.panel_upper.plane, self.panel_upper.row),
            *(self.panel_lower.at(0, row), self.panel_lower.plane, self.panel_lower.row, k),
        )
        return self._finished(sums, self.matrix[self._start + row, j + 1 : self._stop])

    def put_row(self, i: int, first: int, row: Any) -> None:
        self._put(row, self.panel_upper, self.panel_upper.at(i - self._start, first))

    def exchange(self, start: int, order: HostArray) -> None:
        self._order = order[: self._stop - start].tolist()
        rows = len(order)
        moved = np.flatnonzero(order != np.arange(rows))
        places = limbs.places(self.device, np.concatenate([order, start + order[moved], start + moved]))
        if len(moved):
            source = places + OCTETS * rows
            there = source, source + OCTETS * len(moved), len(moved)
            self._move(self._lower.memory.ptr, 2 * self._moduli, self.size, self._depth, *there)
            words = self.columns * self.matrix.shape[-1]
            self._move(self.matrix.data.ptr, 1, self.size, OCTETS * words, *there)
        self._join(self.panel_lower, places, self._stop - start, rows, self._lower, start)

    def open_rows(self, start: int, stop: int) -> None:
        self._start, self._stop = start, stop
        self._multiply(self._lower.rows(start, stop), self._upper.rows(stop, self.columns))

    def row(self, i: int) -> Any:
        k, width = i - self._start, self.columns - self._stop
        sums = ResidueSums(
            *(self.sums.at(k), self.sums.plane, width, 0, 1),
            *(self.panel_upper.at(0, self._stop), self.panel_upper.plane, self.panel_upper.row),
            *(self.panel_lower.at(0, self._order[k]), self.panel_lower.plane, self.panel_lower.row, k),
        )
        return self._finished(sums, self.matrix[i, self._stop :])

    def close(self) -> None:
        self._join(self.panel_upper, 0, self._stop, self.columns, self._upper, 0)

    def _multiply(self, left: Planes, right: Planes) -> None:
        """Sums of the open block over all k before it."""
        if self._start == 0:
            self.device.clear(self.sums.memory)
        elif left.rows and right.rows:
            depth = padded(self._start, DEPTH)
            row = padded(right.rows, COLUMNS)
            self.sums = self.sums.shaped(left.rows, row)
            target = self.sums.at(0), row
            self._units.digits_at(left._replace(depth=depth), right._replace(depth=depth), self.base, target)

    def _finished(self, sums: ResidueSums, minuend: Any, marks: int = 0) -> Any:
        """2**F minuend - the sums."""
        found = limbs.new(self.device, (minuend.shape[0], self.count))
        difference = Difference(limbs.long_integers(minuend), self.precision, marks)
        self._conversions.integers(sums, self.base, found, difference)
        return found

    def _put(self, buffer: Any, panel: "Residues", to: int) -> None:
        self._conversions.residues(limbs.long_integers(buffer), self.base, to, panel.plane)

    def _join(self, panel: "Residues", order: Memory | int, begin: int, end: int, digits: "_Digits", row0: int) -> None:
        """Entries [begin, end) of the block's columns or rows to the digits of rows that begin at row0."""
        arguments = (
            *(panel.memory, panel.plane, panel.row, order, begin, end, self._stop - self._start),
            *(digits.memory, digits.plane, digits.depth, row0, self._start),
        )
        grid = (-(-(end - begin) // THREADS), self._moduli)
        self._kernels.grid("elimination", "join", grid, THREADS, arguments)

    def _move(self, address: int, planes: int, rows: int, row: int, source: Memory, target: Memory, count: int) -> None:
        """Rows `source` of planes of octets become rows `target`."""
        together = max(1, min(planes, GRID_LIMIT, MOVED_BYTES // (row * count)))
        kept, words = self.device.allocate(together * row * count), row // OCTETS
        grid = (-(-words // THREADS), count)
        for first in range(0, planes, together):
            some = min(together, planes - first)
            here = address + first * rows * row, rows * words, words
            there = kept.ptr, count * words, words
            for step in ((*here, source, *there, 0), (*there, 0, *here, target)):
                self._kernels.grid("entries", "copy_rows", (*grid, some), THREADS, (*step, count, words))


class _Digits:
    """Residues in two digits, octets [2 P, rows, depth], 0 at first."""

    def __init__(self, device: CudaDevice, moduli: int, rows: int, depth: int) -> None:
        self._moduli, self._rows, self.depth = moduli, rows, depth
        self.plane = rows * depth
        self.memory = device.allocate(2 * moduli * self.plane)
        device.clear(self.memory)

    def rows(self, start: int, stop: int) -> Planes:
        """Some of the rows."""
        address = self.memory.ptr + start * self.depth
        return Planes(address, 2 * self._moduli, stop - start, self.depth, self.depth, self.plane)


class Residues:
    """Residues int16 [P, lines, row]."""

    def __init__(self, device: CudaDevice, moduli: int, lines: int, row: int, memory: Memory | None = None) -> None:
        self.device, self._moduli = device, moduli
        self.plane, self.row = lines * row, row
        self.memory = memory or device.allocate(RESIDUE_OCTETS * moduli * self.plane)

    def shaped(self, lines: int, row: int) -> "Residues":
        """The same memory for fewer or shorter lines."""
        return Residues(self.device, self._moduli, lines, row, self.memory)

    def at(self, line: int, place: int = 0) -> int:
        """The address of an entry of the first modulus."""
        address: int = self.memory.ptr + RESIDUE_OCTETS * (line * self.row + place)
        return address
