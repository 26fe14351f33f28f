"""Hadamard's bounds on determinants and on the numerators of Cramer's rule, as numbers of bits."""

import math
from dataclasses import dataclass
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla.core.scaling import Integers, largest

_HALVES = 1 << 31

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


def hadamard(matrix: Integers) -> Bounds:
    """Bounds for a square matrix without zero rows and columns."""
    rows, columns = squares(matrix, 1), squares(matrix, 0)
    by_rows, by_columns = _root_bits(rows), _root_bits(columns)
    return Bounds(min(by_rows, by_columns), _root_bits(sorted(columns)[1:]))


def squares(matrix: Integers, axis: int) -> list[int]:
    """Sums of squares along an axis."""
    most = largest(matrix)
    if matrix.dtype == np.int64 and most**2 * matrix.shape[axis] < 1 << 63:
        found: list[int] = np.einsum("ij,ij->j" if axis == 0 else "ij,ij->i", matrix, matrix).tolist()
        return found
    if matrix.dtype != np.int64 or most >= _HALVES:
        wide = matrix.astype(object)
        return [int(s) for s in (wide * wide).sum(axis=axis)]
    square = (matrix * matrix).view(np.uint64)
    # each half of a square is below 2**32, so that 2**32 of them can be added
    high: NDArray[Any] = (square >> np.uint64(32)).sum(axis=axis, dtype=np.uint64)
    low: NDArray[Any] = (square & np.uint64(_HALVES * 2 - 1)).sum(axis=axis, dtype=np.uint64)
    return [(int(upper) << 32) + int(lower) for upper, lower in zip(high, low, strict=True)]


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
    norms = squares((product >> cut) + (cut > 0), 0)
    return max(0, _root_bits(norms) + size * (cut + dropped - scale))


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


def _root_bits(numbers: list[int]) -> int:
    """Bits b with sqrt(product of the numbers) < 2**b."""
    return (int(math.prod(map(gmpy2.mpz, numbers))).bit_length() + 1) // 2 + 1
