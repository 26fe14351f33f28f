"""Pairwise coprime moduli, and the constants of a residue base that both conversions use.

Everything is computed once with Python integers; backends turn the constants into tables of their own.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd, prod


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
        return tuple(pow(c, -1, m) if m > 1 else 0 for c, m in zip(self.cofactors, self.moduli, strict=True))

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
    chosen: list[int] = []
    product = 1
    for candidate in range(limit, 1, -1):
        if product.bit_length() > bits:
            return ResidueBase(tuple(chosen))
        if gcd(candidate, product) == 1:
            chosen.append(candidate)
            product *= candidate
    return ResidueBase(tuple(chosen)) if product.bit_length() > bits else None


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
