"""Minors and small systems modulo primes of one word, by the native library."""

import ctypes
from collections.abc import Sequence

import numpy as np

from exactla.backend import Minor
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import Array, Instructions, optional_pointer, pointer
from exactla_backends.numpy.threads import threads

INTERRUPTIBLE = 1 << 28
"""Multiplications of eliminations in one call, which cannot be interrupted."""


def minors(native: Instructions, matrix: Array, primes: Sequence[int]) -> list[Minor]:
    """See `exactla.backend.Backend.minors`; entries are int64."""
    none = np.empty((len(matrix), 0), np.int64)
    found = []
    step = _primes_of_a_call(*matrix.shape)
    for start in range(0, len(primes), step):
        values, ranks, orders, pivots = _eliminate(native, matrix, none, primes[start : start + step])
        for value, rank, order, columns in zip(values, ranks, orders, pivots, strict=True):
            found.append(Minor(tuple(order[:rank].tolist()), tuple(columns[:rank].tolist()), int(value)))
    return found


def cramer(native: Instructions, matrix: Array, right_side: Array, primes: Sequence[int]) -> tuple[Array, Array]:
    """See `exactla.backend.Backend.cramer`."""
    size, columns = right_side.shape
    determinants = np.empty(len(primes), np.int64)
    numerators = np.empty((len(primes), columns, size), np.uint32)
    step = _primes_of_a_call(size, size + columns)
    for start in range(0, len(primes), step):
        part = slice(start, start + step)
        _eliminate(native, matrix, right_side, primes[part], determinants[part], numerators[part])
    return determinants, numerators


def _primes_of_a_call(rows: int, width: int) -> int:
    return max(threads(), INTERRUPTIBLE // max(rows * rows * width // 2, 1))


def _eliminate(
    native: Instructions,
    matrix: Array,
    right_side: Array,
    primes: Sequence[int],
    determinants: Array | None = None,
    numerators: Array | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Minors, ranks, orders of rows and columns of pivots, by primes; determinants and numerators in place."""
    rows, columns = matrix.shape
    count = len(primes)
    values, ranks = np.empty(count, np.int64), np.empty(count, np.int64)
    orders, pivots = np.empty((count, rows), np.int64), np.empty((count, columns), np.int64)
    matrix, right_side, moduli = (np.ascontiguousarray(x, np.int64) for x in (matrix, right_side, primes))
    job = library.ModularSystems(
        pointer(matrix),
        pointer(right_side),
        rows,
        columns,
        right_side.shape[1],
        pointer(moduli),
        count,
        *map(pointer, (values, ranks, orders, pivots)),
        optional_pointer(determinants),
        optional_pointer(numerators),
    )
    native.run("eliminate", ctypes.byref(job))
    return values, ranks, orders, pivots
