"""Triangular systems of few unknowns in Python integers: the reference of `Multiprecision.substitute`."""

from collections.abc import Sequence

import gmpy2
import numpy as np

from exactla.core.limbs import Limbs, from_limbs, limbs_needed, to_limbs
from exactla.core.nearest import nearest_quotient, nearest_scaled


def unknowns(lower: Limbs, divisors: Sequence[int] | None, precision: int, sums: Limbs) -> Limbs:
    """Limbs [n, c, m]: see `exactla.backend.Multiprecision.substitute`."""
    # row after row
    factors = iter(from_limbs(lower[np.tril_indices(len(lower), -1)]))
    # of gmpy2, which multiplies long integers faster; factors, which are used for few columns, become so when they are
    totals = [[gmpy2.mpz(s) for s in row] for row in from_limbs(sums)]
    found: list[list[int]] = []
    for i, row in enumerate(totals):
        for values, factor in zip(found, factors, strict=False):
            row[:] = [s - factor * x for s, x in zip(row, values, strict=True)]
        if divisors is None:
            found.append([nearest_scaled(s, -precision) for s in row])
        else:
            divisor = gmpy2.mpz(divisors[i])
            found.append([nearest_quotient(s, divisor) for s in row])
    integers = np.array([[int(x) for x in row] for row in found], object).reshape(sums.shape[:2])
    return to_limbs(integers, limbs_needed(integers.flat))
