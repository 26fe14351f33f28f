"""Conversions between long integers and hundreds of residues: products of 16-bit digits with tables, exact in float64.

Into residues: sum over j of digit j times 2**(16 j) mod m, reduced. Back, with x_p = (r_p weight_p) mod m_p, centred:
s = sum over p of x_p (M / m_p) - q M, where q is the integer nearest to sum over p of x_p / m_p; see the proofs.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.core.limbs import Limbs
from exactla.core.moduli import ResidueBase
from exactla_backends.numpy import tables
from exactla_backends.numpy.encodings import Ints
from exactla_backends.numpy.residues import centre

DIGIT = 16
DIGITS = 4
"""Digits of a limb."""

FRACTION_BITS = 40
CHUNK = 1 << 22
"""Numbers of a table product that are made at a time."""

LEAST = 512
"""Numbers in place of what the smallest arrays take beside their entries."""


def work_bytes(entries: int, base: ResidueBase) -> int:
    """Bytes that conversions of so many integers take beside their results, a chunk at a time, with their tables."""
    moduli, digits = len(base.moduli), base.product.bit_length() // DIGIT + 1
    return 32 * (min(CHUNK, entries * (moduli + digits)) + moduli * digits + LEAST)


def to_residues(limbs: Limbs, base: ResidueBase) -> NDArray[np.float64]:
    """Centred residues [P, n] of integers [n, l]."""
    table, moduli = _powers(base, limbs.shape[1] * DIGITS), tables.moduli(base)
    found = np.empty((len(moduli), len(limbs)))
    for some in _chunks(len(limbs), len(moduli)):
        sums = (table @ digits_of(limbs[some]).T).astype(np.int64)
        found[:, some] = centre(sums, moduli)
    return found


def to_limbs(residues: NDArray[Any], base: ResidueBase, count: int, minuend: Limbs | None = None) -> Limbs:
    """Integers [n, count] of magnitude up to M / 4 with residues [P, n], or `minuend`, of as many limbs, minus them."""
    table = _reconstruction(base, count * DIGITS)
    entries = residues.shape[1]
    found = np.empty((entries, count), np.uint64)
    for some in _chunks(entries, len(table.digits)):
        x = centre(residues[:, some].astype(np.int64) * table.weights, tables.moduli(base))
        quotient = (table.fractions @ x + (1 << FRACTION_BITS - 1)) >> FRACTION_BITS
        sums = (table.digits @ x.astype(np.float64)).astype(np.int64)
        sums -= table.product * quotient
        if minuend is not None:
            sums = digits_of(minuend[some]).T.astype(np.int64) - sums
        found[some] = carried(sums)
    return found


def digits_of(limbs: Limbs) -> NDArray[np.float64]:
    """Digits [n, 4 l] of integers [n, l]: all but the top one are not negative."""
    digits = np.ascontiguousarray(limbs).astype("<u8", copy=False).view("<u2")
    found = digits.astype(np.float64)
    found[:, -1] = digits[:, -1].view("<i2")
    return found


def carried(sums: Ints) -> Limbs:
    """Limbs [n, l] of the integers sum over d of sums[d] * 2**(16 d), modulo 2**(64 l), for sums [4 l, n]."""
    digits = np.empty(sums.shape, "<u2")
    carry = np.zeros(sums.shape[1], np.int64)
    for place, values in enumerate(sums):
        carry += values
        digits[place] = carry & 0xFFFF
        carry >>= DIGIT
    return np.ascontiguousarray(digits.T).view("<u8").astype(np.uint64, copy=False)


@dataclass(frozen=True)
class _Reconstruction:
    """Digits [d, P] of the M / m modulo 2**(16 d), floor(2**40 / m) [P], digits [d, 1] of M, weights [P, 1]."""

    digits: NDArray[np.float64]
    fractions: Ints
    product: Ints
    weights: Ints


@lru_cache(maxsize=32)
def _powers(base: ResidueBase, digits: int) -> NDArray[np.float64]:
    """[P, digits]: 2**(16 j) modulo each modulus, centred."""
    moduli = tables.moduli(base)
    found = np.ones((len(moduli), digits), np.int64)
    for place in range(1, digits):
        found[:, place] = (found[:, place - 1] << DIGIT) % moduli[:, 0]
    return centre(found, moduli).astype(np.float64)


@lru_cache(maxsize=32)
def _reconstruction(base: ResidueBase, digits: int) -> _Reconstruction:
    cut = np.stack([_digits(c, digits) for c in base.cofactors], axis=1).astype(np.float64)
    fractions = np.array([(1 << FRACTION_BITS) // m for m in base.moduli], np.int64)
    product = _digits(base.product, digits).astype(np.int64)[:, None]
    return _Reconstruction(cut, fractions, product, tables.column(base.weights))


def _digits(value: int, count: int) -> NDArray[np.uint16]:
    """The lowest digits of a number that is not negative."""
    octets = (value & ((1 << count * DIGIT) - 1)).to_bytes(2 * count, "little")
    return np.frombuffer(octets, "<u2")


def _chunks(entries: int, width: int) -> list[slice]:
    step = max(1, CHUNK // max(width, 1))
    return [slice(start, min(start + step, entries)) for start in range(0, entries, step)]
