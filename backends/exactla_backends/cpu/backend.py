"""The CPU backend: the verbs as calls of the native library, on the host memory that it shares with NumPy's backend."""

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from exactla.arrays import read
from exactla.backend import Engine, IntervalPieces, Lifting, Minor, Operand, Pairs, Scanned, SpecialPieces, Tile
from exactla.core.integers import IntegerMatrix
from exactla.core.interval import EXTRA_BITS
from exactla.core.moduli import ResidueBase
from exactla.errors import BackendUnavailable
from exactla.formats import BigIntegerFormat, FloatFormat
from exactla.results import Rounding
from exactla_backends.cpu import cramer
from exactla_backends.cpu.direct import Direct
from exactla_backends.cpu.halving import native_halving
from exactla_backends.cpu.lifting import LEAST_PRIME, OTHER_MODULI, PRIME_LIMIT, NativeLifting
from exactla_backends.cpu.multiprecision import NativeMultiprecision
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import I64, Array, Instructions
from exactla_backends.cpu.residues import (
    ENGINE,
    OperandPlanes,
    PendingProduct,
    ResultPlanes,
    aligned,
    octets_of,
    padded,
    padded_columns,
    padded_depth,
    residues_of,
)
from exactla_backends.host_memory import HostMemory
from exactla_backends.kernels import tables
from exactla_backends.numpy import interval as reference
from exactla_backends.numpy import limbs as mp
from exactla_backends.numpy import scan as scanning
from exactla_backends.numpy import special
from exactla_backends.numpy.chunks import chunks
from exactla_backends.numpy.lifting import HostSystems

INSTRUCTIONS = "EXACTLA_CPU_INSTRUCTIONS"

WIDE_BITS = 480
"""Integers with more bits are reduced before they become residues of one byte, for which they have too many limbs."""

INTEGERS = 1 << 16
"""Results that become integers at a time."""

Planes = PendingProduct | ResultPlanes


