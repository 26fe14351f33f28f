"""The cases as one binary file for the standalone checker, with the plans and constant tables that it works by.

`conformance/checker/casefile.h` describes the file. Plans are made here, from a scan of bit patterns; the checker
makes its own scan and refuses a plan that does not hold it.
"""

import os
import struct
import tempfile
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import exactla as xl
from exactla.core.interval import EXTRA_BITS, IntervalMethod, interval_groups
from exactla.core.matmul import product_groups
from exactla.core.moduli import OCTET_LIMIT, ResidueBase, residue_base
from exactla.core.nonfinite import special_groups
from exactla.core.planning import sum_bits
from exactla.formats import FLOAT_FORMATS, INTEGER_FORMATS, Format
from exactla_backends.kernels import tables
from exactla_conformance import linear, multiprecision
from exactla_conformance.case import Case
from exactla_conformance.cases import select_cases
from exactla_conformance.digests import Record, load_reference, packed
from exactla_conformance.encodings import COMPLEX, Encoded, Floating, common_format, part_format
from exactla_conformance.oracle import pair_lines

MAGIC = b"exactla-cases-1\n"
NONE = 0xFFFFFFFF
"""Stands for a table that a case does not need."""

RESULT_TYPES = ("int", "int64", "bool")
"""Of exact products, which choose between two, and of masks: the checker finds them by name."""

_INTERVAL_BITS = 4
"""Bits that the pieces of intervals have more than the operands, as `xl_host.h` asks for."""

LEFT_OUT = linear.FUNCTIONS + multiprecision.FUNCTIONS
"""Functions that the checker does not have."""

_NONE = 1 << 40
"""Past any exponent."""

Part = tuple[str, Sequence[int]]
"""The format and the entries of a real or an imaginary part."""


