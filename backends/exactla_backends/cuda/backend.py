"""The CUDA backend: the verbs of all devices, and faster kernels for those that large products spend their time in."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from exactla.backend import Lifting, Minor, Multiprecision, Operand, Pairs, Scanned
from exactla.core.integers import IntegerMatrix
from exactla.core.moduli import ResidueBase
from exactla.core.planning import sum_bits
from exactla.formats import BigIntegerFormat, FloatFormat, Format
from exactla.results import Rounding
from exactla_backends.cuda import driver, elements
from exactla_backends.cuda.cells import CELL, CellPool
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.direct import Direct
from exactla_backends.cuda.matrix.matrix import CudaMatrix
from exactla_backends.cuda.multiprecision.verbs import CudaMultiprecision
from exactla_backends.cuda.systems import lifting
from exactla_backends.device.backend import DeviceBackend, scanned
from exactla_backends.device.device import HostArray, Memory
from exactla_backends.device.memory import both_rows
from exactla_backends.device.planes import Count, Encodings, ResultPlanes, octets_of
from exactla_backends.device.results import FEW, in_twos
from exactla_backends.kernels import tables

CELLS = 3
"""Cells that a scan of an operand takes."""

MANY_ROWS, LITTLE_DEPTH = 512, 2048
"""Rows that keep a device busy without being cut, and inner dimensions that are not worth it."""

DOUBTFUL_SHARE = 256
"""There is room for one doubtful result in so many: with more of them all bits are cheaper for all."""


class CudaBackend(DeviceBackend):
    """See `exactla.backend.Backend`. Kernels of `elements.py` take the place of general ones where they apply."""

    settled_bits = 32 * elements.MOST_LIMBS - 1

    def __init__(self) -> None:
        device = CudaDevice()
        matrix = CudaMatrix(device)
        super().__init__("cuda", device, matrix)
        self._cuda, self._units = device, matrix
        self._cells = CellPool(device)
        self._direct = Direct(device, matrix, self._constant, self._cells, self.engine_is_exact)
        self._multiprecision = CudaMultiprecision(device, matrix, self.engine_is_exact)
        self.direct, self.settling = self._direct.product, self

    @property
    def multiprecision(self) -> Multiprecision:
        return self._multiprecision

    def _place(self) -> elements.Place:
        number = self._cuda.number
        return elements.Place(number, driver.target(number))

    def scan(self, sides: Sequence[Sequence[Operand]]) -> list[Scanned]:
        if not all(len(side) == 1 and _has_few_parts(side[0]) for side in sides):
            return super().scan(sides)
        place, stream = self._place(), self._cuda.stream
        cells = self._cells.take(CELLS * len(sides), (place.device, stream))
        found = []
        for number, (operand,) in enumerate(sides):
            stacks, rows, _ = operand.shape
            memory = self._cuda.allocate(16 * stacks * rows)
            address = cells.address(CELLS * number)
            elements.exponents(place, _format(operand), _entries(operand), memory.ptr, address).run(stream)
            exponents, tops = both_rows(memory, stacks, rows)
            found.append(operand._replace(exponents=exponents, tops=tops))
        seen = self._cells.read(cells, 0, CELLS * len(sides))
        return [
            scanned([operand], bits, all_bits, [nonfinite])
            for operand, bits, all_bits, nonfinite in zip(found, seen[::3], seen[1::3], seen[2::3], strict=True)
        ]

    def _scan_operand(self, operand: Operand, cells: Memory, ranges_at: int, nonfinite_at: int) -> None:
        if not _is_fixed(operand):
            super()._scan_operand(operand, cells, ranges_at, nonfinite_at)
        elif 0 not in operand.shape:
            ranges, nonfinite = cells.ptr + CELL * ranges_at, cells.ptr + CELL * nonfinite_at
            elements.scan(self._place(), _format(operand), _entries(operand), ranges, nonfinite).run(self._cuda.stream)

    def _residues(
        self, operand: Operand, base: ResidueBase, depth: int, count: Count, constants: Mapping[str, int]
    ) -> Memory:
        limbs = tables.limbs_for(operand.bits + _may_round_up(operand))
        if octets_of(base) != 1 or not _is_fixed(operand) or 0 in operand.shape or limbs > elements.MOST_LIMBS:
            return super()._residues(operand, base, depth, count, constants)
        stacks, rows, _ = operand.shape
        planes = self._cuda.allocate(stacks * rows * depth * len(base.moduli))
        elements.residues8(
            self._place(),
            _format(operand),
            base,
            limbs,
            _entries(operand),
            _exponents(operand),
            (planes.ptr, depth),
            (operand.bits, operand.truncated, operand.finite, count.memory.ptr + CELL * count.cell),
        ).run(self._cuda.stream)
        return planes

    def _launch_round(
        self,
        kernel: str,
        planes: ResultPlanes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        format: FloatFormat,
        outputs: tuple[Sequence[Encodings], Sequence[Rounding]],
        more: tuple[Memory | int, ...],
    ) -> None:
        if kernel != "round" or planes.octets != 1:
            super()._launch_round(kernel, planes, base, exponents, format, outputs, more)
            return
        if 0 in planes.shape:
            return
        elements.round8(self._place(), format, base, self._results(planes, exponents, outputs)).run(self._cuda.stream)

    def _results(
        self,
        planes: ResultPlanes,
        exponents: tuple[Operand, Operand, Pairs, int],
        outputs: tuple[Sequence[Encodings], Sequence[Rounding]],
    ) -> elements.Results:
        left, right, pairs, shift = exponents
        rows, columns = left.exponents, right.exponents
        starts = [[x.offset + x.stride * i for i in index] for x, index in zip((rows, columns), pairs, strict=True)]
        codes = [tables.ROUNDINGS[rounding] for rounding in outputs[1]]
        encodings = [x.memory.ptr for x in outputs[0]]
        return elements.Results(
            planes.memory.ptr,
            planes.shape[0],
            planes.moduli,
            planes.shape[1],
            planes.shape[2],
            planes.padded_columns,
            rows.memory.ptr,
            columns.memory.ptr,
            self._table(np.array(starts, np.int64)).ptr,
            shift,
            (encodings[0], encodings[-1]),
            (codes[0], codes[1] if len(codes) > 1 else -1),
        )

    def round_settled(
        self,
        planes: ResultPlanes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        exact: tuple[Operand, Operand],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[tuple[Encodings, ...], Count]:
        leading, pairs = exponents[:2], exponents[2]
        results = tuple(self.allocate(planes.shape, format) for _ in roundings)
        left_over = self._counts.new()
        if 0 in planes.shape:
            return results, left_over
        place, stream, places = self._place(), self._cuda.stream, self._table(np.array(pairs, np.int64))
        dropped = [self._count_dropped(place, x, y) for x, y in zip(exact, leading, strict=True)]
        capacity = prod(planes.shape) // DOUBTFUL_SHARE + FEW
        limbs = tables.limbs_for(sum_bits(exact[0].bits, exact[1].bits, exact[0].shape[2]))
        formats = (_float_format(exact[0]), _float_format(exact[1]), format)
        sides = ((_entries(exact[0]), _exponents(exact[0])), (_entries(exact[1]), _exponents(exact[1])))
        for outputs in in_twos(results, roundings):
            doubtful = self._filled(2, 2, 0, size=8 * (1 + capacity))
            certificate = elements.Certificate(
                left_dropped=dropped[0].ptr,
                right_dropped=dropped[1].ptr,
                row_tops=_tops(leading[0]),
                column_tops=_tops(leading[1]),
                places=places.ptr,
                doubtful=doubtful.ptr,
                capacity=capacity,
            )
            job = self._results(planes, exponents, outputs)
            elements.round8(place, format, base, job, certificate).run(stream)
            left = left_over.memory.ptr + CELL * left_over.cell
            elements.settle(place, formats, limbs, sides, job, certificate, left).run(stream)
        return results, left_over

    def _count_dropped(self, place: elements.Place, exact: Operand, leading: Operand) -> Memory:
        """For each row of an operand, int32 [S, R], the entries with bits below the exponents of its leading bits."""
        stacks, rows, _ = exact.shape
        counts = self._filled(stacks * rows, stacks * rows, 0)
        if leading.exponents is not exact.exponents and 0 not in exact.shape:
            counting = elements.count_dropped(place, _format(exact), _entries(exact), _exponents(leading), counts.ptr)
            counting.run(self._cuda.stream)
        return counts

    @property
    def prime_limits(self) -> tuple[int, ...]:
        # larger primes are the host's
        return tuple(dict.fromkeys((lifting.PRIME_LIMIT, *super().prime_limits)))

    def prime_count(self, size: int, limit: int) -> int:
        if limit == lifting.PRIME_LIMIT and size >= lifting.LEAST_SIZE:
            return lifting.PRIMES
        return super().prime_count(size, limit)

    def solving_bytes(self) -> int:
        # numbers are read from the device's digits on the host
        return min(super().solving_bytes(), self.free_bytes())

    def minor_limits(self, shape: tuple[int, int]) -> tuple[int, ...]:
        limits = super().minor_limits(shape)
        return (lifting.PRIME_LIMIT, *limits) if lifting.is_nearly_square(shape) else limits

    def minors(self, matrix: HostArray, primes: Sequence[int]) -> list[Minor]:
        if max(primes) > lifting.PRIME_LIMIT or not lifting.is_nearly_square(matrix.shape):
            return super().minors(matrix, primes)
        return lifting.minors(self._cuda, self._constant, matrix, ResidueBase(tuple(primes)))

    def lifting(self, matrix: IntegerMatrix, primes: ResidueBase) -> Lifting:
        if len(matrix) < lifting.LEAST_SIZE or max(primes.moduli) > lifting.PRIME_LIMIT:
            return super().lifting(matrix, primes)
        return lifting.CudaLifting(self._cuda, self._constant, self._units, matrix, primes)


def _has_few_parts(operand: Operand) -> bool:
    """Whether rows need not be cut into parts to be scanned."""
    stacks, rows, depth = operand.shape
    return _is_fixed(operand) and 0 not in operand.shape and (stacks * rows >= MANY_ROWS or depth <= LITTLE_DEPTH)


def _is_fixed(operand: Operand) -> bool:
    """Whether entries are encodings of a format of fixed width."""
    return operand.format is not None and not isinstance(operand.format, BigIntegerFormat)


def _may_round_up(operand: Operand) -> bool:
    """Whether an entry that loses bits may become 2**bits: what is longer than a significand loses none at its top."""
    return operand.truncated and isinstance(operand.format, FloatFormat) and operand.bits < operand.format.precision


def _format(operand: Operand) -> Format:
    if operand.format is None:
        raise TypeError("integers of limbs have no format")
    return operand.format


def _float_format(operand: Operand) -> FloatFormat:
    if not isinstance(operand.format, FloatFormat):
        raise TypeError(f"{operand.format} is no float format")
    return operand.format


def _entries(operand: Operand) -> elements.Entries:
    x = operand.buffer
    (between_stacks, between_rows, between_entries), (stacks, rows, depth) = x.strides, operand.shape
    return elements.Entries(x.memory.ptr + x.offset, between_stacks, between_rows, between_entries, stacks, rows, depth)


def _exponents(operand: Operand) -> elements.Exponents:
    rows = operand.exponents
    return elements.Exponents(rows.memory.ptr + 8 * rows.offset, rows.stride)


def _tops(operand: Operand) -> int:
    """Where the tops of rows would begin whose exponents begin at element 0: both are laid out alike."""
    exponents, tops = operand.exponents, operand.tops
    address: int = tops.memory.ptr + 8 * (tops.offset - exponents.offset)
    return address
