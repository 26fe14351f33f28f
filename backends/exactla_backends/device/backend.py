"""The verbs as launches of kernels: the base of all backends whose memory is not the host's.

A device adds a `Device`, which holds memory and runs kernels, and a `Matrix`, which multiplies residues.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from exactla.backend import Engine, IntervalPieces, Operand, Pairs, Scanned, SpecialPieces, Tile
from exactla.core.moduli import ResidueBase
from exactla.formats import INTEGER_FORMATS, FloatFormat
from exactla.libraries.base import Source
from exactla.results import Rounding
from exactla_backends.device import descriptions, views
from exactla_backends.device.check import extreme_products_are_exact
from exactla_backends.device.constants import Constants
from exactla_backends.device.counts import Counts
from exactla_backends.device.device import Device, HostArray, Memory
from exactla_backends.device.matrix import Matrix
from exactla_backends.device.planes import (
    COLUMNS,
    DEPTH,
    Count,
    Encodings,
    Entries,
    OperandPlanes,
    ResultPlanes,
    Rows,
    Term,
    octets_of,
    padded,
)
from exactla_backends.device.systems import BorrowedSystems
from exactla_backends.kernels import tables
from exactla_backends.numpy import limbs as mp

INTERVAL_BITS, PIECES, CLASSES = 4, 7, 7
"""Bits that pieces of intervals have beside their operands', on the way; and how many kinds of pieces there are."""

NO_RANGE, NOWHERE = 1 << 30, (1 << 31) - 1
"""What cells of ranges and of positions start as, XL_NO_RANGE."""

SCAN_STEP = 4096
"""Entries of a row that so many work items, at most, scan together."""

FEW, ROOM = 4096, 16
"""Uncertain results whose places come with their number; there is room for one result in so many at first."""

NO_INTEGERS: Mapping[str, int] = MappingProxyType({"XL_MAX_LIMBS": 1, "XL_MAX_GROUPS": 1})
"""Constants of kernels that make no integers."""

INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
_INT8 = INTEGER_FORMATS["int8"]


