"""Hadamard's bounds on determinants and on the numerators of Cramer's rule, as numbers of bits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla.core.scaling import Integers, largest

_HALVES = 1 << 31

_BLOCK = 1 << 16
"""Entries that are squared at a time: they stay in the cache."""

_FLOAT_BITS = 480
"""Bits of entries whose squares can be added in float64."""

_SLACK = 2.0**-28
"""Bits by which the logarithm of a sum of up to 2**22 rounded squares may be off."""

_LEADING_BITS, _EXACT_BITS, _SQUARED_BITS = 24, 53, 30
"""Bits of the entries that a reduced bound looks at, of whole numbers in float64, and of numbers that are squared."""


@dataclass(frozen=True)
class Bounds:
    """For a nonsingular integer matrix A: |det A| < 2**determinant, and minors with b in place of a column.

    The numerator of x_j by Cramer's rule is at most the product of the norms of the *columns* other than j, times the
    norm of b. The determinant is bounded by rows as well, but that bound says nothing about numerators.
    """

    determinant: int
    other_columns: int

    def numerators(self, b_squares: int) -> int:
        """Bits of the numerators for right-hand sides whose squares add up to at most this."""
        return self.other_columns + (b_squares.bit_length() + 1) // 2


def hadamard(matrix: Integers, most: int) -> Bounds:
    """Bounds for a square matrix without zero rows and columns, whose largest magnitude is `most`."""
    if most.bit_length() <= _FLOAT_BITS:
        return _rounded_hadamard(matrix)
    rows, columns = squares(matrix, most)
    by_rows, by_columns = _product(rows), _product(columns)
    determinant = min(_root_bits(by_rows), _root_bits(by_columns))
    return Bounds(determinant, _root_bits(by_columns // (min(columns, default=0) or 1)))


def _rounded_hadamard(matrix: Integers) -> Bounds:
    """The same from logarithms in float64: each is off by less than `_SLACK`, and there is one a row or column.

    With n terms and the unit roundoff u, a sum of rounded squares of rounded entries is off by (n + 3) u, relatively.
    """
    by_rows, by_columns = (np.log2(np.where(s > 0, s, 1.0)) for s in _sums(matrix, np.square, np.float64))
    slack = _SLACK * len(matrix)
    whole = by_columns.sum()
    shortest = by_columns.min() if len(matrix) else 0.0
    # sqrt(x) < 2**b for b > log2(x) / 2
    determinant, other_columns = ((x + slack) / 2 for x in (min(by_rows.sum(), whole), whole - shortest))
    return Bounds(int(determinant) + 1, int(other_columns) + 1)


def squares(matrix: Integers, most: int) -> tuple[list[int], list[int]]:
    """Sums of squares of each row and of each column, of entries up to `most` in magnitude."""
    if matrix.dtype != np.int64 or most >= _HALVES:
        wide = matrix.astype(object) ** 2
        return [int(s) for s in wide.sum(axis=1)], [int(s) for s in wide.sum(axis=0)]
    if most**2 * max(matrix.shape) < 1 << 63:
        rows, columns = _sums(matrix, np.square)
        return rows.tolist(), columns.tolist()
    # each half of a square is below 2**32, so that 2**31 of them can be added
    high = _sums(matrix, lambda x: x * x >> 32)
    low = _sums(matrix, lambda x: x * x & (2 * _HALVES - 1))
    found = [(upper.astype(object) << 32) + lower for upper, lower in zip(high, low, strict=True)]
    return found[0].tolist(), found[1].tolist()


def _sums(
    matrix: Integers, part: Callable[[Integers], Integers], dtype: type = np.int64
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sums of something of each entry, as a number of a type, over rows and over columns, for some rows at a time."""
    rows: NDArray[Any] = np.zeros(matrix.shape[0], dtype)
    columns: NDArray[Any] = np.zeros(matrix.shape[1], dtype)
    step = max(1, _BLOCK // max(matrix.shape[1], 1))
    for start in range(0, len(matrix), step):
        squared = part(matrix[start : start + step].astype(dtype, copy=False))
        rows[start : start + step] = squared.sum(axis=1)
        columns += squared.sum(axis=0)
    return rows, columns


def reduced_determinant_bits(matrix: Integers) -> int:
    """Bits b with |det A| < 2**b, close to it for a well-conditioned matrix of int64 or Python integers.

    Hadamard's bound on A W for an upper triangular integer matrix W with 2**s on its diagonal, det W = 2**(s n). Any
    such W will do; one that makes the columns nearly orthogonal, from a factorisation in floating point, makes the
    bound a good one. The product and its norms are integers.
    """
    size = len(matrix)
    dropped = max(0, largest(matrix).bit_length() - _LEADING_BITS)
    leading = (matrix >> dropped).astype(np.int64)
    room = _EXACT_BITS - size.bit_length() - largest(leading).bit_length()
    weights, scale = _orthogonalising(leading, room)
    # exact: sums of `size` products stay below 2**53
    product: NDArray[Any] = np.abs((leading.astype(np.float64) @ weights.astype(np.float64)).astype(np.int64))
    if dropped:  # 0 <= A - 2**dropped * leading < 2**dropped
        product += np.abs(weights).sum(axis=0)
    cut = max(0, largest(product).bit_length() - _SQUARED_BITS)
    shortened = (product >> cut) + (cut > 0)
    _, norms = squares(shortened, largest(shortened))
    return max(0, _root_bits(_product(norms)) + size * (cut + dropped - scale))


def _orthogonalising(matrix: NDArray[np.int64], room: int) -> tuple[NDArray[np.int64], int]:
    """W below 2**room in magnitude, and s; the unit matrix where floating point finds none."""
    size = len(matrix)
    with np.errstate(all="ignore"):
        triangle = np.linalg.qr(matrix.astype(np.float64), mode="r")
        try:
            found = np.triu(np.linalg.inv(triangle) * np.diag(triangle))
        except np.linalg.LinAlgError:
            found = np.eye(size)
    most = np.abs(found).max(initial=1.0)
    scale = room - 1 - int(np.frexp(most)[1]) if np.isfinite(most) else 0
    if scale < 1:
        return np.eye(size, dtype=np.int64), 0
    weights = np.rint(np.ldexp(found, scale)).astype(np.int64)
    np.fill_diagonal(weights, 1 << scale)
    return weights, scale


def _product(numbers: list[int]) -> Any:
    """The product of the numbers, those of equal length first."""
    found = [gmpy2.mpz(n) for n in numbers]
    while len(found) > 1:
        odd = found[len(found) & ~1 :]
        found = [*map(gmpy2.mul, found[::2], found[1::2]), *odd]
    return found[0] if found else gmpy2.mpz(1)


def _root_bits(square: Any) -> int:
    """Bits b with sqrt(square) < 2**b."""
    return (int(square.bit_length()) + 1) // 2 + 1
