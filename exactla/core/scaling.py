"""Systems of rational numbers as systems of integers: denominators and common divisors of rows and columns taken out.

Integer matrices are NumPy arrays, int64 where all entries fit and Python integers as objects where not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

Integers = NDArray[Any]
"""int64, or Python integers as objects."""

_SAMPLE = 8
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True)
class RationalRows:
    """The rational matrix whose row i is integers[i] * scales[i]; without `scales` all of them are 1."""

    integers: Integers
    scales: list[Any] | None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.integers.shape
        return rows, columns

    def scale(self, row: int) -> Any:
        """The factor of a row."""
        return gmpy2.mpq(1) if self.scales is None else self.scales[row]

    def transpose(self) -> "RationalRows":
        """The transposed matrix, over one denominator."""
        if self.scales is None:
            return RationalRows(np.ascontiguousarray(self.integers.T), None)
        divisor = common_denominator(self.scales)
        factors = [int(s * divisor) for s in self.scales]
        integers = compact(self.integers.astype(object) * np.array(factors, object)[:, None])
        return RationalRows(np.ascontiguousarray(integers.T), [gmpy2.mpq(1, divisor)] * integers.shape[1])


@dataclass(frozen=True)
class ScaledMatrix:
    """A rational matrix, entry (i, j) = rows[i] * integers[i, j] * columns[j]; the factors are 1 where absent.

    No row and no column of `integers` has a common divisor, but for those that are zero.
    """

    integers: Integers
    rows: list[Any] | None
    columns: list[int] | None

    def right_side(self, b: RationalRows) -> tuple[Integers, int]:
        """Integers r and a divisor d: integers @ y = r where x = y / (columns * d) solves the rational system."""
        if self.rows is None and b.scales is None:
            return b.integers, 1
        factors = [b.scale(i) / (1 if self.rows is None else self.rows[i]) for i in range(len(b.integers))]
        divisor = common_denominator(factors)
        scaled = b.integers.astype(object) * np.array([int(f * divisor) for f in factors], object)[:, None]
        return compact(scaled), divisor

    def unscale(self, numerators: NDArray[np.object_], denominator: int) -> tuple[NDArray[np.object_], int]:
        """The solution with its own unknowns, from that with the unknowns of `integers`."""
        if self.columns is None:
            return numerators, denominator
        common = int(gmpy2.lcm(*self.columns)) if self.columns else 1
        return numerators * np.array([common // c for c in self.columns], object)[:, None], denominator * common


def scaled(matrix: RationalRows) -> ScaledMatrix:
    """The matrix without common divisors of its rows, and then of its columns."""
    integers = matrix.integers
    row_content = content(integers)
    scales = matrix.scales
    if row_content is not None:
        integers = compact(integers // np.array(row_content, integers.dtype)[:, None])
        scales = [matrix.scale(i) * c for i, c in enumerate(row_content)]
    column_content = content(integers.T)
    if column_content is not None:
        integers = compact(integers // np.array(column_content, integers.dtype)[None, :])
    return ScaledMatrix(integers, scales, column_content)


def content(integers: Integers) -> list[int] | None:
    """The greatest common divisor of each row, 1 for a row of zeros; None where all of them are 1."""
    if not integers.size:
        return None
    found = np.gcd.reduce(integers[:, :_SAMPLE], axis=1)
    left = np.flatnonzero(found != 1)
    if integers.dtype == np.int64:
        found[left] = np.gcd.reduce(integers[left], axis=1)
    else:
        found[left] = [
            _common_divisor(some, row) for some, row in zip(found[left], integers[left].tolist(), strict=True)
        ]
    found = np.where(found == 0, 1, np.abs(found))
    return None if (found == 1).all() else [int(c) for c in found]


def _common_divisor(multiple: int, integers: list[int]) -> int:
    """The greatest common divisor of Python integers, from a multiple of it."""
    # the sum of all mostly leaves a short number, which one pass goes on with
    return math.gcd(multiple, sum(integers), *integers)


def compact(integers: Integers) -> Integers:
    """The same integers as int64 where all fit, and their negatives too."""
    low, high = extremes(integers)
    if _INT64.min < low and high <= _INT64.max:
        return integers.astype(np.int64, copy=False)
    return integers.astype(object, copy=False)


def extremes(integers: Integers) -> tuple[int, int]:
    """The least and the largest of 0 and the entries."""
    if integers.dtype != np.dtype(object) or not integers.size:
        return int(integers.min(initial=0)), int(integers.max(initial=0))
    entries = integers.ravel().tolist()  # Python compares its own integers faster than NumPy does
    low, high = min(entries), max(entries)
    return int(min(0, low)), int(max(0, high))


def largest(integers: Integers) -> int:
    """The largest magnitude, 0 without entries."""
    low, high = extremes(integers)
    return max(-low, high)


def mapped(values: NDArray[Any], function: Callable[[Any], Any]) -> NDArray[np.object_]:
    """The object array of what a function makes of each entry."""
    found = np.empty(values.size, object)
    found[:] = [function(v) for v in values.flat]
    return found.reshape(values.shape)


def common_denominator(numbers: list[Any]) -> int:
    """The least common denominator."""
    return int(gmpy2.lcm(*{gmpy2.mpq(x).denominator for x in numbers})) if numbers else 1
