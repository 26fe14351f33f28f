"""The verbs as launches of kernels: the base of all backends whose memory is not the host's.

A device adds a `Device`, which holds memory and runs kernels, and a `Matrix`, which multiplies residues.
"""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from exactla.backend import (
    Direct,
    Engine,
    IntervalPieces,
    Operand,
    Pairs,
    Scanned,
    Settling,
    SpecialPieces,
    Tile,
)
from exactla.core.moduli import ResidueBase
from exactla.formats import INTEGER_FORMATS, FloatFormat
from exactla_backends.device import descriptions
from exactla_backends.device.check import extreme_products_are_exact
from exactla_backends.device.device import Device, Memory
from exactla_backends.device.launches import VECTOR_LANES, roughly
from exactla_backends.device.matrix import Matrix
from exactla_backends.device.memory import both_rows
from exactla_backends.device.planes import (
    COLUMNS,
    DEPTH,
    Count,
    Entries,
    OperandPlanes,
    ResultPlanes,
    Rows,
    Term,
    octets_of,
    padded,
)
from exactla_backends.device.results import FEW, ROOM, DeviceResults
from exactla_backends.device.systems import BorrowedSystems
from exactla_backends.kernels import tables

INTERVAL_BITS, PIECES, CLASSES = 4, 7, 7
"""Bits that pieces of intervals have beside their operands', on the way; and how many kinds of pieces there are."""

NO_RANGE, NOWHERE = 1 << 30, (1 << 31) - 1
"""What cells of ranges and of positions start as, XL_NO_RANGE."""

SCAN_STEP = 4096
"""Entries of a row that so many work items, at most, scan together."""

LINE = 64
"""Residues modulo a byte of each plane that a work item of vectors makes together: a line of a processor's cache."""

VECTOR_SCANS = 64
"""Work items that scan together where each is a vector: a few for each core, since each ends with three atomics."""