def export(
    path: str | os.PathLike[str],
    select: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write cases and their frozen digests for the checker; returns how many.

    The checker has the kernels of products, so cases of systems and of multiple precision are left out.

    Raises
    ------
    ValueError
        No case matches `select`, or one of them has no frozen digest.
    """
    cases = {name: case for name, case in select_cases(select).items() if case.function not in LEFT_OUT}
    if not cases:
        raise ValueError(f"no case matches {select!r}")
    frozen = load_reference(xl.BITS_VERSION)
    missing = sorted(cases.keys() - frozen.cases.keys())
    if missing:
        raise ValueError(f"these cases have no frozen digest: {', '.join(missing)}")
    pool = _Pool()
    records = []
    for name, case in cases.items():
        records.append(_case_bytes(case, frozen.cases[name], pool))
        if progress is not None:
            progress(len(records), len(cases))
    header = MAGIC + struct.pack("<I", frozen.bits_version)
    _write(path, [header, *pool.sections(), struct.pack("<I", len(records)), *records])
    return len(records)


def _write(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
    """Write the file whole or not at all."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


# ---- what cases share -----------------------------------------------------------------------------------------------
class _Section:
    """Records that are written once each and then named by their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._records: list[bytes] = []

    def number(self, key: Hashable, make: Callable[[], bytes]) -> int:
        """The number of the record with this key, which is made where it is new."""
        if key not in self._numbers:
            self._records.append(make())
            self._numbers[key] = len(self._numbers)
        return self._numbers[key]

    def __bytes__(self) -> bytes:
        return struct.pack("<I", len(self._records)) + b"".join(self._records)


class _Pool:
    """Number types, residue bases and residue tables."""

    def __init__(self) -> None:
        self._types, self._bases, self._residues = _Section(), _Section(), _Section()
        for name in RESULT_TYPES:
            self.type(name)

    def sections(self) -> Iterable[bytes]:
        return map(bytes, (self._types, self._bases, self._residues))

    def type(self, name: str) -> int:
        return self._types.number(name, partial(_type_bytes, name))

    def base(self, base: ResidueBase) -> int:
        return self._bases.number(base, partial(_base_bytes, base))

    def residues(self, base: ResidueBase, limbs: int, window_bits: int | None = None) -> int:
        """The table for integers of so many limbs, or in two digits for a window in integers of `window_bits`."""
        if _octets(base) == 1 or window_bits is None:
            make = tables.residues8 if _octets(base) == 1 else tables.residues16
            table, blocks = make(base, limbs), 0
        else:
            table = tables.residues16_blocks(base, window_bits)
            blocks = 0 if table.powers is None else table.powers.shape[1]
        number = self.base(base)
        key = (number, table.limbs, blocks)
        return self._residues.number(key, partial(_residue_bytes, number, table, blocks))


def _octets(base: ResidueBase) -> int:
    return 1 if max(base.moduli) <= OCTET_LIMIT else 2


def _text(text: str) -> bytes:
    return struct.pack("<B", len(text)) + text.encode("ascii")


def _words(words: "np.ndarray[Any, Any]") -> bytes:
    return words.astype("<u4").tobytes()


def _exactla_format(name: str) -> Format | None:
    """None for integers of any size, as in `tables.format_table`."""
    name = COMPLEX.get(name, name)
    return FLOAT_FORMATS.get(name) or INTEGER_FORMATS.get(name)


def _type_bytes(name: str) -> bytes:
    fields = tables.format_table(_exactla_format(name)).tolist()
    bits = [field % (1 << 64) for field in fields]
    return _text(name) + struct.pack(f"<B{len(bits)}Q", 2 if name in COMPLEX else 1, *bits)


def _base_bytes(base: ResidueBase) -> bytes:
    octets = _octets(base)
    table = tables.crt(base, octets)
    numbers = (octets, table.moduli, table.limbs, table.groups, table.quotient_octets, len(table.constants))
    moduli = struct.pack(f"<{table.moduli}I", *base.moduli)
    return struct.pack("<6I", *numbers) + moduli + _words(table.constants) + _words(table.weights)


def _residue_bytes(base: int, table: tables.ResidueTable, blocks: int) -> bytes:
    powers = b"" if table.powers is None else _words(table.powers)
    numbers = struct.pack("<4I", base, table.limbs, blocks, len(table.constants))
    return numbers + _words(table.constants.view(np.uint32)) + _words(table.weights) + powers


# ---- a case ---------------------------------------------------------------------------------------------------------
def _case_bytes(case: Case, record: Record, pool: _Pool) -> bytes:
    operands = case.operands()
    words = case.keywords
    name = str(words.get("dtype") or common_format([operand.format for operand in operands]))
    plan = _interval_plan(case, operands) if case.function.startswith("mm_interval") else _product_plan(case, operands)
    return b"".join(
        [
            *map(_text, (case.name, case.function)),
            *(_text(str(words.get(key, ""))) for key in ("rounding", "method", "nonfinite")),
            struct.pack("<BIB", bool(words.get("return_info")), pool.type(name), len(operands)),
            *(_operand_bytes(operand, pool) for operand in operands),
            struct.pack("<5I", *plan.numbers(pool)),
            bytes.fromhex(record.input),
            bytes.fromhex(record.output),
        ]
    )


def _operand_bytes(operand: Encoded, pool: _Pool) -> bytes:
    format = part_format(operand.format)
    limbs = 0 if format.bits else max((tables.limbs_for(entry.bit_length()) for entry in operand.entries), default=1)
    shape = struct.pack(f"<B{len(operand.shape)}Q", len(operand.shape), *operand.shape)
    if limbs:
        entries = b"".join(entry.to_bytes(4 * limbs, "little", signed=True) for entry in operand.entries)
    else:
        entries = packed(format, operand.entries)
    return struct.pack("<I", pool.type(operand.format)) + shape + struct.pack("<I", limbs) + entries


# ---- plans ----------------------------------------------------------------------------------------------------------
class _Side(NamedTuple):
    """What becomes residues on one side of a product: bits of its integers, and a window where they are wider."""

    bits: int
    window: bool


@dataclass(frozen=True)
class _Plan:
    """Bits of the sums that a product is made of, on both sides, and in the excess of hulls; 0 where there are none."""

    bits: int
    sides: tuple[_Side, _Side]
    special_bits: int = 0
    hull_limbs: int = 0

    def numbers(self, pool: _Pool) -> tuple[int, ...]:
        """Numbers of the base, of the sides' tables, of the base of non-finite counts and of the hull's table."""
        base = _base(self.bits)
        sides = (
            pool.residues(base, tables.limbs_for(side.bits), side.bits if side.window else None) for side in self.sides
        )
        special = pool.base(_base(self.special_bits)) if self.special_bits else NONE
        hull = pool.residues(base, self.hull_limbs) if self.hull_limbs else NONE
        return (pool.base(base), *sides, special, hull)


def _base(bits: int) -> ResidueBase:
    for limit in (OCTET_LIMIT, tables.DIGITS_LIMIT):
        base = residue_base(limit, bits)
        if base is not None:
            return base
    raise ValueError(f"there are no moduli for {bits} bits")


def _product_plan(case: Case, operands: Sequence[Encoded]) -> _Plan:
    a, b = operands[0], operands[-1]
    pairing = pair_lines(a.shape, b.shape, transposed=len(operands) == 1 or case.function.endswith("_nt"))
    rows, columns = ({line[i] for line in pairing.lines} for i in range(2))
    sides = _side(_parts(a), rows), _side(_parts(b), columns)
    groups = product_groups(len(_parts(a)), len(_parts(b)))
    depth = _depth(a)
    special = 0
    if any(_has_special(*part) for part in (*_parts(a), *_parts(b))):
        special = sum_bits(1, 1, depth * max(len(terms) for group in groups for terms in special_groups(group)))
    return _Plan(sum_bits(sides[0].bits, sides[1].bits, depth * max(map(len, groups))), sides, special)


def _interval_plan(case: Case, operands: Sequence[Encoded]) -> _Plan:
    method = IntervalMethod(str(case.keywords.get("method", IntervalMethod.SHARP)))
    pairing = pair_lines(operands[0].shape, operands[2].shape, transposed=False)
    rows, columns = ({line[i] for line in pairing.lines} for i in range(2))
    left = _side([*_parts(operands[0]), *_parts(operands[1])], rows).bits
    right = _side([*_parts(operands[2]), *_parts(operands[3])], columns).bits
    inner, outer, _ = interval_groups(method)
    bits = sum_bits(left + EXTRA_BITS, right + EXTRA_BITS, (len(inner) + len(outer)) * _depth(operands[0]))
    sides = _Side(left + _INTERVAL_BITS, False), _Side(right + _INTERVAL_BITS, False)
    limbs = sum(tables.limbs_for(side.bits) for side in sides) + 1 if method is IntervalMethod.HULL else 0
    return _Plan(bits, sides, hull_limbs=limbs)


def _parts(operand: Encoded) -> list[Part]:
    step = 2 if operand.format in COMPLEX else 1
    name = COMPLEX.get(operand.format, operand.format)
    return [(name, operand.entries[offset::step]) for offset in range(step)]


def _depth(a: Encoded) -> int:
    return a.shape[-1]


def _has_special(name: str, entries: Sequence[int]) -> bool:
    format = part_format(name)
    if not isinstance(format, Floating):
        return False
    words = np.array(entries, np.uint64)
    is_nan = (words == format.sign) & (not format.signed_zero)
    return bool((is_nan | (words % np.uint64(format.sign) > format.largest_encoding)).any())


def _side(parts: Sequence[Part], lines: Iterable[range]) -> _Side:
    """The most bits that a line of these parts has over its lowest one; big integers have no window."""
    lows, highs = zip(*(_exponents(name, entries) for name, entries in parts), strict=True)
    low, high = np.minimum.reduce(lows), np.maximum.reduce(highs)
    bits = 0
    for line in lines:
        entries = slice(line.start, line.stop, line.step)
        bits = max(bits, int(high[entries].max(initial=-_NONE) - low[entries].min(initial=_NONE)))
    return _Side(bits, part_format(parts[0][0]).bits > 0)


def _exponents(name: str, entries: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Exponents of the lowest bit of each entry, and past the highest; integers count from 0.

    Where an entry of a float format is zero or not finite, they are past any on both sides.
    """
    format = part_format(name)
    if not isinstance(format, Floating):
        return np.zeros(len(entries), np.int64), np.array([entry.bit_length() for entry in entries], np.int64)
    magnitudes = (np.array(entries, np.uint64) % np.uint64(format.sign)).astype(np.int64)
    binades, fractions = np.divmod(magnitudes, format.normal)
    significands = np.where(binades > 0, fractions + format.normal, fractions)
    quanta = format.least + np.maximum(binades - 1, 0)
    low = quanta + np.bitwise_count((significands & -significands) - 1)
    counts = (magnitudes > 0) & (magnitudes <= format.largest_encoding)
    return np.where(counts, low, _NONE), np.where(counts, quanta + format.precision, -_NONE)
