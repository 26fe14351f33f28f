"""Triangular systems of few unknowns in Python integers: the reference of `Multiprecision.substitute`."""

from collections.abc import Sequence

import gmpy2
import numpy as np

from exactla.core.limbs import Limbs, from_limbs, limbs_needed, to_limbs
from exactla.core.nearest import nearest_quotient, nearest_scaled


def unknowns(lower: Limbs, divisors: Sequence[int] | None, precision: int, sums: Limbs) -> Limbs:
    """Limbs [n, c, m]: see `exactla.backend.Multiprecision.substitute`."""
    found: list[list[int]] = []
    for i, totals in enumerate(_integers(sums)):
        for factor, values in zip(_integers(lower[None, i, :i])[0], found, strict=True):
            totals[:] = [s - factor * x for s, x in zip(totals, values, strict=True)]
        if divisors is None:
            found.append([int(nearest_scaled(s, -precision)) for s in totals])
        else:
            found.append([int(nearest_quotient(s, divisors[i])) for s in totals])
    integers = np.array(found, object).reshape(sums.shape[:2])
    return to_limbs(integers, limbs_needed(integers.flat))


def _integers(limbs: Limbs) -> list[list[int]]:
    """Rows of integers of gmpy2, which multiplies long ones faster."""
    return [[gmpy2.mpz(x) for x in row] for row in from_limbs(limbs)]
