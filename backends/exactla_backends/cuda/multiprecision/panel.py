"""Whole blocks of factors for integers of few limbs: `panel.cu` has all about an entry in one kernel.

A column takes two launches and the rows of a block one. The device chooses pivots; the host waits once for each block.
"""

from ctypes import Array, c_int64
from itertools import accumulate
from typing import Any

import numpy as np

from exactla.backend import Multiprecision, Pivots
from exactla.core.limbs import OCTETS, from_limbs
from exactla.core.stepwise import Stepwise
from exactla_backends.cuda import driver
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.multiprecision import limbs
from exactla_backends.cuda.multiprecision.elimination import CudaElimination, Residues
from exactla_backends.cuda.multiprecision.limbs import FOLDER
from exactla_backends.cuda.multiprecision.tables import CONSTANTS
from exactla_backends.cuda.systems.kernels import Kernels

FEW_LIMBS = 16
"""Of sums: entry by entry, threads take longer than products with tables for more."""

SHARED_BYTES = 32 << 10
"""Of the entries of a block of threads, behind the tables."""

THREADS = 256
"""Of a block."""

BESIDE = 4
"""Blocks of threads that find U beside a pivot."""

CANDIDATE_BYTES = 16
"""Of what a block of threads tells others of its largest sum."""


class PanelElimination(Stepwise):
    """See `exactla.backend.Elimination`; known blocks are put as columns and rows."""

    def __init__(self, verbs: Multiprecision, steps: CudaElimination, precision: int) -> None:
        super().__init__(verbs, steps, precision)
        self._panel = _Panel(steps)

    def columns(self, start: int, stop: int, lower: Any, upper: Any) -> Pivots:
        return self._panel.columns(start, stop, lower, upper)

    def rows(self, start: int, stop: int, upper: Any) -> None:
        self._panel.rows(start, stop, upper)


class _Panel:
    """Launches of the kernels, and the memory that they tell each other by."""

    def __init__(self, steps: CudaElimination) -> None:
        self._steps, self._device = steps, steps.device
        self._processors = driver.processors(steps.device.number)
        macros = {"PANEL_THREADS": THREADS, "PIVOT_LIMBS": FEW_LIMBS}
        self._kernels = Kernels(steps.device, "panel", macros, FOLDER)
        moduli = len(steps.base.moduli)
        self._entry_bytes = OCTETS * (2 * steps.count + 1 + (moduli + 1) // 2)
        self._table_bytes = OCTETS * (moduli * CONSTANTS + (moduli + 1) * steps.count)
        self._tables = steps.tables.whole(steps.base, steps.count)

    def columns(self, start: int, stop: int, lower: Any, upper: Any) -> Pivots:
        """As of `PanelElimination`: one host synchronisation."""
        steps, rows, block = self._steps, self._steps.size - start, stop - start
        steps.open_columns(start, stop)
        width, blocks = self._shares(rows)
        self._told = _Told(self._device, rows, block, steps.count, upper.shape[-1], blocks)
        panel = self._words(start, stop, lower, upper)
        beside = -(-block // BESIDE)
        shared = self._table_bytes + self._entry_bytes * max(width, beside) + CANDIDATE_BYTES * blocks
        sums, divide = (
            self._kernels.prepared(f"xl_wide_panel_{name}", (count,), THREADS, (panel, 0, width, *more), shared)
            for name, count, more in (("sums", blocks, ()), ("divide", blocks + BESIDE, (blocks, beside)))
        )
        stream = self._device.stream
        for k in range(block):
            for launch in (sums, divide):
                launch.arguments[1].value = k
                launch.run(stream)
        return self._told.pivots()

    def rows(self, start: int, stop: int, upper: Any) -> None:
        """As of `PanelElimination`."""
        steps, columns = self._steps, self._steps.columns - stop
        if columns == 0:
            return
        steps.open_rows(start, stop)
        width, blocks = self._shares(columns)
        panel = self._words(start, stop, upper, upper)
        shared = self._table_bytes + self._entry_bytes * width
        launch = self._kernels.prepared("xl_wide_panel_rows", (blocks,), THREADS, (panel, width), shared)
        launch.run(self._device.stream)

    def _shares(self, entries: int) -> tuple[int, int]:
        """How many of the entries each block of threads has, and how many blocks there are."""
        width = min(-(-entries // self._processors), SHARED_BYTES // self._entry_bytes)
        return width, -(-entries // width)

    def _words(self, start: int, stop: int, lower: Any, upper: Any) -> Array[c_int64]:
        """`xl_panel`, as kernels take it."""
        steps = self._steps
        matrix = limbs.long_integers(steps.matrix[start:])
        words = (
            *(self._tables.ptr, len(steps.base.moduli), steps.count, steps.precision),
            *(start, stop, steps.size - start, steps.columns),
            *_residues(steps.sums),
            *_residues(steps.panel_lower),
            *_residues(steps.panel_upper),
            *(matrix.address, matrix.row_stride, matrix.entry_stride, matrix.limbs),
            *_limbs(lower),
            *_limbs(upper),
            *self._told.addresses,
        )
        return (c_int64 * len(words))(*words)


def _residues(residues: Residues) -> tuple[int, int, int]:
    return residues.at(0), residues.plane, residues.row


def _limbs(buffer: Any) -> tuple[int, int, int, int]:
    x = limbs.long_integers(buffer)
    return x.address, x.row_stride, x.entry_stride, x.limbs


class _Told:
    """What kernels tell each other and the host of a block: the words of `xl_panel` from `order` on."""

    def __init__(self, device: CudaDevice, rows: int, block: int, count: int, upper: int, blocks: int) -> None:
        self._device, self._block, self._limbs = device, block, upper
        # order, places, state, pivots, value, best, found
        lengths = rows, rows, 2, block * upper, count, 2 * blocks, rows * count
        *self._starts, end = accumulate(lengths, initial=0)
        self._memory = device.allocate(OCTETS * end)
        self.addresses = [self._memory.ptr + OCTETS * start for start in self._starts]
        order = np.arange(rows)
        device.write(self._memory, np.concatenate([order, order, [0, 0]]))

    def pivots(self) -> Pivots:
        """What was found: one host synchronisation."""
        order, places, state, pivots, value, end = self._starts[:6]
        words = self._device.download(self._memory, np.dtype(np.uint64), (end,))
        exchanges, lost = words[state:pivots].tolist()
        done = lost - 1 if lost else self._block
        values: list[int] = from_limbs(words[pivots:value].reshape(-1, self._limbs)[:done]).tolist()
        found = words[order:places].view(np.int64)
        return Pivots(found, exchanges, values, int(from_limbs(words[None, value:])[0]) if lost else None)
