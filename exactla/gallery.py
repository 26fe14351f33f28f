"""Test matrices in multiple precision, every entry rounded once: ill-conditioned classics, and random ones.

All are made from exact integers, so that an entry is a function of the arguments alone.
"""

import math
from collections.abc import Iterable
from itertools import accumulate, product, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.arguments import integer
from exactla.core import dyadics
from exactla.core.limbs import LIMB, Limbs, added, extended, negated, shifted_down, subtracted, to_limbs, trimmed
from exactla.multiprecision import arithmetic
from exactla.multiprecision.limits import check_room, checked_precision
from exactla.multiprecision.mparray import MPArray
from exactla.multiprecision.objects import as_objects, from_dyadics
from exactla.multiprecision.places import HOST, verbs_at

__all__ = ["hilbert", "lotkin", "pascal", "random", "vandermonde"]


def hilbert(n: int, precision: int) -> MPArray:
    """The Hilbert matrix, of entries 1 / (i + j + 1).

    Parameters
    ----------
    n : int
        Rows and columns.
    precision : int
        Significant bits to which every entry is rounded: to nearest, ties to even.

    Examples
    --------
    >>> import exactla as xl
    >>> xl.gallery.hilbert(2, precision=100)
    MPArray([[1, 0.5], [0.5, 0.33333333333333333]], 102 bits * 2**-101)
    """
    size = _size(n)
    return _reciprocals(size, precision)[_sums(size)]


def lotkin(n: int, precision: int) -> MPArray:
    """The Lotkin matrix: the Hilbert matrix with a first row of ones, of a condition about that of its square.

    Parameters
    ----------
    n, precision : int
        As in `hilbert`.
    """
    size = _size(n)
    reciprocals, places = _reciprocals(size, precision), _sums(size)
    places[:1] = 0
    return reciprocals[places]


