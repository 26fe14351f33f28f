"""Launches of the kernels in `elements.cu`: their tables by value, their grids, and when they apply."""

import ctypes
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from exactla.core.moduli import ResidueBase
from exactla.formats import Format
from exactla_backends.cuda import driver
from exactla_backends.kernels import tables
from exactla_backends.kernels.text import flattened

MODULI = 56
"""Rows of the table of residues: more than there are bases of moduli up to 256."""

MOST_LIMBS = 12
"""Limbs of the largest integers that become residues."""

LANES = 16
"""Entries that a thread turns into residues."""

SCAN_LEAST, SCAN_BLOCKS = 256, 4096
"""Entries of a row that are worth a block of threads, and blocks that keep any device busy."""

SETTLING_BLOCKS = 1024
"""Blocks of four warps, each of which takes doubtful results in turn."""

_GRID = 65535
_I64, _Address = ctypes.c_int64, ctypes.c_void_p


class _Conversion(ctypes.Structure):
    _fields_ = (
        ("data", _Address),
        ("strides", _I64 * 3),
        *((name, _I64) for name in ("stacks", "rows", "depth", "padded")),
        ("exponents", _Address),
        *((name, _I64) for name in ("exponent_stride", "bits", "moduli", "may_drop", "expect_finite")),
        ("planes", _Address),
        ("broken", _Address),
    )


class _Results(ctypes.Structure):
    _fields_ = (
        ("residues", _Address),
        *((name, _I64) for name in ("pairs", "moduli", "rows", "columns", "stride")),
        *((name, _Address) for name in ("row_exponents", "column_exponents", "starts")),
        ("shift", _I64),
        ("encodings", _Address * 2),
        ("roundings", _I64 * 2),
        *((name, _Address) for name in ("left_dropped", "right_dropped")),
        *((name, _I64) for name in ("left_bits", "right_bits")),
        ("places", _Address),
        ("doubtful", _Address),
        ("capacity", _I64),
    )


class _Side(ctypes.Structure):
    _fields_ = (("data", _Address), ("strides", _I64 * 3), ("exponents", _Address), ("exponent_stride", _I64))


class _Settlement(ctypes.Structure):
    _fields_ = (
        *((name, _Side) for name in ("left", "right")),
        *((name, _I64) for name in ("pairs", "rows", "columns", "depth", "shift")),
        ("places", _Address),
        ("doubtful", _Address),
        ("capacity", _I64),
        ("left_over", _Address),
        ("encodings", _Address * 2),
        ("roundings", _I64 * 2),
    )


class _Census(ctypes.Structure):
    _fields_ = (
        ("data", _Address),
        ("strides", _I64 * 3),
        *((name, _I64) for name in ("stacks", "rows", "depth", "step")),
        ("exponents", _Address),
        ("exponent_stride", _I64),
        ("counts", _Address),
    )


class _Search(ctypes.Structure):
    _fields_ = (
        ("data", _Address),
        ("strides", _I64 * 3),
        *((name, _I64) for name in ("stacks", "rows", "depth", "step")),
        ("ranges", _Address),
        ("nonfinite", _Address),
    )


Source = tuple[str, str, tuple[str, ...]]
"""A text, the kernel in it, and options of the compiler."""

Fields = dict[str, Any]


class Place(NamedTuple):
    """A device, and a stream of it."""

    device: int
    target: str
    stream: int


def scan(place: Place, format: Format, fields: Fields) -> None:
    """Ranges of rows, and the number of entries that are not finite; fields of xl_search without `step`."""
    _over_rows(place, _Search(**fields), lambda rows_first: _scan_source(format, rows_first))


def count_dropped(place: Place, format: Format, fields: Fields) -> None:
    """For each row the entries that have bits below its exponent; fields of xl_census without `step`."""
    _over_rows(place, _Census(**fields), lambda rows_first: _count_source(format, rows_first))


