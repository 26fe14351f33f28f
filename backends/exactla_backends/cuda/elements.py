"""Launches of the kernels in `kernels`: their tables by value, their grids, and when they apply.

Each function makes a `Launch` that does what it says when it is run; its first argument is a structure of 64-bit words,
whose addresses may be changed for the next run.
"""

import ctypes
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from exactla.core.moduli import ResidueBase
from exactla.formats import FloatFormat, Format
from exactla_backends.cuda import driver
from exactla_backends.cuda.driver import Launch
from exactla_backends.device.planes import DEPTH
from exactla_backends.kernels import tables
from exactla_backends.kernels.text import flattened

MODULI = 56
"""Rows of the table of residues: more than there are bases of moduli up to 256."""

MOST_LIMBS = 12
"""Limbs of the largest integers that become residues."""

LANES, FEW_LANES, FEW_ENTRIES = 16, 4, 1 << 20
"""Entries that a thread turns into residues, of a large operand and of one that would leave threads idle."""

SCAN_LEAST, SCAN_BLOCKS = 256, 4096
"""Entries of a row that are worth a block of threads, and blocks that keep any device busy."""

ROUNDING_BLOCKS = 16384
"""Blocks of four warps that round results, if there is work for so many: they keep any device busy several times."""

SETTLING_BLOCKS = 4096
"""Blocks of four warps, each of which takes doubtful results in turn."""

_GRID = 65535
_KERNELS = Path(__file__).with_name("kernels")


Source = tuple[str, str, tuple[str, ...]]
"""A text, the kernel in it, and options of the compiler."""


class Place(NamedTuple):
    """A device, and the architecture that kernels for it are compiled for."""

    device: int
    target: str


class Entries(NamedTuple):
    """An operand, as the kernels read it: its address, strides in bytes, and sizes."""

    data: int
    stack_stride: int
    row_stride: int
    depth_stride: int
    stacks: int
    rows: int
    depth: int

    @property
    def rows_first(self) -> bool:
        """Whether neighbours along the rows are nearer in memory than those along the inner dimension."""
        return self.rows > 1 and abs(self.row_stride) < abs(self.depth_stride)


class Exponents(NamedTuple):
    """The exponents of an operand's rows: int64, the first of each matrix `stride` elements after that of the last."""

    address: int
    stride: int


class Results(NamedTuple):
    """Residues, and the encodings that they become in one direction or two: the fields of xl_results8."""

    residues: int
    pairs: int
    moduli: int
    rows: int
    columns: int
    stride: int
    row_exponents: int
    column_exponents: int
    starts: int
    shift: int
    encodings: tuple[int, int]
    roundings: tuple[int, int]

    def words(self) -> tuple[int, ...]:
        """The fields, one after the other."""
        return *self[:-2], *self.encodings, *self.roundings


class Certificate(NamedTuple):
    """What decides whether results of leading bits are right, and where the others are noted."""

    left_dropped: int = 0
    right_dropped: int = 0
    row_tops: int = 0
    column_tops: int = 0
    places: int = 0
    doubtful: int = 0
    capacity: int = 0


def _int64s(*names: str) -> tuple[tuple[str, type[ctypes.c_int64]], ...]:
    return tuple((name, ctypes.c_int64) for name in names)


class _FewParts(ctypes.Structure):
    """xl_few_parts."""

    _fields_ = _int64s(*Entries._fields, "exponents", "cells")


class _Conversion(ctypes.Structure):
    """xl_conversion."""

    _fields_ = _int64s(
        *(*Entries._fields, "padded", "exponents", "exponent_stride"),
        *("bits", "moduli", "may_drop", "expect_finite", "planes", "broken"),
    )


class _Results8(ctypes.Structure):
    """xl_results8."""

    _fields_ = _int64s(
        *(*Results._fields[:-2], "first_encodings", "second_encodings", "first_rounding", "second_rounding"),
        *Certificate._fields,
    )


def scan(place: Place, format: Format, entries: Entries, ranges: int, nonfinite: int) -> Launch:
    """Widen the ranges of rows, int32 [2, stacks, rows], and count the entries that are not finite."""
    return _over_rows(place, _rows_source("scan", format, entries.rows_first), entries, (ranges, nonfinite))