class DeviceBackend(DeviceResults, BorrowedSystems):
    """The verbs of `exactla.backend.Backend`, each with its postcondition there, in terms of a device."""

    leading_bits = 172
    direct: Direct | None = None
    settling: Settling | None = None

    def __init__(self, name: str, device: Device, matrix: Matrix) -> None:
        super().__init__(device)
        self.name = name
        self.engines: tuple[Engine, ...] = matrix.engines
        self._matrix = matrix

    def tile_bytes(self, tile: Tile, pieces: int, groups: int, base: ResidueBase, engine: Engine) -> int:
        planes = len(base.moduli) * octets_of(base)
        rows = tile.left_stacks * tile.rows + tile.right_stacks * tile.columns
        results = tile.pairs * tile.rows * padded(tile.columns, COLUMNS)
        limbs = tables.limbs_for(base.product.bit_length())
        operands = rows * padded(tile.depth, DEPTH) * planes + self._matrix.workspace(tile, base, engine)
        # sums over steps of the inner dimension, and of groups, are made beside what they are made of
        sums = (3 * groups if tile.depth >= max(tile.rows, tile.columns) else groups + 2) * results * planes
        # two encodings, the places of those that are uncertain, and integers on their way to the host
        encodings = (16 * groups + max(8 // ROOM + 1, 4 * limbs)) * results + 8 * FEW
        if pieces <= 2:
            return pieces * operands + sums + encodings
        # classes of entries, or pieces of intervals as integers; and hulls as integers
        made = 4 * PIECES * limbs * rows * tile.depth + (8 * limbs + 2 * planes) * results
        return pieces * operands + sums + encodings + made

    def engine_is_exact(self, engine: Engine, modulus_limit: int) -> bool:
        return extreme_products_are_exact(self._device, self._matrix, engine, modulus_limit)

    def scan(self, sides: Sequence[Sequence[Operand]]) -> list[Scanned]:
        # for each side cells for its bits and for the sum of its rows' bits, and one for each operand's entries that
        # are not finite; then all ranges
        summary = sum(2 + len(side) for side in sides)
        ranges = sum(2 * prod(side[0].shape[:2]) for side in sides)
        cells = self._filled(summary, summary + ranges, NO_RANGE)
        found: list[list[Operand]] = []
        cell, ranges_at = 0, summary
        for side in sides:
            found.append(self._scan_side(side, cells, cell, ranges_at))
            cell += 2 + len(side)
            ranges_at += 2 * prod(side[0].shape[:2])
        seen = iter(self._device.download(cells, np.dtype(np.int32), (summary,)).tolist())
        return [scanned(side, next(seen), next(seen), [next(seen) for _ in side]) for side in found]

    def _scan_side(self, side: Sequence[Operand], cells: Memory, cell: int, ranges_at: int) -> list[Operand]:
        stacks, rows, _ = side[0].shape
        for number, operand in enumerate(side):
            self._scan_operand(operand, cells, ranges_at, cell + 2 + number)
        exponents = self._device.allocate(16 * stacks * rows)
        self._launch("exponents", (stacks * rows, 1, 1), (cells, ranges_at, stacks * rows, cell, exponents))
        low, high = both_rows(exponents, stacks, rows)
        return [operand._replace(exponents=low, tops=high) for operand in side]

    def _scan_operand(self, operand: Operand, cells: Memory, ranges_at: int, nonfinite_at: int) -> None:
        """Widen the ranges of an operand's rows, which begin at one cell, and count in another."""
        stacks, rows, depth = operand.shape
        lanes = self._device.lanes
        most = SCAN_STEP if lanes < VECTOR_LANES else lanes * -(-VECTOR_SCANS // max(stacks * rows, 1))
        step = min(padded(depth, lanes), most)
        self._launch(
            "scan",
            (-(-step // lanes), rows, stacks),
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
        found = self._device.download(cells, np.dtype(np.int32), (stacks * rows,))
        row = int(np.argmax(found != NOWHERE)) if found.size else 0
        return row * depth + int(found[row]) if found.size and found[row] != NOWHERE else -1

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
        grid, together = self._grid_of_residues((stacks, rows, depth), octets)
        self._launch(
            f"residues{8 * octets}",
            grid,
            (
                *(operand.buffer.memory, self._description(operand)),
                operand.buffer.memory if operand.exponents is None else operand.exponents.memory,
                *(self._constant(table.constants), self._weights(table), *powers),
                *(planes, self._table(descriptions.residue_table(depth, table)), count.memory, count.cell),
            ),
            {**self._limbs(table.limbs), **together, **constants},
        )
        return planes

    def _grid_of_residues(
        self, shape: tuple[int, int, int], octets: int
    ) -> tuple[tuple[int, int, int], dict[str, int]]:
        """The grid of `residues8` or `residues16`, and what the kernel is told of it."""
        (stacks, rows, depth), lanes = shape, self._device.lanes
        if octets == 2 or lanes < VECTOR_LANES or depth % LINE:
            return self._grid(shape), {}
        return (rows, depth // LINE, stacks), {"XL_TOGETHER": LINE // lanes}

    def multiply(self, terms: Sequence[Term], pairs: Pairs, base: ResidueBase, engine: Engine) -> ResultPlanes:
        left, right = terms[0][1:]
        if not (len(pairs[0]) and left.rows and right.rows):
            return self._planes((len(pairs[0]), left.rows, right.rows), base)
        return self._matrix.multiply(terms, pairs, base, engine)

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
                *(broken.memory, broken.cell, invalid.memory, invalid.cell),
            ),
            self._limbs(limbs),
        )
        _, rows, depth = first.shape
        strides = (4 * rows * depth, 4 * depth, 4)
        m, abs_m, r, outer, rho, abs_rho, straddles = (
            first._replace(buffer=Entries(pieces, i * limbs * size, strides, limbs, size), format=None, bits=bits + 2)
            for i in range(PIECES)
        )
        return IntervalPieces(m, abs_m, r, outer, rho, abs_rho, straddles, invalid, broken)

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
            {"XL_LANES": 1, "XL_MAX_LIMBS": roughly(limbs), "XL_MAX_GROUPS": 1},
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
            operand._replace(
                buffer=Entries(classes, i * size, strides),
                format=INTEGER_FORMATS["int8"],
                exponents=exponents,
                bits=1,
            )
            for i in range(CLASSES)
        )
        return SpecialPieces(*pieces)


def scanned(side: Sequence[Operand], bits: int, all_bits: int, nonfinite: Sequence[int]) -> Scanned:
    """A side, given the largest and the sum of its rows' bits, and its operands' entries that are not finite."""
    operands = tuple(x._replace(bits=bits, finite=bad == 0) for x, bad in zip(side, nonfinite, strict=True))
    typical = -(-all_bits // max(prod(side[0].shape[:2]), 1))
    return Scanned(operands, bits, not any(nonfinite), typical)


def _residue_table(operand: Operand, base: ResidueBase) -> tables.ResidueTable:
    limbs = tables.limbs_for(operand.bits)
    if octets_of(base) == 1:
        return tables.residues8(base, limbs)
    if operand.buffer.limbs:
        return tables.residues16(base, limbs)
    return tables.residues16_blocks(base, operand.bits)
