"""Jobs for the entry points of native.h, made from any bytes: the same bytes are the same job.

`outcome` runs a job with one instruction set and returns all that it wrote. Sizes, layouts, formats and entries are
what the bytes say; tables are those of the backend, so that every job keeps the preconditions.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import exactla as xl
from exactla.core.moduli import ResidueBase, residue_base
from exactla.formats import FLOAT16, FLOAT32, FLOAT64, FLOAT_FORMATS, INTEGER_FORMATS, FloatFormat, Format
from exactla_backends.cpu import direct
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import I64, Instructions, Pointer
from exactla_backends.cpu.residues import aligned, padded_columns, padded_depth
from exactla_backends.kernels import tables
from tests.backends.cpu.fuzz.inputs import Array, Draw, Matrices, Scan, integers, matrices

Outcome = list[tuple[str, Array | int]]

UNTOUCHED = 0xA5
FORMATS: tuple[Format, ...] = (FLOAT64, FLOAT32, FLOAT16, *FLOAT_FORMATS.values(), *INTEGER_FORMATS.values())
INTERVAL_EXTRA_BITS = 4
PIECES = 7
SHAPES = ((70, 40, 150), (70, 40, 150), (600, 9, 40), (9, 600, 40), (5, 5, 3000))
"""The most rows, columns and inner dimension: a block and some, tiles and some, chunks of a sum and some."""

LARGEST = 20_000
"""Products of entries in a product of matrices."""


def outcome(native: Instructions, data: bytes) -> Outcome:
    """All that the job wrote, by name."""
    draw = Draw(data)
    job: Callable[[Instructions, Draw], Outcome] = (_product, _direct, _interval, _product)[draw.below(4)]
    return job(native, draw)


def difference(found: Outcome, expected: Outcome) -> str | None:
    """Where two outcomes differ first."""
    if [name for name, _ in found] != [name for name, _ in expected]:
        return f"steps {[name for name, _ in found]} and {[name for name, _ in expected]}"
    for (name, x), (_, y) in zip(found, expected, strict=True):
        if not np.array_equal(x, y):
            places = np.argwhere(np.asarray(x) != np.asarray(y))
            return f"{name} at {tuple(map(int, places[0]))}"
    return None


# ---- operands --------------------------------------------------------------------------------------------------------


def _scan(native: Instructions, threads: ctypes.c_int64, *sides: Matrices) -> Scan:
    lowest, highest = np.empty((2, *sides[0].shape[:2]), np.int64)
    stacks, nonfinite = [x.stack() for x in sides], (I64 * len(sides))()
    places = _pointer(lowest), _pointer(highest), nonfinite
    bits = native.call("scan", (library.Stack * len(stacks))(*stacks), I64(len(stacks)), *places, threads)
    # of long entries a bound, so that there are few tables: to make them takes longer than a job
    return Scan(lowest, bits if bits <= 100 else -(-bits // 128) * 128, sum(nonfinite))


def _base(bits: int, octets: int) -> tuple[ResidueBase, int]:
    """A base for that many bits, of two digits where one is not enough."""
    small = residue_base(256, bits) if octets == 1 else None
    if small is not None:
        return small, 1
    large = residue_base(65280, bits if bits <= 200 else -(-bits // 256) * 256)
    if large is None:
        raise ValueError(f"no base holds {bits} bits")
    return large, 2


def _residue_table(x: Matrices, base: ResidueBase, octets: int, bits: int) -> ctypes.Structure:
    if octets == 2 and x.format is not None:
        return library.residue_table(base, 0, octets, bits)
    return library.residue_table(base, tables.limbs_for(bits), octets, None)


def _residues(
    native: Instructions, x: Matrices, scan: Scan, base: ResidueBase, octets: int, threads: ctypes.c_int64
) -> tuple[Array, int]:
    planes = _planes(x, base, octets)
    broken = native.call(
        "residues",
        ctypes.byref(x.stack(scan)),
        ctypes.byref(_residue_table(x, base, octets, scan.bits)),
        I64(octets),
        ctypes.byref(library.plane_stack(planes)),
        threads,
    )
    return planes, broken


def _planes(x: Matrices, base: ResidueBase, octets: int) -> Array:
    stacks, rows, depth = x.shape
    return np.full((stacks, len(base.moduli) * octets, rows, padded_depth(depth)), UNTOUCHED, np.uint8).view(np.int8)


def _pack(native: Instructions, planes: Array, threads: ctypes.c_int64) -> Array:
    stacks, count, rows, depth = planes.shape
    packed = aligned((stacks, count, padded_columns(rows) * depth))
    places = _pointer(planes), I64(stacks * count), I64(rows), I64(depth), _pointer(packed)
    native.call("pack", *places, threads)
    return packed


def _classes(native: Instructions, x: Matrices) -> Array:
    stacks, rows, depth = x.shape
    classes = np.full((PIECES, stacks, 1, rows, padded_depth(depth)), UNTOUCHED, np.uint8).view(np.int8)
    targets = (library.PlaneStack * PIECES)(*map(library.plane_stack, classes))
    stack = x.stack()
    native.bound("classify", Pointer, Pointer)(ctypes.addressof(stack), ctypes.addressof(targets))
    return classes


# ---- jobs ------------------------------------------------------------------------------------------------------------


def _product(native: Instructions, draw: Draw) -> Outcome:
    """Sums of products of stacks: residues, integers and encodings, in every way to get them."""
    formats = (*FORMATS, None)
    kinds = [formats[draw.below(len(formats))] for _ in range(2)]
    rows, columns, depth = map(draw.size, SHAPES[draw.below(len(SHAPES))])
    depth = min(depth, LARGEST // (rows * columns) + 1)
    stacks = [1 + draw.below(2) for _ in range(2)]
    octets, threads = 1 + draw.below(2), I64(draw.below(4))
    signs = [1 - 2 * draw.below(2) for _ in range(1 + draw.below(3))]
    pairs = [np.array([draw.below(n) for _ in range(2)], np.int64) for n in stacks]
    left = matrices(draw, kinds[0], (stacks[0], rows, depth))
    right = matrices(draw, kinds[1], (stacks[1], columns, depth))
    rounding = _Rounding.drawn(draw)
    dropped = [draw.below(60) if draw.below(4) == 0 and isinstance(kind, FloatFormat) else 0 for kind in kinds]
    scans = [_scan(native, threads, x) for x in (left, right)]
    found: Outcome = [(f"scan {i}", scan.exponents) for i, scan in enumerate(scans)]
    found += [(f"bits {i}", scan.bits) for i, scan in enumerate(scans)]
    if any(scan.nonfinite for scan in scans):
        found += [(f"classes {i}", _classes(native, x)) for i, x in enumerate((left, right)) if x.format is not None]
        return found
    scans = [scan.without_tail(tail) for scan, tail in zip(scans, dropped, strict=True)]
    bits = scans[0].bits + scans[1].bits + (depth * len(signs)).bit_length()
    base, octets = _base(bits + 2, octets)
    planes = [_residues(native, *side, base, octets, threads) for side in zip((left, right), scans, strict=True)]
    found += [(f"residues {i}", x) for i, (x, _) in enumerate(planes)]
    found += [(f"broken {i}", broken) for i, (_, broken) in enumerate(planes)]
    packed = _pack(native, planes[1][0], threads)
    product = _sum_of_products(planes[0][0], packed, signs, pairs, (rows, columns), base, octets)
    sums = _Sums(product, pairs, [scan.exponents for scan in scans], base, octets, bits)
    found += _results(native, sums, rounding, threads)
    _check_integers((left, right), scans, sum(signs), sums, dict(found)["integers"])
    return found


def _sum_of_products(
    left: Array,
    packed: Array,
    signs: Sequence[int],
    pairs: Sequence[Array],
    shape: tuple[int, int],
    base: ResidueBase,
    octets: int,
) -> ctypes.Structure:
    strides = left.strides[1] * octets, left.strides[1], packed.strides[1] * octets, packed.strides[1]
    places = library.pointer(left), library.pointer(packed), *strides, left.shape[3]
    terms = (library.Term * len(signs))(
        *(library.Term(*places, int(sign < 0), 0, left.strides[0], packed.strides[0]) for sign in signs)
    )
    constants = library.product_constants(base, octets)
    product = library.Product(
        *(ctypes.addressof(terms), len(terms), *map(library.pointer, pairs), len(pairs[0]), *shape),
        *(len(base.moduli), octets, library.pointer(constants)),
    )
    return library.keep(product, terms, constants, left, packed, *pairs)


@dataclass(frozen=True)
class _Rounding:
    """To what, how and where results are rounded."""

    format: FloatFormat
    roundings: tuple[Any, ...]
    gap: int
    shift: int
    slack: int

    @staticmethod
    def drawn(draw: Draw) -> "_Rounding":
        formats, roundings = tuple(FLOAT_FORMATS.values()), tuple(tables.ROUNDINGS)
        return _Rounding(
            formats[draw.below(len(formats))],
            tuple(roundings[draw.below(4)] for _ in range(1 + draw.below(4))),
            draw.below(3),
            draw.below(200) - 100,
            draw.below(1 << 12),
        )

    def outputs(self, shape: tuple[int, int, int]) -> list[Array]:
        """For each rounding, rows with a gap between them."""
        word = np.dtype(f"u{self.format.bits // 8}")
        size = (*shape[:2], shape[2] + self.gap)
        return [np.full((*size, word.itemsize), UNTOUCHED, np.uint8).view(word)[..., 0] for _ in self.roundings]

    def job(
        self,
        base: ResidueBase,
        octets: int,
        exponents: Sequence[Array],
        outputs: Sequence[Array],
        columns: int,
        certified: tuple[int, Array | None],
    ) -> ctypes.Structure:
        """The job that writes so many columns of the outputs."""
        views = [x[..., :columns] for x in outputs]
        left, right = exponents
        return library.rounding_job(
            base, octets, self.format, (left, right, self.shift), views, self.roundings, certified
        )


def _check_integers(
    sides: Sequence[Matrices], scans: Sequence[Scan], factor: int, sums: "_Sums", limbs: Array | int
) -> None:
    """The integers are right, where they are few enough to compute them here."""
    if sum(x.entries.size for x in sides) > 400:
        return
    left, right = (integers(x, scan) for x, scan in zip(sides, scans, strict=True))
    for (t, r, c), text in zip(np.ndindex(sums.shape), np.asarray(limbs).reshape(-1, np.shape(limbs)[-1]), strict=True):
        expected = factor * int(np.dot(left[sums.pairs[0][t]][r], right[sums.pairs[1][t]][c]))
        if int.from_bytes(text.astype("<u4").tobytes(), "little", signed=True) != expected:
            raise AssertionError(f"integer {(t, r, c)} is not {expected}")


@dataclass(frozen=True)
class _Sums:
    """A sum of products, and what its results are: below 2**bits in units of two exponents."""

    product: ctypes.Structure
    pairs: Sequence[Array]
    exponents: Sequence[Array]
    base: ResidueBase
    octets: int
    bits: int

    @property
    def shape(self) -> tuple[int, int, int]:
        return int(self.product.pairs), int(self.product.rows), int(self.product.columns)


def _results(native: Instructions, sums: _Sums, rounding: _Rounding, threads: ctypes.c_int64) -> Outcome:
    shape, word = sums.shape, np.int8 if sums.octets == 1 else np.int16
    residues = np.full((shape[0], len(sums.base.moduli), shape[1], padded_columns(shape[2])), 77, word)
    results = library.result_stack(residues, shape[2])
    native.call("multiply", ctypes.byref(sums.product), ctypes.byref(results), threads)
    crt = library.crt_table(sums.base, sums.octets)
    limbs = np.full((*shape, crt.limbs), UNTOUCHED, np.uint32)
    native.call("integers", ctypes.byref(results), I64(shape[0]), ctypes.byref(crt), _pointer(limbs), threads)
    found: Outcome = [("product", residues), ("integers", limbs)]
    found.append(("combined", _combined(native, residues, shape[2], sums, threads)))
    slack = rounding.slack % (sums.bits + 1)
    for name, certified in (("plain", False), ("certified", True)):
        written = []
        for fused in (True, False):
            outputs = rounding.outputs(shape)
            unsure = np.full(shape, UNTOUCHED, np.uint8) if certified else None
            job = rounding.job(
                sums.base, sums.octets, sums.exponents, outputs, shape[2], (slack if certified else 0, unsure)
            )
            if fused:
                native.call("multiply_round", ctypes.byref(sums.product), ctypes.byref(job), threads)
            else:
                places = *map(_pointer, sums.pairs), I64(shape[0])
                native.call("round", ctypes.byref(results), *places, ctypes.byref(job), threads)
            written.append(outputs if unsure is None else [*outputs, unsure])
        for i, (x, y) in enumerate(zip(*written, strict=True)):
            if not np.array_equal(x, y):
                raise AssertionError(f"{name} encodings {i} of tiles are not those of residues")
            found.append((f"{name} {i}", x))
    return found


def _combined(native: Instructions, residues: Array, columns: int, sums: _Sums, threads: ctypes.c_int64) -> Array:
    """Twice the results less themselves, and so themselves: compared with them where it is made."""
    signs = np.array([1, -1, 1], np.int64)
    combined = residues.copy()
    combined[..., :columns] = 0
    stacks = (library.ResultStack * 3)(*(library.result_stack(residues, columns) for _ in range(3)))
    native.call(
        "combine",
        ctypes.byref(library.result_stack(combined, columns)),
        stacks,
        _pointer(signs),
        I64(len(signs)),
        I64(len(residues)),
        ctypes.byref(library.crt_table(sums.base, sums.octets)),
        threads,
    )
    if not np.array_equal(combined, residues):
        raise AssertionError("x - x + x is not x")
    return combined


def _interval(native: Instructions, draw: Draw) -> Outcome:
    """Residues of the seven pieces of intervals, valid and invalid ones."""
    format = FORMATS[draw.below(len(FORMATS))]
    shape = 1 + draw.below(2), draw.size(40), draw.size(100)
    octets, endpoints, threads = 1 + draw.below(2), draw.below(2), I64(draw.below(4))
    first = matrices(draw, format, shape)
    second = first if draw.below(8) == 0 else matrices(draw, format, shape)
    scan = _scan(native, threads, first, second)
    found: Outcome = [("scan", scan.exponents), ("bits", scan.bits), ("nonfinite", scan.nonfinite)]
    if scan.nonfinite:
        return found
    limbs = tables.limbs_for(scan.bits + INTERVAL_EXTRA_BITS)
    base, octets = _base(32 if limbs <= tables.CHUNK_LIMBS else 300, octets if limbs <= tables.CHUNK_LIMBS else 2)
    planes = [_planes(first, base, octets) for _ in range(PIECES)]
    targets = (library.PlaneStack * PIECES)(*map(library.plane_stack, planes))
    invalid = I64(0)
    broken = native.call(
        "interval_residues",
        *(ctypes.byref(x.stack(scan)) for x in (first, second)),
        I64(endpoints),
        ctypes.byref(library.residue_table(base, limbs, octets, None)),
        I64(octets),
        targets,
        ctypes.byref(invalid),
        threads,
    )
    return [*found, ("broken", broken), ("invalid", invalid.value), *((f"piece {i}", x) for i, x in enumerate(planes))]


@cache
def _plans(native: Instructions) -> direct.Direct:
    return direct.Direct(native)


def _direct(native: Instructions, draw: Draw) -> Outcome:
    """Small products in one call; plans are made as jobs ask for them."""
    kinds = [FORMATS[draw.below(len(FORMATS))] for _ in range(2)]
    stacks, rows, columns, depth = 1 + draw.below(3), draw.size(40), draw.size(40), draw.size(100)
    left, right = (matrices(draw, kinds[i], (stacks, n, depth)).entries for i, n in enumerate((rows, columns)))
    rounding = _Rounding.drawn(draw)
    roundings = rounding.roundings[:2]
    whole = np.stack(rounding.outputs((stacks, rows, columns))[: len(roundings)])
    results, sides = whole[..., :columns], (left, right)
    if stacks == 1:
        results, sides = results[:, 0], (left[0], right[0])
    names = kinds[0].name, kinds[1].name, rounding.format.name
    with xl.threads(1 + draw.below(3)):
        form = _plans(native).form(sides[0].shape, sides[1].shape, True, names, tuple(roundings))
        assert form is not None
        code = _plans(native).run(*sides, results, form)
    return [("code", code), ("encodings", whole)]


def _pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(library.pointer(array))
