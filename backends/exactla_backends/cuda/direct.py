"""Small products with few launches: what a call costs around its work matters more there than how the work is cut."""

from collections.abc import Callable, Sequence

import numpy as np

from exactla.core.moduli import residue_base
from exactla.core.planning import sum_bits
from exactla.formats import BigIntegerFormat, FloatFormat
from exactla.libraries.base import Source
from exactla.results import Rounding
from exactla_backends.cuda import driver, elements
from exactla_backends.cuda.cells import CellPool
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.matrix.matrix import CudaMatrix
from exactla_backends.device.constants import Constants
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import DEPTH, Encodings, OperandPlanes, padded
from exactla_backends.kernels import tables

MOST_ENTRIES, MOST_PRODUCTS, MOST_DEPTH = 1 << 21, 1 << 30, 2047
"""Of both operands, of both together, and of the inner dimension; longer sums have a cheaper plan."""

SIDE, BROKEN, USED = 3, 6, 7
"""Cells of a side, the one for entries that change, and all that a call takes."""

_OCTET_LIMIT = 256
_PAIR_LIMIT = 1 << 15


class Direct:
    """The direct path of all CUDA devices."""

    def __init__(self, device: CudaDevice, matrix: CudaMatrix, constant: Constants, cells: CellPool) -> None:
        self._device = device
        self._matrix = matrix
        self._constant = constant
        self._cells = cells
        self._checked: set[int] = set()

    def product(
        self,
        left: Source,
        right: Source,
        transposed: bool,
        format: FloatFormat,
        roundings: Sequence[Rounding],
        checks: bool,
        is_exact: Callable[[], bool],
    ) -> list[Encodings] | None:
        """Encodings [T, R, C] of left @ right, or left @ right.T, for each rounding; None where it is not for here."""
        if not _is_for_here(left, right, len(roundings)):
            return None
        a = _entries(left, transpose=False)
        b = _entries(right, transpose=not transposed)
        number = self._device.number
        if not _is_small(a, b) or not (number in self._checked or is_exact()):
            return None
        self._checked.add(number)
        place = elements.Place(number, driver.target(number), self._device.stream)
        cells = self._cells.take(USED)
        exponents = [
            self._exponents(place, x, source, cells.address(SIDE * side))
            for side, (x, source) in enumerate(((a, left), (b, right)))
        ]
        left_bits, _, left_nonfinite, right_bits, _, right_nonfinite = self._cells.read(cells, 0, 2 * SIDE)
        bits = left_bits, right_bits
        base = residue_base(_OCTET_LIMIT, sum_bits(*bits, a.depth))
        limbs = [tables.limbs_for(x) for x in bits]
        if left_nonfinite or right_nonfinite or base is None or max(limbs) > elements.MOST_LIMBS:
            return None
        depth = padded(a.depth, DEPTH)
        planes = []
        for x, source, memory, count, most in zip((a, b), (left, right), exponents, limbs, bits, strict=True):
            residues = self._device.allocate(x.stacks * x.rows * depth * len(base.moduli))
            elements.residues8(
                place,
                source.format,
                base,
                count,
                x,
                elements.Exponents(memory.ptr, x.rows),
                (residues.ptr, depth),
                (most, False, True, cells.address(BROKEN)),
            )
            planes.append(OperandPlanes(residues, x.stacks, len(base.moduli), x.rows, depth))
        pairs = list(range(a.stacks))
        products = self._matrix.multiply([(1, planes[0], planes[1])], (pairs, pairs), base, self._matrix.engines[0])
        octets = format.bits // 8
        shape = (a.stacks, a.rows, b.rows)
        results = [
            Encodings(self._device.allocate(a.stacks * a.rows * b.rows * octets), octets, shape) for _ in roundings
        ]
        codes = [tables.ROUNDINGS[rounding] for rounding in roundings]
        starts = self._constant(np.array([[i * a.rows for i in pairs], [i * b.rows for i in pairs]], np.int64))
        elements.round8(
            place,
            format,
            base,
            elements.Results(
                products.memory.ptr,
                *(a.stacks, len(base.moduli), a.rows, b.rows, products.padded_columns),
                *(exponents[0].ptr, exponents[1].ptr, starts.ptr, 0),
                (results[0].memory.ptr, results[-1].memory.ptr),
                (codes[0], codes[1] if len(codes) > 1 else -1),
            ),
        )
        # entries that break their scan were written to meanwhile: the general path says so
        if checks and self._cells.read(cells, BROKEN, 1)[0]:
            return None
        return results

    def _exponents(self, place: elements.Place, x: elements.Entries, source: Source, cells: int) -> Memory:
        """Exponents of the rows of a side, and their tops behind them."""
        memory = self._device.allocate(16 * x.stacks * x.rows)
        elements.exponents(place, source.format, x, memory.ptr, cells)
        return memory


def _is_for_here(left: Source, right: Source, directions: int) -> bool:
    dimensions = len(left.shape)
    return (
        left.device_kind == "cuda"
        and dimensions == len(right.shape)
        and (dimensions == 2 or (dimensions == 3 and left.shape[0] == right.shape[0]))
        and directions <= 2
        and not (left.complex or right.complex)
        and not isinstance(left.format, BigIntegerFormat)
        and not isinstance(right.format, BigIntegerFormat)
    )


def _is_small(a: elements.Entries, b: elements.Entries) -> bool:
    entries = a.stacks * (a.rows + b.rows) * a.depth
    products = a.stacks * a.rows * b.rows * a.depth
    return (
        0 < products <= MOST_PRODUCTS and entries <= MOST_ENTRIES and a.depth <= MOST_DEPTH and a.stacks < _PAIR_LIMIT
    )


def _entries(source: Source, *, transpose: bool) -> elements.Entries:
    array = source.library.device_encodings(source)
    *stack, rows, depth = array.shape
    *stack_stride, row_stride, depth_stride = array.strides
    if transpose:
        rows, depth, row_stride, depth_stride = depth, rows, depth_stride, row_stride
    stacks, stride = (stack[0], stack_stride[0]) if stack else (1, 0)
    return elements.Entries(array.data.ptr, stride, row_stride, depth_stride, stacks, rows, depth)
