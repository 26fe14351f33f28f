"""Buffers of long integers, moved about in the verbs of `exactla.backend.Multiprecision`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Buffer, Multiprecision


def rows_of(verbs: Multiprecision, limbs: Buffer, rows: "Sequence[int] | NDArray[np.int64]") -> Buffer:
    """The rows of a contiguous matrix in that order, copied."""
    length, columns, count = limbs.shape
    # a row is moved as one entry
    found = verbs.gather(limbs.reshape(length, columns * count), np.asarray(rows, np.int64))
    return found.reshape(len(rows), columns, count)


def transposed(verbs: Multiprecision, limbs: Buffer) -> Buffer:
    """The transpose of a contiguous matrix; the same memory where that is a row or a column."""
    rows, columns, count = limbs.shape
    if 1 in (rows, columns):
        return limbs.reshape(columns, rows, count)
    return verbs.gather(limbs, np.arange(rows * columns).reshape(rows, columns).T)


def diagonal(limbs: Buffer) -> Buffer:
    """A view of the diagonal of a contiguous matrix that has no fewer columns than rows."""
    rows, columns, count = limbs.shape
    return limbs.reshape(rows * columns, count)[:: columns + 1]


def with_limbs(verbs: Multiprecision, limbs: Buffer, count: int) -> Buffer:
    """The same integers in `count` limbs, no fewer than before; not copied where it is as many."""
    if limbs.shape[-1] == count:
        return limbs
    found = verbs.zeros((*limbs.shape[:-1], count))
    verbs.store(found, limbs)
    return found
