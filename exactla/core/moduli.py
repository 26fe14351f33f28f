"""Pairwise coprime moduli, and the constants of a residue base that both conversions use.

Everything is computed once with Python integers; backends turn the constants into tables of their own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log2, prod

OCTET_LIMIT = 256
"""The largest modulus whose centred residues take one signed octet."""


@dataclass(frozen=True)
class ResidueBase:
    """Pairwise coprime moduli; an integer s with |s| <= product / 4 is known by its residues."""

    moduli: tuple[int, ...]

    @cached_property
    def product(self) -> int:
        """M, the product of the moduli."""
        return prod(self.moduli)

    @cached_property
    def cofactors(self) -> tuple[int, ...]:
        """M / m for each modulus m."""
        return tuple(self.product // m for m in self.moduli)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """(M / m)**-1 mod m for each modulus m: s = sum over m of (s * weight mod m) * cofactor, modulo M."""
        import gmpy2  # loaded where there are sums to be made

        product = gmpy2.mpz(self.product)
        return tuple(pow(int(product % (m * m)) // m, -1, m) if m > 1 else 0 for m in self.moduli)

    @property
    def capacity(self) -> int:
        """Bits b such that every integer below 2**b in magnitude is determined."""
        return self.product.bit_length() - 3

    @cached_property
    def _hash(self) -> int:
        return hash(self.moduli)

    def __hash__(self) -> int:
        return self._hash


def residue_base(limit: int, bits: int) -> ResidueBase | None:
    """A short base of moduli up to `limit` that determines integers below 2**bits; None where none is enough.

    Moduli are taken greedily from the top, which packs most bits into few of them. Where that runs dry, the largest
    prime powers up to `limit` go furthest: their product, the least common multiple of 1..limit, is divisible by any
    product of pairwise coprime numbers up to `limit`.
    """
    return _greedy(limit, bits + 2) or _prime_powers(limit, bits + 2)


@lru_cache(maxsize=1024)
def _greedy(limit: int, bits: int) -> ResidueBase | None:
    product = 1
    # longer bases begin with shorter ones
    for count, modulus in enumerate(moduli := _coprime(limit, 1 << bits.bit_length()), 1):
        product *= modulus
        if product.bit_length() > bits:
            return ResidueBase(moduli[:count])
    return None


@lru_cache(maxsize=64)
def _coprime(limit: int, bits: int) -> tuple[int, ...]:
    """The largest number up to `limit`, the next one coprime to it, and so on, to more than `bits` bits or the end."""
    chosen: list[int] = []
    is_free = bytearray(b"\1" * (limit + 1))
    candidate, found_bits = limit, 0.0
    while candidate > 1 and found_bits <= bits + 1:
        chosen.append(candidate)
        found_bits += log2(candidate)
        for p in _primes_of(candidate):
            is_free[::p] = bytes(limit // p + 1)
        candidate = is_free.rfind(1, 2, candidate)
    return tuple(chosen)


def _primes_of(number: int) -> Iterator[int]:
    """The primes that divide a number."""
    p = 2
    while p * p <= number:
        if number % p == 0:
            yield p
            while number % p == 0:
                number //= p
        p += 1 if p == 2 else 2
    if number > 1:
        yield number


@lru_cache(maxsize=64)
def _prime_powers(limit: int, bits: int) -> ResidueBase | None:
    composite = bytearray(limit + 1)
    powers = []
    for p in range(2, limit + 1):
        if composite[p]:
            continue
        composite[p * p :: p] = b"\1" * len(range(p * p, limit + 1, p))
        power = p
        while power * p <= limit:
            power *= p
        powers.append(power)
    chosen: list[int] = []
    product = 1
    for power in sorted(powers, reverse=True):
        if product.bit_length() > bits:
            break
        chosen.append(power)
        product *= power
    return ResidueBase(tuple(chosen)) if product.bit_length() > bits else None
