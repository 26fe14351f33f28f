"""Small products with few launches and one wait: what a call costs around its work matters more there than the work.

Nothing is asked of the device before all work is given to it. The bits of the integers, on which the moduli depend, are
those that operands of this layout had last; the scan, which runs first, and the conversion, which counts the entries
that do not fit, tell at the end whether that was enough. Where it was not, the product is made again.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from math import prod
from threading import Lock
from typing import NamedTuple

import numpy as np

from exactla.backend import Engine
from exactla.core.moduli import OCTET_LIMIT, ResidueBase, residue_base
from exactla.core.planning import sum_bits
from exactla.formats import BigIntegerFormat, FloatFormat, Format
from exactla.libraries.base import Source
from exactla.results import Rounding
from exactla_backends.cuda import driver, elements
from exactla_backends.cuda.cells import CELL, CellPool, Cells
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.matrix.matrix import CudaMatrix
from exactla_backends.cuda.matrix.task import Planes
from exactla_backends.device.constants import Constants
from exactla_backends.device.planes import COLUMNS, DEPTH, Encodings, padded
from exactla_backends.kernels import tables

MOST_ENTRIES, MOST_PRODUCTS, MOST_DEPTH = 1 << 23, 1 << 33, 2048
"""Of both operands, of both together, and of the inner dimension; longer sums have a cheaper plan."""

FEW_PRODUCTS, MOST_MODULI = 1 << 30, 26
"""Larger products take no more moduli than those of ordinary operands: wide ones have a cheaper plan, too."""

PAUSE = 16
"""Calls that are left to the general path once operands were too wide, before the next try."""

SIDE, BROKEN, USED = 3, 6, 7
"""Cells of a side, the one for entries that do not fit, and all that a product takes."""

TYPICAL, MARGIN, WASTE = 18, 3, 24
"""Bits that rows of K entries spread over beside log2(K), at first; that more are expected than were seen last; and
that both sides may have too many before fewer are expected."""

LAYOUTS = 256
"""Layouts of operands that are remembered."""

_PAIR_LIMIT = 1 << 15
_ALIGNMENT = 512


class Side(NamedTuple):
    """All of an operand but its address."""

    format: Format
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Seen(NamedTuple):
    """What the kernels have found out: bits of either side, entries that are not finite and that did not fit."""

    bits: tuple[int, int]
    nonfinite: int
    broken: int


class Direct:
    """The direct path of all CUDA devices."""

    def __init__(
        self,
        device: CudaDevice,
        matrix: CudaMatrix,
        constant: Constants,
        cells: CellPool,
        is_exact: Callable[[Engine, int], bool],
    ) -> None:
        engine = matrix.engines[0]
        self.device = device
        self.matrix = matrix
        self.constant = constant
        self.cells = cells
        self._is_exact_on = cache(lambda number: is_exact(engine, engine.modulus_limits[0]))
        self._product_of = lru_cache(maxsize=LAYOUTS)(self._new_product)

    def product(
        self,
        left: Source,
        right: Source,
        transposed: bool,
        format: FloatFormat,
        roundings: Sequence[Rounding],
        *,
        checks: bool = True,
    ) -> list[Encodings] | None:
        """Encodings [T, R, C] of left @ right, or left @ right.T, for each rounding; None where it is not for here."""
        if left.device_kind != "cuda" or left.complex or right.complex:
            return None
        # what is first may own the memory, and has to live until all work has been given to the stream
        left_array, left_address, left_strides = left.library.device_entries(left)
        right_array, right_address, right_strides = right.library.device_entries(right)
        product = self._product_of(
            self.device.number,
            self.device.stream,
            Side(left.format, left.shape, left_strides),
            Side(right.format, right.shape, right_strides),
            transposed,
            format,
            tuple(roundings),
        )
        try:
            return None if product is None else product.run(left_address, right_address, checks)
        except MemoryError:
            return None  # all at once does not fit: the general path asks how much there is
        finally:
            del left_array, right_array

    def _new_product(
        self,
        number: int,
        stream: int,
        left: Side,
        right: Side,
        transposed: bool,
        format: FloatFormat,
        roundings: tuple[Rounding, ...],
    ) -> "_Product | None":
        if not _is_for_here(left, right, len(roundings)):
            return None
        sides = _entries(left, transpose=False), _entries(right, transpose=not transposed)
        if not (_is_small(*sides) and self._is_exact_on(number)):
            return None
        problem = _Problem(number, stream, sides, (left.format, right.format), format, roundings)
        return _Product(self, problem)


class _Problem(NamedTuple):
    """A product of operands of one layout on one stream of a device; their addresses are 0."""

    device: int
    stream: int
    sides: tuple[elements.Entries, elements.Entries]
    formats: tuple[Format, Format]
    format: FloatFormat
    roundings: tuple[Rounding, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """[T, R, C]."""
        left, right = self.sides
        return left.stacks, left.rows, right.rows

    @property
    def depth(self) -> int:
        """K."""
        return self.sides[0].depth

    @property
    def products(self) -> int:
        """Products of two entries."""
        return prod(self.shape) * self.depth


class _Product:
    """A problem, and the bits that are expected of its operands."""

    def __init__(self, direct: Direct, problem: _Problem) -> None:
        self._direct = direct
        self._problem = problem
        self._pause = 0
        self._steps = self._first_steps()

    def _first_steps(self) -> "_Steps | None":
        left, right = (_typical_bits(format, self._problem.depth) for format in self._problem.formats)
        return self._steps_for((left, right))

    def run(self, left: int, right: int, checks: bool) -> list[Encodings] | None:
        """Encodings for operands at two addresses; None where they are not for here, or have changed meanwhile."""
        if self._pause:
            self._pause -= 1
            return None
        steps = self._steps or self._first_steps()
        if steps is None:
            return None
        results = steps.start(left, right)
        seen = results.seen()
        if seen.nonfinite:
            return None
        if steps.hold(seen.bits):
            if sum(steps.bits) - sum(seen.bits) > WASTE:
                self._steps = self._steps_for(seen.bits)
            return None if seen.broken else results.encodings
        return self._again(left, right, seen.bits, checks)

    def _again(self, left: int, right: int, bits: tuple[int, int], checks: bool) -> list[Encodings] | None:
        """The product with bits that were seen to be necessary."""
        self._steps = steps = self._steps_for(bits)
        if steps is None:
            self._pause = PAUSE
            return None
        results = steps.start(left, right)
        # without checks nobody looks again: the operands are what was seen
        seen = results.seen() if checks else Seen(bits, 0, 0)
        return None if seen.nonfinite or seen.broken or not steps.hold(seen.bits) else results.encodings

    def _steps_for(self, bits: tuple[int, int]) -> "_Steps | None":
        """Work for integers of so many bits on either side, or of a few more; None where they are too many."""
        for margin in (MARGIN, 0):
            more = bits[0] + margin, bits[1] + margin
            base = residue_base(OCTET_LIMIT, sum_bits(*more, self._problem.depth))
            if base is None or tables.limbs_for(max(more)) > elements.MOST_LIMBS:
                continue
            if self._problem.products <= FEW_PRODUCTS or len(base.moduli) <= MOST_MODULI:
                return _Steps(self._direct, self._problem, more, base)
        return None


class _Started(NamedTuple):
    """A product whose work has been given to the device."""

    encodings: list[Encodings]
    cells: Cells
    pool: CellPool

    def seen(self) -> Seen:
        """What the kernels have found out: a host synchronisation."""
        left, _, left_nonfinite, right, _, right_nonfinite, broken = self.pool.read(self.cells, 0, USED)
        return Seen((left, right), left_nonfinite + right_nonfinite, broken)


class _Steps:
    """The work for a problem and integers of so many bits: launches, whose addresses are set before each run."""

    def __init__(self, direct: Direct, problem: _Problem, bits: tuple[int, int], base: ResidueBase) -> None:
        self.bits = bits
        self._direct = direct
        self._problem = problem
        self._base = base
        self._place = problem.device, problem.stream
        self._octets = problem.format.bits // 8
        self._lock = Lock()
        pairs, rows, columns = problem.shape
        depth, moduli = padded(problem.depth, DEPTH), len(base.moduli)
        sizes = [16 * pairs * rows, 16 * pairs * columns]
        sizes += [pairs * moduli * n for n in (rows * depth, columns * depth, rows * padded(columns, COLUMNS))]
        *self._offsets, self._size = accumulate((padded(n, _ALIGNMENT) for n in sizes), initial=0)
        self._at = 0  # where the workspace lies that the launches know
        self._multiply: Callable[[int], None] | None = None
        self._make_launches(depth)

    def _make_launches(self, depth: int) -> None:
        problem, base = self._problem, self._base
        pairs, rows, columns = problem.shape
        place = elements.Place(problem.device, driver.target(problem.device))
        both = list(zip(problem.formats, problem.sides, self.bits, strict=True))
        self._scans = [elements.exponents(place, format, x, 0, 0) for format, x, _ in both]
        self._conversions = [
            elements.residues8(
                *(place, format, base, tables.limbs_for(bits), x),
                *(elements.Exponents(0, x.rows), (0, depth), (bits, False, True, 0)),
            )
            for format, x, bits in both
        ]
        codes = [tables.ROUNDINGS[rounding] for rounding in problem.roundings]
        starts = self._direct.constant(np.array([[i * rows, i * columns] for i in range(pairs)], np.int64).T.copy())
        sizes = pairs, len(base.moduli), rows, columns, padded(columns, COLUMNS)
        directions = codes[0], codes[1] if len(codes) > 1 else -1
        results = elements.Results(0, *sizes, 0, 0, starts.ptr, 0, (0, 0), directions)
        self._rounding = elements.round8(place, problem.format, base, results)
        self._rounding.kept = starts

    def hold(self, bits: tuple[int, int]) -> bool:
        """Whether the integers may have so many bits."""
        return bits[0] <= self.bits[0] and bits[1] <= self.bits[1]

    def start(self, left: int, right: int) -> _Started:
        """Give all work for operands at two addresses to the stream."""
        direct, stream, shape, octets = self._direct, self._problem.stream, self._problem.shape, self._octets
        allocate, size = direct.device.allocate, prod(shape) * octets
        workspace = allocate(self._size)
        encodings = [Encodings(allocate(size), octets, shape) for _ in self._problem.roundings]
        cells = direct.cells.take(USED, self._place)
        first = cells.address(0)
        with self._lock:
            if workspace.ptr != self._at or self._multiply is None:
                self._multiply = self._lie_at(workspace.ptr)
            for side, address in enumerate((left, right)):
                scan, conversion = self._scans[side].arguments[0], self._conversions[side].arguments[0]
                scan.data = conversion.data = address
                scan.cells = first + CELL * SIDE * side
                conversion.broken = first + CELL * BROKEN
            rounding = self._rounding.arguments[0]
            rounding.first_encodings = encodings[0].memory.ptr
            rounding.second_encodings = encodings[-1].memory.ptr
            for launch in (*self._scans, *self._conversions):
                launch.run(stream)
            self._multiply(stream)
            self._rounding.run(stream)
        return _Started(encodings, cells, direct.cells)

    def _lie_at(self, address: int) -> Callable[[int], None]:
        """Have all launches use a workspace at an address; returns the product there."""
        exponents, residues = ([address + n for n in self._offsets[i : i + 2]] for i in (0, 2))
        for side in range(2):
            scan, conversion = self._scans[side].arguments[0], self._conversions[side].arguments[0]
            scan.exponents = conversion.exponents = exponents[side]
            conversion.planes = residues[side]
        rounding = self._rounding.arguments[0]
        rounding.residues = address + self._offsets[4]
        rounding.row_exponents, rounding.column_exponents = exponents
        pairs, rows, columns = self._problem.shape
        planes, depth = pairs * len(self._base.moduli), padded(self._problem.depth, DEPTH)
        left, right = Planes(residues[0], planes, rows, depth), Planes(residues[1], planes, columns, depth)
        each = range(pairs)
        target = rounding.residues, padded(columns, COLUMNS)
        self._at = address
        return self._direct.matrix.at(left, right, (each, each), self._base, target)


def _typical_bits(format: Format, depth: int) -> int:
    """Bits that integers of a row have, more often than not."""
    return format.precision + depth.bit_length() + TYPICAL if isinstance(format, FloatFormat) else _width(format)


def _width(format: Format) -> int:
    if isinstance(format, BigIntegerFormat):
        raise TypeError("Python integers have no width")
    return format.bits


def _is_for_here(left: Side, right: Side, directions: int) -> bool:
    dimensions = len(left.shape)
    return (
        dimensions == len(right.shape)
        and (dimensions == 2 or (dimensions == 3 and left.shape[0] == right.shape[0]))
        and directions <= 2
        and not isinstance(left.format, BigIntegerFormat)
        and not isinstance(right.format, BigIntegerFormat)
    )


def _is_small(a: elements.Entries, b: elements.Entries) -> bool:
    entries = a.stacks * (a.rows + b.rows) * a.depth
    products = a.stacks * a.rows * b.rows * a.depth
    return (
        0 < products <= MOST_PRODUCTS and entries <= MOST_ENTRIES and a.depth <= MOST_DEPTH and a.stacks < _PAIR_LIMIT
    )


def _entries(side: Side, *, transpose: bool) -> elements.Entries:
    *stack, rows, depth = side.shape
    *stack_stride, row_stride, depth_stride = side.strides
    if transpose:
        rows, depth, row_stride, depth_stride = depth, rows, depth_stride, row_stride
    stacks, stride = (stack[0], stack_stride[0]) if stack else (1, 0)
    return elements.Entries(0, stride, row_stride, depth_stride, stacks, rows, depth)