def _reciprocals(n: int, precision: int) -> MPArray:
    """1 / 1, 1 / 2, ..., the entries of a Hankel matrix of n rows, where that has room."""
    import gmpy2

    check_room(n * n, checked_precision(precision) // LIMB + 1)
    return MPArray.from_fractions([gmpy2.mpq(1, k) for k in range(1, 2 * n)], precision)


def _sums(n: int) -> NDArray[np.intp]:
    return np.add.outer(np.arange(n), np.arange(n))


def pascal(n: int, precision: int | None = None) -> MPArray:
    """The symmetric Pascal matrix, of entries binomial(i + j, i) and determinant 1.

    Parameters
    ----------
    n : int
        Rows and columns.
    precision : int, optional
        Significant bits to which every entry is rounded; without it the entries are exact.

    Examples
    --------
    >>> import exactla as xl
    >>> print(xl.gallery.pascal(3))
    [[1, 1, 1], [1, 2, 3], [1, 3, 6]]
    """
    size = _size(n)
    bits = None if precision is None else checked_precision(precision)
    count = max(2 * size - 2, 0) // LIMB + 1  # entries are at most 4**(n - 1)
    check_room(size * size, count)
    found = np.zeros((size, size, count), np.uint64)
    row: Iterable[int] = repeat(1, size)
    for i in range(size):
        values = list(accumulate(row)) if i else [1] * size
        found[i] = to_limbs(values, count)
        row = values
    whole = MPArray._of(trimmed(found), 0)
    return whole if bits is None else whole.rounded(bits)


def vandermonde(nodes: Any, precision: int) -> MPArray:
    """The square Vandermonde matrix of some nodes x: entries x[i]**j.

    Parameters
    ----------
    nodes : MPArray, nested list or array, shape (n,)
        Exact numbers: integers, Fractions, floats, ...
    precision : int
        Significant bits to which every entry is rounded: to nearest, ties to even.

    Examples
    --------
    >>> import exactla as xl
    >>> print(xl.gallery.vandermonde([1, 2, 3], precision=64))
    [[1, 1, 1], [1, 2, 4], [1, 3, 9]]
    """
    import gmpy2

    values = nodes.to_fractions() if isinstance(nodes, MPArray) else as_objects(nodes, "nodes")
    if values.ndim != 1:
        raise ValueError(f"nodes has shape {values.shape}; it must have 1 axis")
    bits = checked_precision(precision)
    check_room(len(values) ** 2, bits // LIMB + 1)
    rounder = dyadics.Rounder(bits)
    MPArray._of_objects(values, dyadics.Rounder(2), "numbers are exact", "nodes")  # raises where a node is no number
    entries = np.empty((len(values), len(values)), object)
    for i, (row, value) in enumerate(zip(entries, values, strict=True)):
        try:
            numerator, denominator = map(gmpy2.mpz, dyadics.ratio(value))
        except OverflowError as error:
            raise OverflowError(f"nodes[{i}]: {error}") from None
        above = below = gmpy2.mpz(1)
        for j in range(len(values)):
            row[j] = rounder.of_ratio(above, below)
            above *= numerator
            below *= denominator
    return MPArray._of(*from_dyadics(entries))


def random(n: int, precision: int, *, condition: int | None = None, seed: int = 0) -> MPArray:
    """A random matrix, the same for the same arguments.

    Parameters
    ----------
    n : int
        Rows and columns.
    precision : int
        Without a condition, entries are multiples of 2**-precision, uniform in [-1, 1); with one, they are rounded to
        so many significant bits.
    condition : int, optional
        A power of two: the 2-norm condition number before rounding. A diagonal of powers of two from 1 down to
        1 / condition is reflected twice on either side in random vectors of integers; up to n = 3 those are along an
        axis, and the matrix is diagonal.
    seed : int
        Not negative.

    Examples
    --------
    >>> import exactla as xl
    >>> xl.gallery.random(3, precision=500).shape
    (3, 3)
    """
    size, bits = _size(n), checked_precision(precision)
    start = integer(seed, "a seed")
    if start < 0:
        raise ValueError(f"a seed is not negative, got {start}")
    source = np.random.PCG64(start)
    if condition is None:
        return _uniform(size, bits, source)
    power = integer(condition, "a condition").bit_length() - 1
    if power < 0 or condition != 1 << power:
        raise ValueError(f"a condition is a power of two, got {condition}")
    return _conditioned(size, power, source).rounded(bits)


def _uniform(n: int, bits: int, source: np.random.PCG64) -> MPArray:
    count = bits // LIMB + 1
    check_room(n * n, count)
    limbs = np.asarray(source.random_raw(n * n * count), np.uint64).reshape(n, n, count)
    # the top limb's own bits, with the sign over all of it
    spare = LIMB * count - bits - 1
    limbs[..., -1] = (limbs[..., -1].view(np.int64) >> spare).view(np.uint64)
    return MPArray._of(limbs, -bits)


REFLECTIONS = 2
"""Reflections on either side."""


def _conditioned(n: int, power: int, source: np.random.PCG64) -> MPArray:
    """Reflections of a diagonal of powers of two, exactly."""
    if not n:
        return MPArray._of(np.zeros((0, 0, 1), np.uint64), 0)
    places = [power * i // max(n - 1, 1) for i in range(n)]
    norm = max((n + 3).bit_length(), 4)
    norm += norm % 2
    # every reflection adds norm - 1 bits below, and the sums on its way 2 * norm above
    below = power + 2 * REFLECTIONS * (norm - 1)
    count = (below + 3 * norm) // LIMB + 1
    check_room(2 * n * n, count)
    limbs = np.zeros((n, n, count), np.uint64)
    limbs[np.arange(n), np.arange(n)] = to_limbs([1 << (below - p) for p in places], count)
    for _ in range(2):
        for _ in range(REFLECTIONS):
            _reflect(limbs, _vector(n, norm, source), norm)
        limbs = np.ascontiguousarray(limbs.transpose(1, 0, 2))
    return MPArray._of(trimmed(limbs), -below)


def _vector(n: int, norm: int, source: np.random.PCG64) -> list[int]:
    """Integers, most of them 1 or -1, whose squares sum to 2**norm."""
    signs = [1 - 2 * (int(word) >> (LIMB - 1)) for word in source.random_raw(n)]
    if n < 4:
        return [1 << norm // 2] + [0] * (n - 1)
    values = [1] * (n - 4) + list(_four_squares((1 << norm) - (n - 4)))
    order = np.argsort(source.random_raw(n), kind="stable")
    return [signs[i] * values[order[i]] for i in range(n)]


def _four_squares(value: int) -> tuple[int, int, int, int]:
    """Four integers whose squares sum to a value, the first two of them about equal to the others where that goes."""
    roots = range(math.isqrt(value) + 1)
    near = sorted(roots, key=lambda k: (abs(4 * k * k - value), k))
    for a, b in product(near, near):
        left = value - a * a - b * b
        for c in range(math.isqrt(max(left, 0) // 2), -1, -1):
            d = math.isqrt(max(left - c * c, 0))
            if c * c + d * d == left:
                return a, b, c, d
    raise ArithmeticError(f"{value} is no sum of four squares")  # there is none, by Lagrange


def _reflect(limbs: Limbs, v: list[int], norm: int) -> None:
    """(I - 2 v v^T / 2**norm) A in place; the integers are multiples of 2**(norm - 1)."""
    total = np.zeros(limbs.shape[1:], np.uint64)
    for row, factor in zip(limbs, v, strict=True):
        total = added(total, _times(row, factor))
    total = extended(shifted_down(total, norm - 1), limbs.shape[-1])
    for row, factor in zip(limbs, v, strict=True):
        row[:] = subtracted(row, _times(total, factor))


def _times(limbs: Limbs, factor: int) -> Limbs:
    """The product in as many limbs, which hold it."""
    if abs(factor) == 1:
        return limbs if factor == 1 else negated(limbs)
    return extended(arithmetic.multiplied(verbs_at(HOST), limbs, factor), limbs.shape[-1])


def _size(n: int) -> int:
    size = integer(n, "the size of a matrix")
    if size < 0:
        raise ValueError(f"a matrix has 0 rows or more, got n={size}")
    return size