def exponents(place: Place, format: Format, entries: Entries, exponents: int, cells: int) -> Launch:
    """Exponents of rows and their tops behind them, int64 [2, stacks, rows]; for many rows or little depth.

    Of three cells, int32, the first becomes the largest distance between those, the second grows by all distances, and
    the third by the number of entries that are not finite.
    """
    rows = -(-entries.rows // (32 if entries.rows_first else 8))
    function = driver.kernel(*_rows_source("exponents", format, entries.rows_first), place.target, place.device)
    grid = (rows, 1, min(entries.stacks, _GRID))
    return Launch(function, grid, (32, 32 if entries.rows_first else 8), (_FewParts(*entries, exponents, cells),))


def count_dropped(place: Place, format: Format, entries: Entries, exponents: Exponents, counts: int) -> Launch:
    """Count, for each row, the entries that have bits below its exponent: int32 [stacks, rows]."""
    return _over_rows(place, _rows_source("count_dropped", format, entries.rows_first), entries, (*exponents, counts))


def _over_rows(place: Place, source: Source, entries: Entries, more: tuple[int, ...]) -> Launch:
    block = (32, 8)
    rows = -(-entries.rows // block[0 if entries.rows_first else 1])
    parts = max(1, min(-(-entries.depth // SCAN_LEAST), SCAN_BLOCKS // max(rows * entries.stacks, 1)))
    step = -(-entries.depth // parts)
    function = driver.kernel(*source, place.target, place.device)
    return Launch(function, (rows, parts, min(entries.stacks, _GRID)), block, (_job(*entries, step, *more),))


def residues8(
    place: Place,
    format: Format,
    base: ResidueBase,
    limbs: int,
    entries: Entries,
    exponents: Exponents,
    planes: tuple[int, int],
    checks: tuple[int, bool, bool, int],
) -> Launch:
    """Residues of an operand of integers of `limbs` limbs.

    `planes` are the address and the padded depth of [stacks, moduli, rows, padded]; `checks` are the bits of the
    integers, whether bits may be dropped, whether all entries have to be finite, and the address of a count of those
    that break their scan.
    """
    bits, may_drop, expect_finite, broken = checks
    job = _Conversion(
        *(*entries, planes[1], *exponents),
        *(bits, len(base.moduli), may_drop, expect_finite, planes[0], broken),
    )
    lanes = LANES if entries.stacks * entries.rows * planes[1] > FEW_ENTRIES else FEW_LANES
    block = (32, DEPTH // lanes if entries.rows_first else 4)
    across = entries.rows if entries.rows_first else planes[1] // lanes
    along = planes[1] // DEPTH if entries.rows_first else -(-entries.rows // block[1])
    grid = (-(-across // block[0]), min(along, _GRID), min(entries.stacks, _GRID))
    source = _residues_source(format, limbs, entries.rows_first, lanes)
    function = driver.kernel(*source, place.target, place.device)
    return Launch(function, grid, block, (job, _residue_rows(base, limbs)))


def round8(
    place: Place, format: FloatFormat, base: ResidueBase, results: Results, certificate: Certificate | None = None
) -> Launch:
    """Encodings of results; with a certificate those that it does not cover are noted."""
    job = _Results8(*results.words(), *(certificate or Certificate()))
    source = _round_source(format, crt_limbs(base), -(-len(base.moduli) // 2), certificate is not None)
    function = driver.kernel(*source, place.target, place.device)
    block = (32, 4)
    across, pairs = -(-results.columns // (4 * block[0])), min(results.pairs, _GRID)
    # what columns add to their results is read once for all rows of a thread
    along = min(-(-results.rows // block[1]), max(1, ROUNDING_BLOCKS // max(1, across * pairs)))
    return Launch(function, (across, along, pairs), block, (job, _crt_pairs(base)))


def settle(
    place: Place,
    formats: tuple[FloatFormat, FloatFormat, FloatFormat],
    limbs: int,
    sides: tuple[tuple[Entries, Exponents], tuple[Entries, Exponents]],
    results: Results,
    certificate: Certificate,
    left_over: int,
) -> Launch:
    """Encodings of doubtful results from exact sums of `limbs` limbs; a count grows by those that were not noted.

    The formats are those of the left and the right operand and of the results.
    """
    (left, left_exponents), (right, right_exponents) = sides
    job = _job(
        *(*left[:4], *left_exponents, *right[:4], *right_exponents),
        *(results.pairs, results.rows, results.columns, left.depth, results.shift),
        *(certificate.places, certificate.doubtful, certificate.capacity, left_over),
        *(*results.encodings, *results.roundings),
    )
    function = driver.kernel(*_settle_source(*formats, limbs), place.target, place.device)
    return Launch(function, (SETTLING_BLOCKS, 1, 1), (128, 1), (job,))


def _job(*words: int) -> ctypes.Array[ctypes.c_int64]:
    """A structure of addresses and 64-bit integers, by value."""
    return (ctypes.c_int64 * len(words))(*words)


# ---- sources ---------------------------------------------------------------------------------------------------------


@cache
def _rows_source(kernel: str, format: Format, rows_first: bool) -> Source:
    """A kernel that goes through the rows of an operand."""
    return _source(kernel, format, LANES=1, ROWS_FIRST=int(rows_first))


@cache
def _residues_source(format: Format, limbs: int, rows_first: bool, lanes: int) -> Source:
    return _source("residues8", format, LANES=lanes, LIMBS=limbs, ROWS_FIRST=int(rows_first))


@cache
def _round_source(format: FloatFormat, limbs: int, pairs: int, certified: bool) -> Source:
    sizes = {"LIMBS": limbs, "PAIRS": pairs, "WIDE": int(format.bits > 32)}
    return _source("round8", format, LANES=1, CERTIFIED=int(certified), **sizes)


@cache
def _settle_source(left: FloatFormat, right: FloatFormat, format: FloatFormat, limbs: int) -> Source:
    text, kernel, options = _source("settle", format, LANES=1, LIMBS=limbs, WIDE=int(format.bits > 32))
    return text, kernel, (*options, _fields(left, "LEFT_FORMAT"), _fields(right, "RIGHT_FORMAT"))


def _source(kernel: str, format: Format, **constants: int) -> Source:
    """A kernel, compiled for a format and for constants that its file names."""
    text = flattened(_KERNELS / f"{kernel}.cu")
    return text, f"xl_cuda_{kernel}", (*(f"-DXL_{name}={value}" for name, value in constants.items()), _fields(format))


def _fields(format: Format, name: str = "FORMAT") -> str:
    """The fields of xl_format, as constants of the compiler; the last three are unsigned."""
    values = [int(v) for v in tables.format_table(format)]
    return f"-DXL_{name}=" + ",".join([*(f"{v}ll" for v in values[:-3]), *(f"{v % (1 << 64)}ull" for v in values[-3:])])


# ---- tables ----------------------------------------------------------------------------------------------------------


def crt_limbs(base: ResidueBase) -> int:
    """Limbs of the integers that a base determines."""
    return (base.product.bit_length() - 2) // tables.LIMB_BITS + 1


@lru_cache(maxsize=256)
def _residue_rows(base: ResidueBase, limbs: int) -> ctypes.Array[ctypes.c_uint32]:
    """xl_residue_rows: constants of the shared table, with the offset in the start and a ceiling for the inverse."""
    table = tables.residues8(base, limbs)
    count = len(base.moduli)
    rows = np.zeros((MODULI, 4 + limbs), np.uint32)
    modulus, start, offset = (table.constants[:count, i].astype(np.int64) for i in (0, 2, 5))
    rows[:count, 0] = modulus
    rows[:count, 1] = -(-(1 << 32) // modulus)
    rows[:count, 2] = start + offset
    rows[:count, 3] = offset * 0x01010101
    rows[:count, 4:] = table.weights[:count]
    return _by_value(rows)


@lru_cache(maxsize=256)
def _crt_pairs(base: ResidueBase) -> ctypes.Array[ctypes.c_uint32]:
    """xl_crt_pairs, from the idempotents of each pair of moduli."""
    limbs, product = crt_limbs(base), base.product
    weights, shares, cofactors, start = [], [], [], 0
    for first in range(0, len(base.moduli), 2):
        pair = base.moduli[first : first + 2]
        n = pair[0] * (pair[1] if len(pair) == 2 else 1)
        cofactor = product // n
        weight = pow(cofactor, -1, n)
        idempotents = [weight * (n // m) * pow(n // m, -1, m) % n for m in pair] + [0] * (2 - len(pair))
        weights.append(idempotents[0] | idempotents[1] << 16)
        shares.append(((1 << 32) + n // 2) // n)
        cofactors += _limbs(cofactor, limbs)
        start -= 128 * sum(idempotents) * cofactor
    start %= product
    share = ((start << 32) + product // 2) // product
    padding = [0] * (-(2 * len(weights) + len(cofactors)) % 2)
    words = [*weights, *shares, *cofactors, *_limbs(-product, limbs), *_limbs(start, limbs), *padding]
    return _by_value(np.array([*words, *_limbs(share, 2)], np.uint32))


def _limbs(value: int, count: int) -> list[int]:
    value %= 1 << tables.LIMB_BITS * count
    return [value >> tables.LIMB_BITS * i & 0xFFFFFFFF for i in range(count)]


def _by_value(words: "np.ndarray[Any, np.dtype[np.uint32]]") -> ctypes.Array[ctypes.c_uint32]:
    return (ctypes.c_uint32 * words.size).from_buffer_copy(words.tobytes())
