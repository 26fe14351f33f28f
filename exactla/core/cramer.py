"""Small integer systems by Cramer's rule modulo primes: as many primes as Hadamard's bounds ask for.

det A and the numerators det A * A**-1 b are integers whose sizes are known beforehand, so that their residues modulo
enough primes are they themselves, and a determinant of 0 is proven.
"""

from functools import lru_cache
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla.backend import Backend
from exactla.core.bounds import hadamard
from exactla.core.divisors import centred
from exactla.core.primes import primes_below
from exactla.core.radix import weighted_sums
from exactla.core.scaling import Integers, largest

LIMIT, PRIME_BITS = 1 << 28, 27
"""Primes are below the limit, and more than this many bits of each count."""

NUMERATORS = 1 << 22
"""Residues of numerators at a time."""


def cramer(backend: Backend, matrix: Integers, right_side: Integers) -> tuple[list[Any], int]:
    """Numerators column by column and the determinant; both are int64 matrices, the first of them square.

    Where the determinant is 0, the numerators are undefined.
    """
    bounds = hadamard(matrix, largest(matrix))
    bits = max(bounds.determinant, bounds.numerators(len(matrix) * largest(right_side) ** 2))
    primes = primes_below(LIMIT, (bits + 1) // PRIME_BITS + 1)
    taken = len(primes)
    group = max(1, NUMERATORS // (len(primes) * max(len(matrix), 1)))
    found: list[Any] = []
    determinant = 0
    for start in range(0, max(right_side.shape[1], 1), group):
        part = right_side[:, start : start + group]
        determinants, numerators = backend.cramer(matrix, part, primes)
        while determinants.any() and not determinants.all():
            # nothing is known of numerators modulo a prime that divides the determinant
            kept = [p for p, d in zip(primes, determinants, strict=True) if d]
            more = primes_below(LIMIT, len(primes) - len(kept), taken)
            taken += len(more)
            primes = (*kept, *more)
            determinants, numerators = backend.cramer(matrix, part, primes)
        modulus, weights = _chinese(primes)
        determinant = int(centred(sum(map(gmpy2.mul, weights, determinants.tolist())), modulus))
        if not determinant or not numerators.size:
            break
        digits: NDArray[np.uint16] = numerators[..., None].view(np.uint16)
        found += [centred(s, modulus) for s in weighted_sums([digits], weights)]
    return found, determinant


@lru_cache(64)
def _chinese(primes: tuple[int, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The product of the primes, and for each the integer that is 1 modulo this one and 0 modulo the others."""
    product = gmpy2.mpz(1)
    for prime in primes:
        product *= prime
    return product, tuple(product // p * gmpy2.invert(product // p, p) for p in primes)
