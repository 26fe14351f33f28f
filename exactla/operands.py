"""What algorithms and backends hand to each other: buffers, operands, engines, blocks of work and pieces of numbers.

`exactla.backend` says what is done with them, and what their letters for shapes are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from exactla.formats import Format

Buffer = Any
"""Memory of a backend. Opaque: only its own backend looks inside."""


class Operand(NamedTuple):
    """[S, R, K] entries: encodings of a format, or with format None integers in units of 2**exponents[r] (pieces).

    After a scan, entry x of row r is an integer times 2**exponents[r], of magnitude below 2**(exponents[r] + bits).
    Rows that hold nothing but integers of an integer format have exponent 0.
    """

    buffer: Buffer
    format: Format | None
    shape: tuple[int, int, int]
    exponents: Buffer = None
    bits: int = 0
    tops: Buffer = None  # int64 [S, R]: entries of row r are below 2**tops[r] in magnitude
    finite: bool = False  # whether the scan found all entries finite
    truncated: bool = False  # whether bits below the row's exponent are dropped


class Scanned(NamedTuple):
    """Operands that share their rows' exponents, and whether all their entries are finite."""

    operands: tuple[Operand, ...]
    bits: int
    finite: bool
    typical_bits: int = 0  # the mean over rows of what `bits` is the largest of, for a backend's `settling`


@dataclass(frozen=True)
class Engine:
    """A way to multiply residues exactly: sums of magnitude up to 2**accumulator_bits are exact."""

    name: str
    accumulator_bits: int
    modulus_limits: tuple[int, ...]  # upper limits of the moduli that it can use, the preferred one first

    def depth(self, modulus_limit: int) -> int:
        """The longest inner product of centred residues whose every partial sum is exact."""
        return (1 << self.accumulator_bits) // (modulus_limit // 2) ** 2


class Tile(NamedTuple):
    """Sizes of a block of work, for `Backend.tile_bytes`."""

    pairs: int
    left_stacks: int
    right_stacks: int
    rows: int
    columns: int
    depth: int


Pairs = tuple[Sequence[int], Sequence[int]]
"""Which left and which right matrix each of the T results multiplies."""


@dataclass(frozen=True)
class IntervalPieces:
    """The integers that interval products are made of, in units of 2**exponent of the row; see `core.interval`.

    ``m = lo + hi``, ``r = hi - lo``, ``outer = |m| + r``, ``rho = sign(m) * min(|m|, r)``; `straddles` is 1 where
    ``0 < |m| < r``, else 0; `invalid` counts the entries with ``r < 0``, `broken` those that break their scan.
    """

    m: Operand
    abs_m: Operand
    r: Operand
    outer: Operand
    rho: Operand
    abs_rho: Operand
    straddles: Operand
    invalid: Buffer
    broken: Buffer


@dataclass(frozen=True)
class SpecialPieces:
    """What IEEE 754 makes of non-finite entries: integers -1, 0 or 1 per entry; see `core.nonfinite`.

    `sign` and `infinity` are signed and 0 for a NaN; `zero`, `nan` and `one` are indicators.
    """

    sign: Operand
    abs_sign: Operand
    infinity: Operand
    abs_infinity: Operand
    zero: Operand
    nan: Operand
    one: Operand
