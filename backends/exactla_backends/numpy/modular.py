"""Inverses and largest minors modulo a prime, in float64 whose sums stay exact: blocked, so that BLAS does the work.

Residues are centred, so an inner product of n of them is at most n (p/2)**2, which has to stay below 2**53.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Minor
from exactla_backends.numpy.encodings import Ints

Residues = NDArray[np.float64]

BLOCK, NARROW = 32, 16
"""Pivots of a block of an inverse, and columns that are eliminated one by one."""

_EXACT = 1 << 53


def residues(integers: NDArray[Any], prime: int) -> Residues:
    """Centred residues of int64 or Python integers."""
    found = np.asarray(integers % prime, np.int64)
    found[found > prime >> 1] -= prime
    return found.astype(np.float64)


def centred(values: Residues, prime: int) -> Residues:
    """values mod p, centred, in place; |values| < 2**53."""
    # the rounded quotient is off by one at most, which leaves a residue within p of 0 and one more step
    quotient = np.rint(values * (1.0 / prime))
    quotient *= prime
    values -= quotient
    half = prime // 2
    values[values > half] -= prime
    values[values < -half] += prime
    return values


def product(a: Residues, b: Residues, prime: int) -> Residues:
    """a @ b mod p, centred."""
    depth = _EXACT // (prime // 2 + 1) ** 2
    total = centred(a[:, :depth] @ b[:depth], prime)
    for k in range(depth, a.shape[1], depth):
        total = centred(total + centred(a[:, k : k + depth] @ b[k : k + depth], prime), prime)
    return total


def inverse(matrix: Residues, prime: int) -> tuple[Residues, int]:
    """The inverse modulo a prime and the determinant, which is 0 where there is none; the matrix is overwritten.

    In place by principal pivot transforms: a block of pivots K turns [[A_KK, A_KJ], [A_IK, A_IJ]] into
    [[T, T A_KJ], [-A_IK T, A_IJ - A_IK T A_KJ]] with T = A_KK**-1.
    """
    n = len(matrix)
    order = np.arange(n)
    determinant = 1
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        panel = matrix[:, start:stop].T.astype(np.int64)
        factor = _pivot_panel(panel, start, order, matrix, prime)
        if factor == 0:
            return matrix, 0
        determinant = determinant * factor % prime
        transform = np.ascontiguousarray(panel.T.astype(np.float64))
        for side in (slice(0, start), slice(stop, n)):
            rows = matrix[start:stop, side].copy()
            matrix[start:stop, side] = 0
            matrix[:, side] = centred(matrix[:, side] + product(transform, rows, prime), prime)
        matrix[:, start:stop] = transform
    found = np.empty_like(matrix)
    found[:, order] = matrix
    return found, determinant


def _pivot_panel(panel: Ints, start: int, order: Ints, matrix: Residues, prime: int) -> int:
    """Pivot transforms of the columns of a panel, held transposed; rows are exchanged everywhere.

    Returns the determinant of the pivot block, with the sign of the exchanges; 0 where a column has no pivot.
    """
    factor = 1
    for k in range(len(panel)):
        row = start + k
        candidates = np.flatnonzero(panel[k, row:])
        if not len(candidates):
            return 0
        other = row + int(candidates[0])
        if other != row:
            factor = -factor
            for x in (matrix, order):
                x[[row, other]] = x[[other, row]]
            panel[:, [row, other]] = panel[:, [other, row]]
        pivot = int(panel[k, row])
        factor = factor * pivot % prime
        reciprocal = pow(pivot, -1, prime)
        column = -panel[k] * reciprocal % prime
        column[row] = reciprocal
        multipliers = panel[:, row].copy()
        multipliers[k] = 0
        panel[:, row] = 0
        panel += multipliers[:, None] * column
        panel[k] = column
        panel %= prime
        panel[panel > prime >> 1] -= prime
    return factor


def largest_minor(matrix: Residues, prime: int) -> Minor:
    """A largest minor that is not 0 modulo a prime, with the first columns that have one; the matrix is overwritten."""
    order = np.arange(len(matrix))
    _, columns, value = _eliminate(matrix, [order], prime)
    return Minor(tuple(int(i) for i in order[: len(columns)]), tuple(columns), value)


def _eliminate(matrix: Residues, others: list[NDArray[Any]], prime: int) -> tuple[Residues, list[int], int]:
    """Multipliers [rows, rank] with unit lower triangle, which columns have a pivot, and the product of the pivots.

    Rows are exchanged in the other arrays too. The left half of the columns first, then what it leaves of the right.
    """
    rows, width = matrix.shape
    if width <= NARROW:
        return _eliminate_narrow(matrix, others, prime)
    half = width // 2
    right = matrix[:, half:]
    lower, found, factor = _eliminate(matrix[:, :half], [right, *others], prime)
    rank = len(found)
    if rank == rows:
        return lower, found, factor
    upper = _substituted(lower[:rank], right[:rank], prime)
    rest = centred(right[rank:] - product(lower[rank:], upper, prime), prime)
    below, more, further = _eliminate(rest, [lower[rank:], *(x[rank:] for x in others)], prime)
    joined = np.zeros((rows, rank + len(more)))
    joined[:, :rank] = lower
    joined[rank:, rank:] = below
    return joined, found + [half + k for k in more], factor * further % prime


def _eliminate_narrow(matrix: Residues, others: list[NDArray[Any]], prime: int) -> tuple[Residues, list[int], int]:
    """The same, column by column."""
    panel = matrix.T.astype(np.int64)
    rows = len(matrix)
    lower = np.zeros((rows, min(matrix.shape)))
    found: list[int] = []
    factor = 1
    for k in range(len(panel)):
        row = len(found)
        candidates = np.flatnonzero(panel[k, row:])
        if not len(candidates):
            continue
        other = row + int(candidates[0])
        if other != row:
            for x in (lower, *others):
                x[[row, other]] = x[[other, row]]
            panel[:, [row, other]] = panel[:, [other, row]]
        pivot = int(panel[k, row])
        factor = factor * pivot % prime
        multipliers = panel[k] * pow(pivot, -1, prime) % prime
        multipliers[: row + 1] = 0
        panel[k:] -= panel[k:, row, None] * multipliers
        panel[k:] %= prime
        panel[k:][panel[k:] > prime >> 1] -= prime
        multipliers[multipliers > prime >> 1] -= prime
        multipliers[row] = 1
        lower[:, row] = multipliers
        found.append(k)
        if len(found) == rows:
            break
    return lower[:, : len(found)], found, factor


def _substituted(lower: Residues, rows: Residues, prime: int) -> Residues:
    """lower**-1 @ rows for a unit lower triangular matrix."""
    size = len(lower)
    if size < 2:
        return rows.copy()
    half = size // 2
    first = _substituted(lower[:half, :half], rows[:half], prime)
    rest = centred(rows[half:] - product(lower[half:, :half], first, prime), prime)
    return np.concatenate([first, _substituted(lower[half:, half:], rest, prime)])


def cramer(matrix: Ints, right_side: Ints, primes: Sequence[int]) -> tuple[Ints, NDArray[np.uint32]]:
    """See `exactla.backend.Backend.cramer`: elimination column by column, modulo all primes at once."""
    size = len(matrix)
    moduli = np.array(primes, np.int64)
    each = np.arange(len(moduli))
    by_entry = moduli[:, None, None]
    work = np.concatenate([matrix, right_side], axis=1)[None] % by_entry
    determinants = np.ones(len(moduli), np.int64)
    for k in range(size):
        pivots = k + np.argmax(work[:, k:, k] != 0, axis=1)
        top = work[each, pivots, k:]
        work[each, pivots, k:] = work[:, k, k:]
        determinants = determinants * np.where(pivots == k, top[:, 0], -top[:, 0]) % moduli
        # where there is no pivot, what follows is a multiple of 0
        reciprocals = np.array([pow(int(x), -1, p) if x else 0 for x, p in zip(top[:, 0], primes, strict=True)])
        top = top * reciprocals[:, None] % moduli[:, None]
        factors = work[:, :, k].copy()
        factors[:, k] = 0
        work[:, k, k:] = top
        work[:, :, k:] = (work[:, :, k:] - factors[:, :, None] * top[:, None]) % by_entry
    numerators = work[:, :, size:] * determinants[:, None, None] % by_entry
    return determinants, np.ascontiguousarray(numerators.swapaxes(1, 2).astype(np.uint32))
