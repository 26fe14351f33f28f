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
    rows, columns = squares(matrix, most)
    by_rows, by_columns = _product(rows), _product(columns)
    determinant = min(_root_bits(by_rows), _root_bits(by_columns))
    return Bounds(determinant, _root_bits(by_columns // (min(columns, default=0) or 1)))


def squares(matrix: Integers, most: int) -> tuple[list[int], list[int]]:
    """Sums of squares of each row and of each column, of entries up to `most` in magnitude."""
    if matrix.dtype != np.int64 or most >= _HALVES:
        wide = matrix.astype(object) ** 2
        return [int(s) for s in wide.sum(axis=1)], [int(s) for s in wide.sum(axis=0)]
    if most**2 * max(matrix.shape) < 1 << 63:
        rows, columns = _sums(matrix, lambda square: square)
        return rows.tolist(), columns.tolist()
    # each half of a square is below 2**32, so that 2**31 of them can be added
    high = _sums(matrix, lambda square: square >> 32)
    low = _sums(matrix, lambda square: square & (2 * _HALVES - 1))
    found = [(upper.astype(object) << 32) + lower for upper, lower in zip(high, low, strict=True)]
    return found[0].tolist(), found[1].tolist()


def _sums(matrix: Integers, part: Callable[[Integers], Integers]) -> tuple[Integers, Integers]:
    """Sums of a part of each entry's square over the rows and over the columns, for some rows at a time."""
    rows, columns = (np.zeros(n, np.int64) for n in matrix.shape)
    step = max(1, _BLOCK // max(matrix.shape[1], 1))
    for start in range(0, len(matrix), step):
        some = matrix[start : start + step]
        squared = part(some * some)
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