class CpuBackend(HostMemory, HostSystems):
    """See `exactla.backend.Backend`. EXACTLA_CPU_INSTRUCTIONS forces an instruction set, for tests."""

    name = "cpu"
    leading_bits = 172
    least_lifting = 64
    most_searched = 128
    prime_limits: tuple[int, ...] = (PRIME_LIMIT, 1 << 22)
    engines: tuple[Engine, ...] = (ENGINE,)

    def __init__(self) -> None:
        forced = os.environ.get(INSTRUCTIONS) or None
        try:
            self._native = Instructions(library.load(), forced)
        except OSError as error:
            known = ", ".join(f"{name}{'' if runs else ' (not here)'}" for name, runs in library.listed())
            raise BackendUnavailable(f"{error}; this build has {known}") from error
        self.direct = Direct(self._native).product
        self.multiprecision = NativeMultiprecision(self._native)
        self.halving = native_halving(self._native)

    def tile_bytes(self, tile: Tile, pieces: int, groups: int, base: ResidueBase, engine: Engine) -> int:
        planes = len(base.moduli) * octets_of(base)
        depth = padded_depth(tile.depth)
        # the right side is held in two forms while it is packed
        operands = (tile.left_stacks * tile.rows + 2 * tile.right_stacks * padded_columns(tile.columns)) * depth
        results = tile.pairs * tile.rows * padded_columns(tile.columns)
        limbs = base.product.bit_length() // 32 + 1
        # integers on their way to the host, some at a time, and encodings or integers of the block
        rounded = (10 * limbs + 56) * min(results, max(INTEGERS, tile.columns)) + 16 * groups * results
        tiles = self._tiles_bytes(tile, planes, octets_of(base))
        if pieces <= 2:
            # a product is rounded tile by tile, unless steps of the inner dimension, which is the longest then, are
            # summed: then there are sums, products and new sums; integers take one plane of one group
            sums = 3 * groups if tile.depth >= max(tile.rows, tile.columns) else 1
            return pieces * operands * planes + sums * results * planes + rounded + tiles
        # sums of groups are made from whole planes, and hulls from limbs as NumPy's backend makes them
        entries = (tile.left_stacks * tile.rows + tile.right_stacks * tile.columns) * tile.depth
        made = 8 * (pieces + 4) * mp.count_for(base.product.bit_length()) * entries + 56 * len(base.moduli) * results
        return pieces * operands * planes + (groups + 2) * results * planes + rounded + made + tiles

    def _tiles_bytes(self, tile: Tile, planes: int, octets: int) -> int:
        """What threads take for a tile each: its residues, and scratch of the matrix kernels."""
        limits = library.limits()
        rows, columns = (padded(min(side, limits.tile_side), 32) for side in (tile.rows, tile.columns))
        scratch = self._native.call("scratch", I64(octets), I64(rows), I64(columns))
        small = tile.pairs * tile.rows * tile.columns * max(tile.depth // 16, 8) <= limits.worth_a_thread
        each: int = min(limits.tile_bytes, rows * columns * planes) + scratch
        return each if small else each * library.threads()

    def engine_is_exact(self, engine: Engine, modulus_limit: int) -> bool:
        return self._native.call("check") == 1

    def scan(self, sides: Sequence[Sequence[Operand]]) -> list[Scanned]:
        return [self._scan(side) for side in sides]

    def _scan(self, operands: Sequence[Operand]) -> Scanned:
        stacks, rows, _ = operands[0].shape
        lowest, highest = np.empty((2, stacks, rows), np.int64)
        nonfinite = (I64 * len(operands))()
        kept = [_stack(x) for x in operands]
        bits = self._native.run(
            "scan",
            (library.Stack * len(kept))(*kept),
            I64(len(kept)),
            _pointer(lowest),
            _pointer(highest),
            nonfinite,
        )
        scanned = tuple(
            x._replace(exponents=lowest, bits=bits, tops=highest, finite=not bad)
            for x, bad in zip(operands, nonfinite, strict=True)
        )
        return Scanned(scanned, bits, not any(nonfinite))

    def first_nonfinite(self, operand: Operand) -> int:
        return scanning.first_nonfinite(operand)

    def first_invalid_interval(self, first: Operand, second: Operand, *, endpoints: bool) -> int:
        scanned = self._scan((first, second)).operands
        return reference.first_invalid(scanned[0], scanned[1], endpoints=endpoints)

    def residues(self, operand: Operand, base: ResidueBase, engine: Engine) -> tuple[OperandPlanes, "int | _Count"]:
        if isinstance(operand.buffer, _Piece):
            return operand.buffer.residues(self._native, base)
        return self._made_residues(_stack(operand), _residue_table(operand, base), base)

    def _made_residues(
        self, operand: ctypes.Structure, table: ctypes.Structure, base: ResidueBase
    ) -> tuple[OperandPlanes, int]:
        octets, rows = octets_of(base), operand.first.rows
        planes = aligned((operand.stacks, len(base.moduli) * octets, rows, padded_depth(operand.first.depth)))
        broken = self._native.run(
            "residues",
            ctypes.byref(operand),
            ctypes.byref(table),
            I64(octets),
            ctypes.byref(library.plane_stack(planes)),
        )
        return OperandPlanes(self._native, planes, rows), broken

    def multiply(
        self,
        terms: Sequence[tuple[int, OperandPlanes, OperandPlanes]],
        pairs: Pairs,
        base: ResidueBase,
        engine: Engine,
    ) -> Planes:
        left, right = (np.array(index, np.int64) for index in pairs)
        return PendingProduct(self._native, tuple(terms), (left, right), base, octets_of(base))

    def combine(self, terms: Sequence[tuple[int, Planes]], base: ResidueBase) -> Planes:
        found = [residues_of(planes) for _, planes in terms]
        result = ResultPlanes(aligned(found[0].planes.shape, found[0].planes.dtype.type), found[0].columns)
        signs = np.array([sign for sign, _ in terms], np.int64)
        stacks = (library.ResultStack * len(found))(*(library.result_stack(x.planes, x.columns) for x in found))
        self._native.run(
            "combine",
            ctypes.byref(library.result_stack(result.planes, result.columns)),
            stacks,
            _pointer(signs),
            I64(len(found)),
            I64(len(result.planes)),
            ctypes.byref(library.crt_table(base, octets_of(base))),
        )
        return result

    def integers(self, planes: Planes, base: ResidueBase) -> Array:
        found = residues_of(planes)
        result = np.empty(found.shape, np.int64)
        for pairs, rows, _ in chunks((*found.shape[:2], 1), max(1, INTEGERS // max(found.columns, 1))):
            part = self._some_integers(found.planes[pairs, :, rows], found.columns, base)
            if part.dtype != result.dtype and result.dtype != np.dtype(object):
                result = result.astype(object)
            result[pairs, rows] = part
        return result

    def _some_integers(self, planes: Array, columns: int, base: ResidueBase) -> Array:
        count = tables.crt(base, octets_of(base)).limbs
        limbs = np.empty((len(planes), planes.shape[2], columns, count), np.uint32)
        self._native.run(
            "integers",
            ctypes.byref(library.result_stack(planes, columns)),
            I64(len(planes)),
            ctypes.byref(library.crt_table(base, octets_of(base))),
            _pointer(limbs),
        )
        return mp.from_words(limbs)

    def round(
        self,
        planes: Planes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[Array, ...]:
        return self._round(planes, base, exponents, format, roundings, (0, None))

    def round_certified(
        self,
        planes: Planes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        slack: int,
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[tuple[Array, ...], Sequence[tuple[int, int, int]]]:
        unsure = np.zeros(planes.shape, np.uint8)
        found = self._round(planes, base, exponents, format, roundings, (slack, unsure))
        return found, [(int(t), int(r), int(c)) for t, r, c in np.argwhere(unsure)]

    def _round(
        self,
        planes: Planes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        format: FloatFormat,
        roundings: Sequence[Rounding],
        certified: tuple[int, Array | None],
    ) -> tuple[Array, ...]:
        left, right, pairs, shift = exponents
        results = tuple(self.allocate(planes.shape, format) for _ in roundings)
        if 0 in planes.shape or not roundings:
            return results
        index = tuple(np.array(i, np.int64) for i in pairs)
        if isinstance(planes, PendingProduct) and not all(map(np.array_equal, index, planes.pairs)):
            planes = planes.residues  # exponents of other rows than those that were multiplied
        rows, columns = (np.ascontiguousarray(x.exponents) for x in (left, right))
        job = library.rounding_job(base, octets_of(base), format, (rows, columns, shift), results, roundings, certified)
        if isinstance(planes, PendingProduct):
            self._native.run("multiply_round", ctypes.byref(planes.product), ctypes.byref(job))
        else:
            self._native.run(
                "round",
                ctypes.byref(library.result_stack(planes.planes, planes.columns)),
                *map(_pointer, index),
                I64(len(index[0])),
                ctypes.byref(job),
            )
        return results

    def prime_count(self, size: int, limit: int) -> int:
        if limit != PRIME_LIMIT:
            return super().prime_count(size, limit)
        # more of them make fewer steps, and make a short solution wait longer for the inverse
        return 8 if size < 1536 else 12

    def lifting_bytes(self, size: int, count: int) -> int:
        # inverses and what else steps multiply by, packed, and the residues that either is made of
        planes = 2 * (count + OTHER_MODULI)
        return planes * padded_columns(size) * padded_depth(size) + 16 * size**2

    def lifting(self, matrix: IntegerMatrix, primes: ResidueBase) -> Lifting:
        if min(primes.moduli) < LEAST_PRIME or max(primes.moduli) > PRIME_LIMIT:
            return super().lifting(matrix, primes)
        return NativeLifting(self._native, self._residue_planes(matrix), matrix, primes)

    def minors(self, matrix: Array, primes: Sequence[int]) -> list[Minor]:
        if matrix.dtype == np.int64:
            return cramer.minors(self._native, matrix, primes)
        return [cramer.minors(self._native, (matrix % p).astype(np.int64), [p])[0] for p in primes]

    def cramer(self, matrix: Array, right_side: Array, primes: Sequence[int]) -> tuple[Array, Array]:
        return cramer.cramer(self._native, matrix, right_side, primes)

    def _residue_planes(self, matrix: IntegerMatrix) -> Callable[[ResidueBase], OperandPlanes]:
        """What makes residues of an integer matrix of the host, which is read once where its entries are short."""
        if matrix.largest.bit_length() > WIDE_BITS:
            return lambda base: self._residue_planes(IntegerMatrix(matrix.entries % base.product))(base)
        if matrix.entries.dtype == np.dtype(object):
            return self._residue_planes_of_limbs(matrix)
        source = self.view(read(matrix.entries, "matrix"), part="real", transpose=False)
        (scanned,) = self.scan([(source,)])
        return lambda base: self.residues(scanned.operands[0], base, self.engines[0])[0]

    def _residue_planes_of_limbs(self, matrix: IntegerMatrix) -> Callable[[ResidueBase], OperandPlanes]:
        """The same for Python integers of a few limbs, which all of their residues are made from."""
        bits = matrix.largest.bit_length()
        count = tables.limbs_for(bits)
        limbs = np.moveaxis(mp.words_of(matrix.entries, count), -1, 0)[:, None]
        none = np.zeros((1, len(matrix)), np.int64)
        operand = library.stack(limbs, None, none, bits, library.EXPECT_FINITE)

        def planes(base: ResidueBase) -> OperandPlanes:
            return self._made_residues(operand, library.residue_table(base, count, 1, None), base)[0]

        return planes

    def total(self, counts: Sequence["int | _Count"]) -> int:
        return sum(int(count) for count in counts)

    def interval_pieces(self, first: Operand, second: Operand, *, endpoints: bool) -> IntervalPieces:
        counts = _Counts(first, second, endpoints)
        pair = _Intervals(counts)
        bits = max(first.bits, second.bits) + EXTRA_BITS
        m, abs_m, r, outer, rho, abs_rho, straddles = (
            first._replace(buffer=_Piece(pair, i), format=None, bits=bits) for i in range(7)
        )
        return IntervalPieces(m, abs_m, r, outer, rho, abs_rho, straddles, _Count(counts, 0), _Count(counts, 1))

    def hull_excess(
        self, left: IntervalPieces, right: IntervalPieces, pairs: Pairs, base: ResidueBase
    ) -> tuple[Planes, Planes]:
        sides = [_reference_pieces(pieces) for pieces in (left, right)]
        low, high = reference.hull_excess(sides[0], sides[1], pairs, base)
        return self._result_planes(low, base), self._result_planes(high, base)

    def special_pieces(self, operand: Operand) -> SpecialPieces:
        return special.special_pieces(operand)

    def mark(
        self, encodings: Array, special_planes: tuple[Planes, Planes, Planes], base: ResidueBase, format: FloatFormat
    ) -> None:
        signed, count, invalid = (self.integers(planes, base) for planes in special_planes)
        special.mark(encodings, signed, count, invalid, format)

    def _result_planes(self, residues: Array, base: ResidueBase) -> ResultPlanes:
        moduli, pairs, rows, columns = residues.shape
        planes = aligned((pairs, moduli, rows, padded_columns(columns)), np.int8 if octets_of(base) == 1 else np.int16)
        planes[..., :columns] = residues.swapaxes(0, 1)
        return ResultPlanes(planes, columns)


def _pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(library.pointer(array))


def _stack(operand: Operand) -> ctypes.Structure:
    is_big = isinstance(operand.format, BigIntegerFormat)
    buffer = mp.to_words(operand.buffer) if is_big else operand.buffer
    exponents = None if operand.exponents is None else np.ascontiguousarray(operand.exponents)
    checks = library.EXPECT_FINITE * operand.finite + library.MAY_DROP * operand.truncated
    return library.stack(buffer, None if is_big else operand.format, exponents, operand.bits, checks)


def _residue_table(operand: Operand, base: ResidueBase) -> ctypes.Structure:
    octets = octets_of(base)
    limbs = tables.limbs_for(operand.bits)
    if octets == 2 and not isinstance(operand.format, BigIntegerFormat):
        return library.residue_table(base, 0, octets, operand.bits)
    return library.residue_table(base, limbs, octets, None)


@dataclass
class _Counts:
    """Intervals, how many of them have r < 0, and how many break their scan: known once they are residues."""

    first: Operand
    second: Operand
    endpoints: bool
    values: tuple[int, int] | None = None


@dataclass(frozen=True)
class _Intervals:
    """Intervals whose pieces become residues all at once, when the first of them is asked for."""

    counts: _Counts
    _planes: dict[ResidueBase, list[OperandPlanes]] = field(default_factory=dict)

    def planes(self, native: Instructions, base: ResidueBase) -> list[OperandPlanes]:
        """Residues of the seven pieces."""
        if base not in self._planes:
            self._planes[base] = self._convert(native, base)
        return self._planes[base]

    def _convert(self, native: Instructions, base: ResidueBase) -> list[OperandPlanes]:
        octets, counts = octets_of(base), self.counts
        stacks, rows, depth = counts.first.shape
        shape = (stacks, len(base.moduli) * octets, rows, padded_depth(depth))
        planes = [aligned(shape) for _ in range(7)]
        limbs = tables.limbs_for(max(counts.first.bits, counts.second.bits) + 4)
        targets = (library.PlaneStack * 7)(*map(library.plane_stack, planes))
        invalid = I64(0)
        broken = native.run(
            "interval_residues",
            ctypes.byref(_stack(counts.first)),
            ctypes.byref(_stack(counts.second)),
            I64(counts.endpoints),
            ctypes.byref(library.residue_table(base, limbs, octets, None)),
            I64(octets),
            targets,
            ctypes.byref(invalid),
        )
        counts.values = invalid.value, broken
        return [OperandPlanes(native, x, rows) for x in planes]


@dataclass(frozen=True)
class _Piece:
    """One piece of intervals, as an operand's buffer."""

    intervals: _Intervals
    number: int

    def residues(self, native: Instructions, base: ResidueBase) -> tuple[OperandPlanes, int]:
        return self.intervals.planes(native, base)[self.number], 0  # the intervals count for all their pieces


@dataclass(frozen=True)
class _Count:
    """One of the counts of intervals. It does not keep their residues."""

    counts: _Counts
    number: int

    def __int__(self) -> int:
        if self.counts.values is None:
            pieces = _reference_of(self.counts)
            self.counts.values = int(pieces.invalid), int(pieces.broken)
        return self.counts.values[self.number]


def _reference_of(counts: _Counts) -> IntervalPieces:
    return reference.interval_pieces(counts.first, counts.second, endpoints=counts.endpoints)


def _reference_pieces(pieces: IntervalPieces) -> IntervalPieces:
    return _reference_of(pieces.m.buffer.intervals.counts)
