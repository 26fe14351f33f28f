"""Small integer systems by Cramer's rule modulo primes: as many primes as Hadamard's bounds ask for.

det A and the numerators det A * A**-1 b are integers whose sizes are known beforehand, so that their residues modulo
enough primes are they themselves, and a determinant of 0 is proven. Short solutions are seen modulo one prime already,
and are checked in the system itself.
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
from exactla.core.reconstruction import small_denominator
from exactla.core.scaling import Integers, largest

LIMIT, PRIME_BITS = 1 << 28, 27
"""Primes are below the limit, and more than this many bits of each count."""

NUMERATORS = 1 << 22
"""Residues of numerators at a time."""

SHORT_BITS, DENOMINATOR_BITS = 14, 10
"""Bits of the numerators and the denominator of a short solution, together some fewer than those of a prime."""

EXACT_BITS = 62
"""Bits of sums of products that are made in int64."""


def short_solution(backend: Backend, matrix: Integers, right_side: Integers) -> tuple[list[int], int] | None:
    """Numerators column by column and a denominator of a system that has a short solution; None where none is seen.

    Both are int64 matrices, the first of them square. A determinant that is not 0 modulo a prime proves that there is
    one solution only, and A N = D b, in integers, that N / D is it.
    """
    bits = largest(matrix).bit_length() + len(matrix).bit_length() + SHORT_BITS
    if max(bits, largest(right_side).bit_length() + DENOMINATOR_BITS) > EXACT_BITS:
        return None
    (prime,) = primes_below(LIMIT, 1)
    determinants, residues = backend.cramer(matrix, right_side, [prime])
    if not determinants[0]:
        return None
    # multiples of the solution, whose residues a suitable factor makes short: below 2**28 * 2**28
    numerators = residues[0].astype(np.int64).ravel() * pow(int(determinants[0]), -1, prime) % prime
    denominator = 1
    while True:
        numerators = np.where(numerators > prime >> 1, numerators - prime, numerators)
        long = np.flatnonzero(np.abs(numerators) >> SHORT_BITS)
        if not len(long):
            break
        most = (1 << DENOMINATOR_BITS) // denominator
        factor = small_denominator(int(numerators[long[0]]), prime, most, SHORT_BITS)
        if factor is None or factor == 1:
            return None
        numerators = numerators * factor % prime
        denominator *= factor
    found = numerators.reshape(right_side.shape[::-1]).T
    return (numerators.tolist(), denominator) if (matrix @ found == denominator * right_side).all() else None


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
