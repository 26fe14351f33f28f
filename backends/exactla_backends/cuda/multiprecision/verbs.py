"""The `Multiprecision` of CUDA devices: residues of two octets on int8 matrix units."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from exactla.backend import ComponentProducts, Elimination, Engine, Shifts
from exactla.core.limbs import LIMB, OCTETS, Limbs, from_limbs, limbs_needed, to_limbs
from exactla.core.moduli import ResidueBase
from exactla.core.stepwise import Stepwise
from exactla.core.triangles import unknowns
from exactla_backends.cuda import driver
from exactla_backends.cuda.cells import CELL
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.matrix.matrix import CudaMatrix
from exactla_backends.cuda.matrix.task import Planes
from exactla_backends.cuda.multiprecision import limbs
from exactla_backends.cuda.multiprecision.conversions import Conversions, ResidueSums, workspace_bytes
from exactla_backends.cuda.multiprecision.elimination import RESIDUE_OCTETS, CudaElimination, elimination_bytes
from exactla_backends.cuda.multiprecision.limbs import THREADS, WARP, WideKernels
from exactla_backends.cuda.multiprecision.panel import FEW_LIMBS, PanelElimination
from exactla_backends.cuda.systems.kernels import Kernels
from exactla_backends.device.device import HostArray
from exactla_backends.device.planes import COLUMNS, DEPTH, padded

DIGITS_LIMIT = 65280
ENGINE = Engine("int8", 31, (DIGITS_LIMIT,))
TRIANGLE, FEW_ON_HOST = 128, 16
"""Unknowns that a block of threads finds where they have few limbs, and the host where they have many."""

SHARED_BYTES = 48 << 10
"""Of a block of threads, on every device."""

COMPARED = 1024
"""Threads that look for the largest integer: as many as a block may have."""


class CudaMultiprecision:
    """Each method has its postcondition in `exactla.backend.Multiprecision`."""

    name = "cuda"
    engines: tuple[Engine, ...] = (ENGINE,)
    component_products: ComponentProducts | None = None
    elimination_limit = DIGITS_LIMIT

    def __init__(self, device: CudaDevice, matrix: CudaMatrix, is_exact: Callable[[Engine, int], bool]) -> None:
        self._device, self._matrix, self._is_exact = device, matrix, is_exact
        self._kernels = WideKernels(device)
        self._conversions = Conversions(device, matrix)

    def few_unknowns(self, limbs: int) -> int:
        if limbs > FEW_LIMBS:
            return FEW_ON_HOST
        # as `_triangle` reckons for divisors of as many limbs and sums of twice as many
        return min(TRIANGLE, self._shared_bytes() // (OCTETS * (5 * limbs + 10)))

    def _shared_bytes(self) -> int:
        return max(SHARED_BYTES, driver.most_shared_bytes(self._device.number))

    def engine_is_exact(self, engine: Engine, modulus_limit: int) -> bool:
        return self._is_exact(engine, modulus_limit)

    # ---- memory ----------------------------------------------------------------------------------------------------
    def scope(self, buffer: Any) -> AbstractContextManager[None]:
        return self._device.current(int(buffer.device.id))

    def free_bytes(self) -> int:
        return self._device.free_bytes()

    def upload(self, limbs_: Limbs) -> Any:
        return limbs.upload(self._device, limbs_)

    def download(self, buffer: Any) -> Limbs:
        return limbs.download(self._device, buffer)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        found = limbs.new(self._device, shape)
        self._device.clear(found.data)
        return found

    def store(self, target: Any, buffer: Any) -> None:
        x, to = (limbs.long_integers(y) for y in (buffer, target))
        grid = (-(-to.limbs // THREADS), to.entries)
        arguments = (*x.words(), x.limbs, *to.words(), to.limbs, to.entries)
        self._kernels.grid("entries", "store", grid, THREADS, arguments)

    def gather(self, buffer: Any, places: HostArray) -> Any:
        count = buffer.shape[-1]
        found = limbs.new(self._device, (*places.shape, count))
        arguments = (buffer.data, 0, count, limbs.places(self._device, places), found.data, 0, count, 0)
        grid = (-(-count // THREADS), places.size)
        self._kernels.grid("entries", "copy_rows", grid, THREADS, (*arguments, places.size, count))
        return found

    # ---- verbs -----------------------------------------------------------------------------------------------------
    def add(self, left: Any, right: Any, count: int) -> Any:
        return self._sum(left, right, 0, count)

    def subtract(self, left: Any, right: Any, count: int) -> Any:
        return self._sum(left, right, 1, count)

    def _sum(self, left: Any, right: Any, subtracts: int, count: int) -> Any:
        x, y = (limbs.long_integers(side) for side in (left, right))
        found = limbs.new(self._device, (*left.shape[:-1], count))
        arguments = (*x.words(), x.limbs, *y.words(), y.limbs, subtracts, found.data, count)
        self._kernels.entries("entries", "add", x.entries, count, arguments)
        return found

    def compare(self, left: Any, right: Any) -> Any:
        x, y = (limbs.long_integers(side) for side in (left, right))
        signs = self._device.array(self._device.allocate(x.entries), np.dtype(np.int8), left.shape[:-1])
        arguments = (*x.words(), x.limbs, *y.words(), y.limbs, signs.data, x.entries)
        self._kernels.grid("entries", "compare", (-(-x.entries // THREADS),), THREADS, arguments)
        return signs

    def bit_lengths(self, buffer: Any) -> HostArray:
        x = limbs.long_integers(buffer)
        lengths = self._device.allocate(OCTETS * x.entries)
        self._kernels.entries("entries", "lengths", x.entries, x.limbs, (*x.words(), x.limbs, lengths, 0))
        return self._device.download_pinned(lengths, np.dtype(np.int64), buffer.shape[:-1])

    def most_bits(self, buffer: Any) -> int:
        x = limbs.long_integers(buffer)
        most = self._device.allocate(CELL)
        self._device.clear(most)
        self._kernels.entries("entries", "lengths", x.entries, x.limbs, (*x.words(), x.limbs, 0, most))
        (found,) = self._device.download_cells(most, 0, 1)
        return found

    def product_bytes(self, rows: int, columns: int, depth: int, base: ResidueBase, engine: Engine) -> int:
        planes, results = 2 * len(base.moduli), rows * padded(columns, COLUMNS)
        sums = 4 * planes * results  # of one digit with another, where a library makes them
        converted = workspace_bytes(max(rows * depth, columns * depth, results), base)
        return planes * (rows + columns) * padded(depth, DEPTH) + planes * results + sums + converted

    def product(self, left: Any, right: Any, count: int, base: ResidueBase, engine: Engine) -> Any:
        rows, columns, depth = left.shape[0], right.shape[0], left.shape[1]
        found = limbs.new(self._device, (rows, columns, count))
        if 0 in (rows, columns, depth):
            self._device.clear(found.data)
            return found
        moduli, row = len(base.moduli), padded(columns, COLUMNS)
        residues = self._device.allocate(RESIDUE_OCTETS * moduli * rows * row)
        sides = [self._planes(side, base) for side in (left, right)]
        self._matrix.digits_at(sides[0][0], sides[1][0], base, (residues.ptr, row))
        self._conversions.integers(ResidueSums(residues.ptr, rows * row, columns, row), base, found)
        return found

    def _planes(self, buffer: Any, base: ResidueBase) -> tuple[Planes, Any]:
        """Digits of residues, and their memory."""
        rows, columns, _ = buffer.shape
        planes, depth = 2 * len(base.moduli), padded(columns, DEPTH)
        memory = self._device.allocate(planes * rows * depth)
        self._device.clear(memory)
        found = Planes(memory.ptr, planes, rows, depth)
        self._conversions.planes(limbs.long_integers(buffer), base, found)
        return found, memory

    def scale(self, buffer: Any, shifts: Shifts, count: int) -> Any:
        found = limbs.new(self._device, (*buffer.shape[:-1], count))
        self.scale_to(found, buffer, shifts)
        return found

    def scale_to(self, target: Any, buffer: Any, shifts: Shifts) -> None:
        """As `scale`, to a contiguous buffer."""
        x, count = limbs.long_integers(buffer), target.shape[-1]
        by: tuple[Any, ...] = 0, 1, 0, shifts
        if isinstance(shifts, tuple):
            rows = limbs.places(self._device, np.concatenate(shifts))
            by = rows, x.columns, rows + OCTETS * len(shifts[0]), 0
        elif isinstance(shifts, np.ndarray):
            by = limbs.places(self._device, shifts), 1, 0, 0
        self._kernels.entries("entries", "scale", x.entries, count, (*x.words(), x.limbs, *by, target.data, count))

    def round_leading(self, buffer: Any, precision: int) -> Any:
        x, found = limbs.long_integers(buffer), limbs.new(self._device, buffer.shape)
        arguments = (*x.words(), x.limbs, precision, found.data)
        self._kernels.entries("entries", "round_leading", x.entries, x.limbs, arguments)
        return found

    def largest(self, buffer: Any, order: Sequence[int] | HostArray) -> tuple[int, int]:
        x = limbs.long_integers(buffer)
        found = self._device.allocate(OCTETS * (1 + x.limbs))
        places = limbs.places(self._device, order)
        arguments = (x.address, x.entry_stride, x.limbs, places, len(order), found)
        self._kernels.block("entries", "largest", COMPARED, arguments)
        words = self._device.download(found, np.dtype(np.uint64), (1 + x.limbs,))
        return int(words[0]), int(from_limbs(words[None, 1:])[0])

    def divide(self, buffer: Any, divisor: int, count: int) -> Any:
        found = limbs.new(self._device, (buffer.shape[0], count))
        if buffer.shape[0]:
            self._conversions.divide(buffer, divisor, found)
        return found

    def substitute(self, lower: Any, divisors: Sequence[int] | None, precision: int, sums: Any) -> Any:
        if lower.shape[-1] <= FEW_LIMBS and lower.shape[0] <= TRIANGLE:
            found = self._triangle(lower, divisors, precision, sums)
            if found is not None:
                return found
        return self.upload(unknowns(self.download(lower), divisors, precision, self.download(sums)))

    def _triangle(self, lower: Any, divisors: Sequence[int] | None, precision: int, sums: Any) -> Any:
        """As `substitute`, or None where unknowns are longer than first ones can be: one host synchronisation.

        None as well where a block of threads has too little shared memory.
        """
        factors, totals = (limbs.long_integers(x) for x in (lower, sums))
        size, columns = totals.rows, totals.columns
        by = None if divisors is None else to_limbs(divisors, limbs_needed(divisors))
        divisor_limbs = 0 if by is None else by.shape[-1]
        least = precision if divisors is None else min(abs(d).bit_length() for d in divisors) - 1
        # divisors may be longer than sums
        wanted = max(1, totals.limbs - least // LIMB + 1)
        count = max(totals.limbs, factors.limbs + wanted, divisor_limbs) + 1
        # a limb more for each of what threads have, and odd strides
        stride, factor_stride = (count + divisor_limbs + 2) | 1, (factors.limbs + 1) | 1
        shared = OCTETS * size * (stride + 2 * factor_stride)
        if shared > self._shared_bytes():
            return None
        found = limbs.new(self._device, (size, columns, wanted))
        overflow = self._device.allocate(CELL)
        self._device.clear(overflow)
        arguments = (
            *(factors.address, factors.row_stride, factors.entry_stride, factors.limbs),
            *(0 if by is None else self._device.upload(by), divisor_limbs, precision),
            *(totals.address, totals.row_stride, totals.entry_stride, totals.limbs, size),
            *(count, stride, factor_stride, found.data, wanted, overflow),
        )
        kernels = Kernels(self._device, "triangles", folder=limbs.FOLDER)
        threads = 2 * padded(size, WARP)
        kernels.prepared("xl_wide_triangle", (columns,), threads, arguments, shared).run(self._device.stream)
        return None if any(self._device.download_cells(overflow, 0, 1)) else found

    def elimination_bytes(self, rows: int, columns: int, base: ResidueBase, engine: Engine) -> int:
        return elimination_bytes(rows, columns, base) + workspace_bytes(max(rows, columns), base)

    def elimination(self, matrix: Any, precision: int, base: ResidueBase, engine: Engine) -> Elimination:
        steps = CudaElimination(self._device, self._matrix, self._conversions, matrix, precision, base)
        kind = PanelElimination if steps.count <= FEW_LIMBS else _ColumnElimination
        return kind(self, steps, precision)


class _ColumnElimination(Stepwise):
    """Rows of U are rounded where they stay: in a buffer of the caller whose rows are contiguous."""

    def _put_row(self, i: int, target: Any, first: int, sums: Any) -> None:
        self._verbs.scale_to(target, sums, -self._precision)  # type: ignore[attr-defined]  # those of this module
        self._steps.put_row(i, first, target)
