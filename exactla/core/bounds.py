"""Hadamard's bounds on determinants and on the numerators of Cramer's rule, as numbers of bits."""

import math
from dataclasses import dataclass
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla.core.scaling import Integers, largest

_HALVES = 1 << 31


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


def _root_bits(numbers: list[int]) -> int:
    """Bits b with sqrt(product of the numbers) < 2**b."""
    return (int(math.prod(map(gmpy2.mpz, numbers))).bit_length() + 1) // 2 + 1