class DeviceBackend(BorrowedSystems):
    """The verbs of `exactla.backend.Backend`, each with its postcondition there, in terms of a device."""

    leading_bits = 172

    def __init__(self, name: str, device: Device, matrix: Matrix) -> None:
        self.name = name
        self.engines: tuple[Engine, ...] = matrix.engines
        self._device = device
        self._matrix = matrix
        self._constant = Constants(device)
        self._counts = Counts(device, lambda count: self._filled(count, count, 0))

    # ---- memory ----------------------------------------------------------------------------------------------------

    def scope(self, like: Source) -> AbstractContextManager[None]:
        return self._device.scope(like)

    def view(self, source: Source, *, part: Literal["real", "imag"], transpose: bool) -> Operand:
        if source.device_kind == "cpu":
            encodings = source.library.host_encodings(source, part)
            return views.host_view(self._device, encodings, source.format, transpose=transpose)
        array = source.library.device_encodings(source, part)
        return views.device_view(self._device, array, source.format, transpose=transpose)

    def block(self, operand: Operand, stacks: slice, rows: slice, depth: slice) -> Operand:
        x: Entries = operand.buffer
        starts = (stacks.start, rows.start, depth.start)
        offset = x.offset + sum(start * stride for start, stride in zip(starts, x.strides, strict=True))
        shape = (stacks.stop - stacks.start, rows.stop - rows.start, depth.stop - depth.start)
        exponents, tops = (_some_rows(x, stacks, rows) for x in (operand.exponents, operand.tops))
        return replace(operand, buffer=replace(x, offset=offset), shape=shape, exponents=exponents, tops=tops)

    def repeat(self, operand: Operand, stacks: int) -> Operand:
        x: Entries = operand.buffer
        return replace(operand, buffer=replace(x, strides=(0, *x.strides[1:])), shape=(stacks, *operand.shape[1:]))

    def gather(self, operand: Operand, rows: Sequence[tuple[int, int]]) -> Operand:
        octets, depth, count = _octets(operand), operand.shape[2], len(rows)
        limbs = operand.buffer.limbs
        copy = self._device.allocate(max(limbs, 1) * count * depth * octets)
        places = self._table(np.array(rows, np.int64).reshape(count, 2).T)
        self._launch(
            "gather",
            (depth, count, max(limbs, 1)),
            (operand.buffer.memory, self._description(operand), octets, max(limbs, 1), places, count, copy),
        )
        strides = (depth * octets, depth * octets, octets)
        return replace(
            operand,
            buffer=Entries(copy, 0, strides, limbs, count * depth * octets),
            shape=(count, 1, depth),
            exponents=self._gathered(operand.exponents, rows),
            tops=self._gathered(operand.tops, rows),
        )

    def _gathered(self, rows: Rows | None, places: Sequence[tuple[int, int]]) -> Rows | None:
        if rows is None:
            return None
        count = len(places)
        copy = self._device.allocate(8 * count)
        table = self._table(np.array([rows.offset + s * rows.stride + r for s, r in places], np.int64))
        self._launch("gather_rows", (count, 1, 1), (rows.memory, table, count, copy))
        return Rows(copy, 0, 1, (count, 1))

    def scatter(self, encodings: Encodings, places: Sequence[tuple[int, int, int]], values: Encodings) -> None:
        index = np.ravel_multi_index(tuple(np.array(places, np.int64).reshape(-1, 3).T), encodings.shape)
        table = self._table(np.asarray(index, np.int64))
        arguments = (encodings.memory, table, values.memory, encodings.octets, len(places))
        self._launch("scatter", (len(places), 1, 1), arguments)

    def truncate(self, operand: Operand, bits: int) -> Operand:
        if operand.bits <= bits or operand.buffer.limbs:
            return operand
        stacks, rows = operand.shape[:2]
        low, high = operand.exponents, operand.tops
        raised = self._device.allocate(16 * stacks * rows)
        self._launch(
            "truncate",
            (rows, stacks, 1),
            (low.memory, high.memory, low.offset, low.stride, high.offset, high.stride, stacks, rows, bits, raised),
        )
        exponents, tops = _both_rows(raised, stacks, rows)
        return replace(operand, exponents=exponents, tops=tops, bits=bits, truncated=True)

    def allocate(self, shape: tuple[int, int, int], format: FloatFormat) -> Encodings:
        octets = format.bits // 8
        return Encodings(self._device.allocate(prod(shape) * octets), octets, shape)

    def store(self, result: Encodings, tile: tuple[slice, slice, slice], encodings: Encodings) -> None:
        _, rows, columns = result.shape
        at = (tile[0].start * rows + tile[1].start) * columns + tile[2].start
        self._launch(
            "store",
            encodings.shape[::-1],
            (result.memory, at, rows, columns, encodings.memory, result.octets, *encodings.shape),
        )

    def restore(self, parts: Sequence[Encodings], format: FloatFormat, shape: tuple[int, ...], like: Source) -> Any:
        dtype = np.dtype(f"u{format.bits // 8}")
        library = like.library
        if like.device_kind == "cpu":
            real, *imag = (self._device.download(part.memory, dtype, shape) for part in parts)
            if imag:
                return library.from_host_complex(real, imag[0], format, like)
            return library.from_host(real, format, like)
        real, *imag = (self._device.array(part.memory, dtype, shape) for part in parts)
        if imag:
            return library.from_device_complex(real, imag[0], format, like)
        return library.from_device(real, format, like)

    def total(self, counts: Sequence[Count]) -> int:
        return self._counts.total(counts)

    def free_bytes(self) -> int:
        return self._device.free_bytes()

    def tile_bytes(self, tile: Tile, pieces: int, groups: int, base: ResidueBase, engine: Engine) -> int:
        planes, octets = len(base.moduli) * octets_of(base), octets_of(base)
        rows = tile.left_stacks * tile.rows + tile.right_stacks * tile.columns
        operands = rows * padded(tile.depth, DEPTH) * planes
        results = tile.pairs * tile.rows * padded(tile.columns, COLUMNS)
        limbs = tables.limbs_for(base.product.bit_length())
        work = self._matrix.workspace(tile, base, engine)
        # sums over steps of the inner dimension, and of groups, are made beside what they are made of
        sums = (groups + 2) * results * planes
        encodings = 24 * groups * results
        if pieces <= 2:
            return pieces * operands + sums + encodings + work
        # pieces of intervals lie in memory as integers, and hulls as integers and residues of them
        made = 4 * PIECES * (limbs // 2 + 1) * rows * tile.depth + (8 * limbs + 2 * planes * octets) * results
        return pieces * operands + sums + encodings + work + made

    def engine_is_exact(self, engine: Engine, modulus_limit: int) -> bool:
        return extreme_products_are_exact(self._device, self._matrix, engine, modulus_limit)

    def direct(
        self, left: Source, right: Source, transposed: bool, format: FloatFormat, roundings: Sequence[Rounding]
    ) -> Sequence[Encodings] | None:
        return None

    # ---- scans -----------------------------------------------------------------------------------------------------

    def scan(self, sides: Sequence[Sequence[Operand]]) -> list[Scanned]:
        # for each side a cell for its bits, and one for each operand's entries that are not finite; then all ranges
        summary = sum(1 + len(side) for side in sides)
        ranges = sum(2 * prod(side[0].shape[:2]) for side in sides)
        cells = self._filled(summary, summary + ranges, NO_RANGE)
        found: list[list[Operand]] = []
        cell, ranges_at = 0, summary
        for side in sides:
            found.append(self._scan_side(side, cells, cell, ranges_at))
            cell += 1 + len(side)
            ranges_at += 2 * prod(side[0].shape[:2])
        seen = iter(self._device.download(cells, INT32, (summary,)).tolist())
        return [_scanned(side, next(seen), [next(seen) for _ in side]) for side in found]

    def _scan_side(self, side: Sequence[Operand], cells: Memory, cell: int, ranges_at: int) -> list[Operand]:
        stacks, rows, _ = side[0].shape
        for number, operand in enumerate(side):
            self._scan_operand(operand, cells, ranges_at, cell + 1 + number)
        exponents = self._device.allocate(16 * stacks * rows)
        self._launch("exponents", (stacks * rows, 1, 1), (cells, ranges_at, stacks * rows, cell, exponents))
        low, high = _both_rows(exponents, stacks, rows)
        return [replace(operand, exponents=low, tops=high) for operand in side]

    def _scan_operand(self, operand: Operand, cells: Memory, ranges_at: int, nonfinite_at: int) -> None:
        """Widen the ranges of an operand's rows, which begin at one cell, and count in another."""
        stacks, rows, depth = operand.shape
        step = min(padded(depth, self._device.lanes), SCAN_STEP)
        self._launch(
            "scan",
            (-(-step // self._device.lanes), rows, stacks),
            (operand.buffer.memory, self._description(operand), step, cells, ranges_at, nonfinite_at),
        )

    def first_nonfinite(self, operand: Operand) -> int:
        if not isinstance(operand.format, FloatFormat):
            return -1
        return self._first("first_nonfinite", operand)

    def first_invalid_interval(self, first: Operand, second: Operand, *, endpoints: bool) -> int:
        (scanned,) = self.scan([[first, second]])
        return self._first("first_negative", self.interval_pieces(*scanned.operands, endpoints=endpoints).r)

    def _first(self, kernel: str, operand: Operand) -> int:
        """Position in C order of the first entry that the kernel looks for, -1 where there is none."""
        stacks, rows, depth = operand.shape
        cells = self._filled(0, stacks * rows, NOWHERE)
        self._launch(kernel, self._grid(operand.shape), (operand.buffer.memory, self._description(operand), cells))
        found = self._device.download(cells, INT32, (stacks * rows,))
        row = int(np.argmax(found != NOWHERE)) if found.size else 0
        return row * depth + int(found[row]) if found.size and found[row] != NOWHERE else -1

    # ---- residues --------------------------------------------------------------------------------------------------

    def residues(self, operand: Operand, base: ResidueBase, engine: Engine) -> tuple[OperandPlanes, Count]:
        stacks, rows, depth = operand.shape
        count = self._counts.new()
        planes = self._residues(operand, base, padded(depth, DEPTH), count, {})
        return OperandPlanes(planes, stacks, len(base.moduli) * octets_of(base), rows, padded(depth, DEPTH)), count

    def _residues(
        self, operand: Operand, base: ResidueBase, depth: int, count: Count, constants: Mapping[str, int]
    ) -> Memory:
        """Bytes [S, P * octets, R, depth], with zeros past the operand's own depth."""
        octets, (stacks, rows, _) = octets_of(base), operand.shape
        table = _residue_table(operand, base)
        planes = self._device.allocate(stacks * rows * depth * len(base.moduli) * octets)
        powers = () if octets == 1 else (self._constant(table.constants if table.powers is None else table.powers),)
        self._launch(
            f"residues{8 * octets}",
            self._grid((stacks, rows, depth)),
            (
                *(operand.buffer.memory, self._description(operand)),
                operand.buffer.memory if operand.exponents is None else operand.exponents.memory,
                *(self._constant(table.constants), self._constant(table.weights), *powers),
                *(planes, self._table(descriptions.residue_table(depth, table)), count.memory, count.index),
            ),
            self._limbs(table.limbs) | constants,
        )
        return planes

    def multiply(self, terms: Sequence[Term], pairs: Pairs, base: ResidueBase, engine: Engine) -> ResultPlanes:
        left, right = terms[0][1:]
        if not (len(pairs[0]) and left.rows and right.rows):
            return self._planes((len(pairs[0]), left.rows, right.rows), base)
        return self._matrix.multiply(terms, pairs, base, engine)

    def combine(self, terms: Sequence[tuple[int, ResultPlanes]], base: ResidueBase) -> ResultPlanes:
        (sign, total), *others = terms
        if not others:
            return total if sign == 1 else self._sum(sign, total, 0, total, base)
        for other_sign, planes in others:
            total, sign = self._sum(sign, total, other_sign, planes, base), 1
        return total

    def _sum(self, sign: int, x: ResultPlanes, other_sign: int, y: ResultPlanes, base: ResidueBase) -> ResultPlanes:
        table = tables.crt(base, octets_of(base))
        result = self._planes(x.shape, base)
        pairs, rows, _ = x.shape
        self._launch(
            "combine",
            self._grid((pairs, x.moduli, rows * x.padded_columns)),
            (
                *(result.memory, x.memory, sign, y.memory, other_sign),
                *(self._table(descriptions.result_table(x, table)), self._constant(table.constants)),
            ),
        )
        return result

    # ---- results ---------------------------------------------------------------------------------------------------

    def integers(self, planes: ResultPlanes, base: ResidueBase) -> HostArray:
        table = tables.crt(base, octets_of(base))
        shape = (*planes.shape, table.limbs)
        limbs = self._device.allocate(4 * prod(shape))
        self._launch(
            "integers",
            self._grid(planes.shape),
            (planes.memory, *self._crt(planes, table), limbs),
            self._crt_limits(table),
        )
        return mp.from_words(self._device.download(limbs, np.dtype(np.uint32), shape))

    def round(
        self,
        planes: ResultPlanes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[Encodings, ...]:
        results = tuple(self.allocate(planes.shape, format) for _ in roundings)
        for some, directions in _in_twos(results, roundings):
            self._launch_round("round", planes, base, exponents, format, (some, directions), ())
        return results

    def round_certified(
        self,
        planes: ResultPlanes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        slack: int,
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[tuple[Encodings, ...], Sequence[tuple[int, int, int]]]:
        results = tuple(self.allocate(planes.shape, format) for _ in roundings)
        places: set[int] = set()
        for some, directions in _in_twos(results, roundings):
            capacity = prod(planes.shape) // ROOM + FEW
            while True:
                unsure = self._filled(2, 2, 0, size=8 * (1 + capacity))
                more = (slack, unsure, capacity)
                self._launch_round("round_certified", planes, base, exponents, format, (some, directions), more)
                count, *found = self._device.download(unsure, INT64, (1 + FEW,)).tolist()
                if count <= capacity:
                    break
                capacity = count
            if count > FEW:
                found = self._device.download(unsure, INT64, (1 + count,)).tolist()[1:]
            places.update(found[:count])
        index = np.unravel_index(np.array(sorted(places), np.int64), planes.shape)
        return results, list(zip(*(axis.tolist() for axis in index), strict=True))

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
        left, right, pairs, shift = exponents
        table = tables.crt(base, octets_of(base))
        rows, columns = left.exponents, right.exponents
        starts = [[x.offset + x.stride * i for i in index] for x, index in zip((rows, columns), pairs, strict=True)]
        (first, *second), codes = outputs[0], [tables.ROUNDINGS[rounding] for rounding in outputs[1]]
        self._launch(
            kernel,
            self._grid(planes.shape),
            (
                *(planes.memory, *self._crt(planes, table)),
                *(rows.memory, columns.memory, self._table(np.array(starts, np.int64)), shift),
                self._constant(tables.format_table(format)),
                *(codes[0], first.memory),
                *((codes[1], second[0].memory) if second else (-1, first.memory)),
                *more,
            ),
            self._crt_limits(table),
        )

    def mark(
        self,
        encodings: Encodings,
        special: tuple[ResultPlanes, ResultPlanes, ResultPlanes],
        base: ResidueBase,
        format: FloatFormat,
    ) -> None:
        table = tables.crt(base, octets_of(base))
        self._launch(
            "mark",
            self._grid(encodings.shape),
            (
                *(planes.memory for planes in special),
                *self._crt(special[0], table),
                *(self._constant(tables.format_table(format)), encodings.memory),
            ),
            self._crt_limits(table),
        )

    # ---- intervals and special entries -----------------------------------------------------------------------------

    def interval_pieces(self, first: Operand, second: Operand, *, endpoints: bool) -> IntervalPieces:
        bits = max(first.bits, second.bits)
        limbs = tables.limbs_for(bits + INTERVAL_BITS)
        invalid, broken = self._counts.new(), self._counts.new()
        size = 4 * prod(first.shape)
        pieces = self._device.allocate(PIECES * limbs * size)
        self._launch(
            "interval_pieces",
            self._grid(first.shape),
            (
                *(first.buffer.memory, self._description(first), second.buffer.memory, self._description(second)),
                *(first.exponents.memory, int(endpoints), limbs, pieces),
                *(broken.memory, broken.index, invalid.memory, invalid.index),
            ),
            self._limbs(limbs),
        )
        _, rows, depth = first.shape
        strides = (4 * rows * depth, 4 * depth, 4)
        operands = (
            replace(first, buffer=Entries(pieces, i * limbs * size, strides, limbs, size), format=None, bits=bits + 2)
            for i in range(PIECES)
        )
        return IntervalPieces(*operands, invalid, broken)

    def hull_excess(
        self, left: IntervalPieces, right: IntervalPieces, pairs: Pairs, base: ResidueBase
    ) -> tuple[ResultPlanes, ResultPlanes]:
        shape = (len(pairs[0]), left.m.shape[1], right.m.shape[1])
        counts = [side.m.buffer.limbs for side in (left, right)]
        limbs = sum(counts) + 1
        size = 4 * prod(shape)
        excess = self._device.allocate(2 * limbs * size)
        self._launch(
            "hull",
            shape[::-1],
            (
                *(left.m.buffer.memory, self._description(left.m), counts[0]),
                *(right.m.buffer.memory, self._description(right.m), counts[1]),
                *(self._table(np.array(pairs, np.int64)), len(pairs[0]), excess),
            ),
            {"XL_LANES": 1, "XL_MAX_LIMBS": _roughly(limbs), "XL_MAX_GROUPS": 1},
        )
        strides = (4 * shape[1] * shape[2], 4 * shape[2], 4)
        low, high = (
            Operand(Entries(excess, end * limbs * size, strides, limbs, size), None, shape, bits=32 * limbs - 1)
            for end in range(2)
        )
        return self._whole_residues(low, base), self._whole_residues(high, base)

    def _whole_residues(self, operand: Operand, base: ResidueBase) -> ResultPlanes:
        """Residues of integers of limbs, as those of results."""
        octets = octets_of(base)
        depth = padded(operand.shape[2], COLUMNS)
        whole = {"XL_WHOLE": 1} if octets == 2 else {}
        planes = self._residues(operand, base, depth, self._counts.new(), whole)
        return ResultPlanes(planes, octets, len(base.moduli), operand.shape)

    def special_pieces(self, operand: Operand) -> SpecialPieces:
        stacks, rows, depth = operand.shape
        size = stacks * rows * depth
        classes = self._device.allocate(CLASSES * size)
        arguments = (operand.buffer.memory, self._description(operand), classes)
        self._launch("classify", self._grid(operand.shape), arguments)
        exponents = Rows(self._filled(0, 2 * stacks * rows, 0), 0, rows, (stacks, rows))
        strides = (rows * depth, depth, 1)
        pieces = (
            replace(operand, buffer=Entries(classes, i * size, strides), format=_INT8, exponents=exponents, bits=1)
            for i in range(CLASSES)
        )
        return SpecialPieces(*pieces)

    # ---- launches --------------------------------------------------------------------------------------------------

    def _launch(
        self,
        kernel: str,
        grid: Sequence[int],
        arguments: Sequence[Memory | int],
        constants: Mapping[str, int] = NO_INTEGERS,
    ) -> None:
        if 0 not in grid:
            x, y, z = grid
            self._device.launch(kernel, {"XL_LANES": self._device.lanes} | constants, (x, y, z), arguments)

    def _grid(self, shape: Sequence[int]) -> tuple[int, int, int]:
        """A work item for each XL_LANES entries of the last axis of [outermost, middle, last]."""
        return -(-shape[2] // self._device.lanes), shape[1], shape[0]

    def _filled(self, zeros: int, count: int, value: int, *, size: int = 0) -> Memory:
        """`count` cells of 32 bits, 0 in front and `value` behind; a memory of `size` bytes where that is more."""
        memory = self._device.allocate(max(4 * count, size))
        self._launch("fill", (count, 1, 1), (memory, zeros, count, value))
        return memory

    def _table(self, table: HostArray) -> Memory:
        return self._constant(np.ascontiguousarray(table))

    def _description(self, operand: Operand) -> Memory:
        return self._constant(descriptions.operand_table(operand))

    def _crt(self, planes: ResultPlanes, table: tables.CrtTable) -> tuple[Memory, Memory, Memory]:
        description = self._table(descriptions.result_table(planes, table))
        return description, self._constant(table.constants), self._constant(table.weights)

    def _limbs(self, limbs: int) -> dict[str, int]:
        """Constants of kernels for integers of so many limbs."""
        if limbs <= self._device.fixed_limbs:
            return {"XL_MAX_LIMBS": limbs, "XL_MAX_GROUPS": 1, "XL_FIXED": 1}
        return {"XL_MAX_LIMBS": _roughly(limbs), "XL_MAX_GROUPS": 1}

    def _crt_limits(self, table: tables.CrtTable) -> dict[str, int]:
        """Constants of kernels that make integers from residues."""
        if table.limbs <= self._device.fixed_limbs:
            return {"XL_MAX_LIMBS": table.limbs, "XL_MAX_GROUPS": table.groups, "XL_FIXED": table.moduli}
        return {"XL_MAX_LIMBS": _roughly(table.limbs), "XL_MAX_GROUPS": _roughly(table.groups)}

    def _planes(self, shape: tuple[int, int, int], base: ResidueBase) -> ResultPlanes:
        """Uninitialised residues of results."""
        octets, moduli = octets_of(base), len(base.moduli)
        size = shape[0] * shape[1] * padded(shape[2], COLUMNS) * moduli * octets
        return ResultPlanes(self._device.allocate(size), octets, moduli, shape)


def _roughly(count: int) -> int:
    """A few sizes that hold everything, so that few kernels are compiled."""
    return max(16, 1 << (count - 1).bit_length())


def _octets(operand: Operand) -> int:
    """Bytes of an entry, or of a limb."""
    return 4 if operand.buffer.limbs else int(tables.format_table(operand.format)[1])


def _some_rows(rows: Rows | None, stacks: slice, some: slice) -> Rows | None:
    if rows is None:
        return None
    offset = rows.offset + stacks.start * rows.stride + some.start
    return replace(rows, offset=offset, shape=(stacks.stop - stacks.start, some.stop - some.start))


def _both_rows(memory: Memory, stacks: int, rows: int) -> tuple[Rows, Rows]:
    """Exponents, and the tops behind them."""
    shape = (stacks, rows)
    return Rows(memory, 0, rows, shape), Rows(memory, stacks * rows, rows, shape)


def _scanned(side: Sequence[Operand], bits: int, nonfinite: Sequence[int]) -> Scanned:
    operands = tuple(replace(x, bits=bits, finite=bad == 0) for x, bad in zip(side, nonfinite, strict=True))
    return Scanned(operands, bits, not any(nonfinite))


def _in_twos(
    results: Sequence[Encodings], roundings: Sequence[Rounding]
) -> list[tuple[Sequence[Encodings], Sequence[Rounding]]]:
    return [(results[i : i + 2], roundings[i : i + 2]) for i in range(0, len(results), 2)]


def _residue_table(operand: Operand, base: ResidueBase) -> tables.ResidueTable:
    limbs = tables.limbs_for(operand.bits)
    if octets_of(base) == 1:
        return tables.residues8(base, limbs)
    if operand.buffer.limbs:
        return tables.residues16(base, limbs)
    return tables.residues16_blocks(base, operand.bits)
