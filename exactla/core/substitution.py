"""Triangular systems in integers: every component of a solution an exact sum, rounded once.

In units of 2**-F, with RN to nearest, ties to even:

    y_i = RN((2**F b_i - sum over k < i of L_ik y_k) / 2**F),
    x_i = RN((2**F y_i - sum over k > i of U_ik x_k) / U_ii).

Half of the unknowns are found first; what they contribute to the other half is one product.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from exactla.backend import Multiprecision
from exactla.core.limb_entries import bit_lengths, magnitudes
from exactla.core.limbs import LIMB, Limbs, extended, from_limbs, limbs_needed, shifted_up, subtracted, to_limbs
from exactla.core.nearest import nearest_quotient, nearest_scaled
from exactla.core.planning import arithmetic, sum_bits

LEAF_WORK = 64
"""Unknowns times right-hand sides that are found entry by entry."""


@dataclass(frozen=True)
class Substitution:
    """A triangular matrix of limbs [n, n, l], of which entries left of the diagonal are read, and its divisors.

    Divisors are None for a unit diagonal, 2**F in units of 2**-F.
    """

    verbs: Multiprecision
    lower: Limbs
    divisors: Sequence[int] | None
    precision: int
    engine: str | None = None

    def solve(self, right: Limbs) -> Limbs:
        """The solution, limbs [n, c, l], for right-hand sides [n, c, m]."""
        size, columns, _ = right.shape
        if 0 in (size, columns):
            return np.zeros((size, columns, 1), np.uint64)
        found: list[list[int]] = []
        step = max(1, LEAF_WORK // columns)
        self._solve(_Sums(right, self.precision), slice(0, size), step, found)
        integers = np.array(found, object).reshape(size, columns)
        return to_limbs(integers, limbs_needed(integers.flat))

    def _solve(self, sums: "_Sums", rows: slice, step: int, found: list[list[int]]) -> None:
        """Appends the components of these rows; `sums` holds 2**F b minus what those before them contribute."""
        size = rows.stop - rows.start
        if size <= step:
            self._solve_directly(sums, rows, found)
            return
        middle = rows.start + size // 2
        self._solve(sums, slice(rows.start, middle), step, found)
        known = np.array(found[rows.start : middle], object)
        below = slice(middle, rows.stop)
        sums.subtract(below, self._product(self.lower[below, rows.start : middle], known))
        self._solve(sums, below, step, found)

    def _product(self, lower: Limbs, known: "np.ndarray[tuple[int, ...], np.dtype[np.object_]]") -> Limbs:
        right = to_limbs(np.ascontiguousarray(known.T), limbs_needed(known.ravel().tolist()))
        bits = sum_bits(most_bits(lower), most_bits(right), lower.shape[1])
        plan = arithmetic(self.verbs, bits, self.engine)
        left = self.verbs.upload(np.ascontiguousarray(lower))
        count = (bits + 1) // LIMB + 1
        product = self.verbs.product(left, self.verbs.upload(right), count, plan.base, plan.engine)
        return self.verbs.download(product)

    def _solve_directly(self, sums: "_Sums", rows: slice, found: list[list[int]]) -> None:
        lower = from_limbs(self.lower[rows, rows])
        for i, totals in enumerate(sums.integers(rows)):
            for k in range(i):
                factor = lower[i, k]
                totals[:] = [s - factor * x for s, x in zip(totals, found[rows.start + k], strict=True)]
            found.append([self._rounded(s, rows.start + i) for s in totals])

    def _rounded(self, total: int, row: int) -> int:
        if self.divisors is None:
            return nearest_scaled(total, -self.precision)
        return nearest_quotient(total, self.divisors[row])


class _Sums:
    """Running sums of limbs, which grow as what is subtracted from them does."""

    def __init__(self, right: Limbs, precision: int) -> None:
        self.limbs = shifted_up(right, precision, right.shape[-1] + precision // LIMB + 2)

    def subtract(self, rows: slice, product: Limbs) -> None:
        bits = max(most_bits(self.limbs[rows]), most_bits(product)) + 2
        count = max(self.limbs.shape[-1], product.shape[-1], bits // LIMB + 1)
        self.limbs = extended(self.limbs, count)
        self.limbs[rows] = subtracted(self.limbs[rows], extended(product, count))

    def integers(self, rows: slice) -> list[list[int]]:
        found: list[list[int]] = from_limbs(self.limbs[rows]).tolist()
        return found


def most_bits(limbs: Limbs) -> int:
    """Bits of the longest magnitude."""
    lengths = bit_lengths(magnitudes(limbs.reshape(-1, limbs.shape[-1]))[0])
    return int(lengths.max(initial=0))


def solve(
    verbs: Multiprecision,
    lower: Limbs,
    upper: Limbs,
    precision: int,
    engine: str | None,
    right: Limbs,
    progress: Callable[[int, int], object] | None = None,
) -> Limbs:
    """x with U x = y and L y = right, both rounded as above."""
    y = Substitution(verbs, lower, None, precision, engine).solve(right)
    if progress is not None:
        progress(1, 2)
    divisors = [int(u) for u in from_limbs(upper[np.arange(len(upper)), np.arange(len(upper))])]
    reverse = np.ascontiguousarray(upper[::-1, : len(upper)][:, ::-1])
    x = Substitution(verbs, reverse, divisors[::-1], precision, engine).solve(y[::-1])
    if progress is not None:
        progress(2, 2)
    return np.ascontiguousarray(x[::-1])
