"""Determinants of nonsingular integer matrices: a denominator times a cofactor.

The denominator of a random system divides the determinant, and mostly is nearly all of it. The cofactor is an integer
whose size is bounded, so that its residues modulo enough primes are it.
"""

from dataclasses import dataclass

import numpy as np

from exactla.backend import Backend
from exactla.core.bounds import reduced_determinant_bits
from exactla.core.divisors import centred
from exactla.core.dixon import InverseMatrix
from exactla.core.elimination import parity
from exactla.core.primes import primes_below

PRIME_LIMIT, PRIME_BITS, AT_A_TIME = 1 << 22, 21, 16
"""Primes of minors: their limit, the bits that each counts more than, and how many are taken at a time."""

WORTH_A_BOUND = 8
"""Primes that a better bound has to save, since it takes as long as some minors."""


@dataclass
class _Residue:
    """An integer modulo a product of primes."""

    value: int = 0
    modulus: int = 1

    def add(self, value: int, prime: int) -> None:
        """Take in its residue modulo a further prime."""
        digit = (value - self.value) * pow(self.modulus, -1, prime) % prime
        self.value += self.modulus * digit
        self.modulus *= prime

    def missing_primes(self, bits: int) -> int:
        """Further primes after which an integer below 2**bits in magnitude is known."""
        return max(0, -(-(bits + 2 - self.modulus.bit_length()) // PRIME_BITS))


def determinant_of(backend: Backend, inverse: InverseMatrix) -> int:
    """The determinant of a matrix that is ready for systems."""
    size = inverse.size
    inverse.solution(np.random.default_rng(0).integers(-1 << 15, 1 << 15, (size, 1)))
    divisor = inverse.denominator
    bits = inverse.matrix.bounds.determinant - divisor.bit_length() + 1
    cofactor = _known(inverse, divisor)
    if cofactor.missing_primes(bits) > WORTH_A_BOUND:
        bits = min(bits, reduced_determinant_bits(inverse.matrix.entries) - divisor.bit_length() + 1)
    limit = PRIME_LIMIT
    while count := cofactor.missing_primes(bits):
        primes = primes_below(limit, min(count, AT_A_TIME))
        limit = primes[-1]
        for prime, minor in zip(primes, backend.minors(inverse.matrix.entries, primes), strict=True):
            if divisor % prime and cofactor.modulus % prime:
                value = minor.value * parity(minor.rows) if len(minor.rows) == size else 0
                cofactor.add(value * pow(divisor, -1, prime), prime)
    return divisor * int(centred(cofactor.value, cofactor.modulus))


def _known(inverse: InverseMatrix, divisor: int) -> _Residue:
    """The cofactor modulo the primes of the lifting, none of which divides the determinant."""
    found = _Residue()
    primes = inverse.lifting.base.moduli
    values = [d for d in inverse.lifting.determinants if d]
    if len(values) == len(primes):  # else some primes were left out for other reasons
        for prime, value in zip(primes, values, strict=True):
            found.add(value * pow(divisor, -1, prime), prime)
    return found