def _over_rows(place: Place, job: _Search | _Census, source: Callable[[bool], Source]) -> None:
    rows_first = _rows_first(job)
    block = (32, 8)
    rows = -(-job.rows // block[0 if rows_first else 1])
    parts = max(1, min(-(-job.depth // SCAN_LEAST), SCAN_BLOCKS // max(rows * job.stacks, 1)))
    job.step = -(-job.depth // parts)
    function = driver.kernel(*source(rows_first), place.target, place.device)
    driver.launch(function, (rows, parts, min(job.stacks, _GRID)), block, place.stream, (job,))


def residues8(place: Place, format: Format, base: ResidueBase, limbs: int, fields: Fields) -> None:
    """Residues of an operand of integers of `limbs` limbs; `fields` are those of xl_conversion."""
    job = _Conversion(**fields)
    rows_first = _rows_first(job)
    function = driver.kernel(*_residues_source(format, limbs, rows_first), place.target, place.device)
    block = (32, 8 if rows_first else 4)
    across = job.rows if rows_first else job.padded // LANES
    along = job.padded // (8 * LANES) if rows_first else -(-job.rows // block[1])
    grid = (-(-across // block[0]), min(along, _GRID), min(job.stacks, _GRID))
    driver.launch(function, grid, block, place.stream, (job, _residue_rows(base, limbs)))


def round8(place: Place, format: Format, base: ResidueBase, fields: Fields, *, certified: bool = False) -> None:
    """Encodings of results in one direction or two; fields of xl_results8, whose last ones are for `certified`."""
    job = _Results(**fields)
    limbs = crt_limbs(base)
    pairs = -(-len(base.moduli) // 2)
    function = driver.kernel(*_round_source(format, limbs, pairs, certified), place.target, place.device)
    block = (32, 4)
    grid = (-(-job.columns // (4 * block[0])), min(-(-job.rows // block[1]), _GRID), min(job.pairs, _GRID))
    driver.launch(function, grid, block, place.stream, (job, _crt_pairs(base)))


def settle(place: Place, formats: tuple[Format, Format, Format], limbs: int, fields: Fields) -> None:
    """Encodings of doubtful results from exact sums of `limbs` limbs.

    The formats are those of the left and the right operand and of the results; fields are those of xl_settlement.
    """
    left, right = (_Side(**side) for side in (fields["left"], fields["right"]))
    job = _Settlement(**fields | {"left": left, "right": right})
    function = driver.kernel(*_settle_source(*formats, limbs), place.target, place.device)
    driver.launch(function, (SETTLING_BLOCKS, 1, 1), (128, 1), place.stream, (job,))


# ---- sources ---------------------------------------------------------------------------------------------------------


def _rows_first(job: _Search | _Census | _Conversion) -> bool:
    """Whether neighbours along the rows are nearer in memory than those along the inner dimension."""
    return job.rows > 1 and abs(job.strides[1]) < abs(job.strides[2])


@cache
def _scan_source(format: Format, rows_first: bool) -> Source:
    return _source("xl_cuda_scan", format, TASK=0, LANES=1, ROWS_FIRST=int(rows_first))


@cache
def _residues_source(format: Format, limbs: int, rows_first: bool) -> Source:
    return _source("xl_cuda_residues8", format, TASK=1, LANES=LANES, LIMBS=limbs, ROWS_FIRST=int(rows_first))


@cache
def _count_source(format: Format, rows_first: bool) -> Source:
    return _source("xl_cuda_count_dropped", format, TASK=3, LANES=1, ROWS_FIRST=int(rows_first))


@cache
def _round_source(format: Format, limbs: int, pairs: int, certified: bool) -> Source:
    sizes = {"LIMBS": limbs, "PAIRS": pairs, "WIDE": int(format.bits > 32)}
    return _source("xl_cuda_round8", format, TASK=2, LANES=1, CERTIFIED=int(certified), **sizes)


@cache
def _settle_source(left: Format, right: Format, format: Format, limbs: int) -> Source:
    text, kernel, options = _source("xl_cuda_settle", format, TASK=4, LANES=1, LIMBS=limbs, WIDE=int(format.bits > 32))
    return text, kernel, (*options, _fields(left, "LEFT_FORMAT"), _fields(right, "RIGHT_FORMAT"))


def _source(kernel: str, format: Format, **constants: int) -> Source:
    text = flattened(Path(__file__).with_name("elements.cu"))
    return text, kernel, (*(f"-DXL_{name}={value}" for name, value in constants.items()), _fields(format))


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
    return (ctypes.c_uint32 * words.size).from_buffer_copy(words)
