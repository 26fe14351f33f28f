"""Integers to residues and back: both ways are products with a table of constants.

A residue of limbs is sum_j limb[j] * (2**(24 j) mod m), reduced. Back, by the Chinese remainder theorem,
s = sum_p x_p * (M / m_p) - q M with x_p = (r_p * weight_p) mod m_p and q = round(sum_p x_p / m_p), which 46 bits
after the point decide since |s| <= M / 4.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.core.moduli import ResidueBase
from exactla_backends.numpy import limbs as mp
from exactla_backends.numpy import tables
from exactla_backends.numpy.encodings import Ints


def centre(values: Ints, moduli: Ints) -> Ints:
    """values mod m in [-m/2, m/2], in place."""
    quotient = values + (moduli >> 1)
    quotient //= moduli
    quotient *= moduli
    values -= quotient
    return values


def from_limbs(limbs: Ints, base: ResidueBase) -> Ints:
    """Centred residues [P, n] of signed digits [L, n]."""
    table = tables.powers(base, len(limbs))
    return centre(_exact_product(table, limbs), tables.moduli(base))


def to_limbs(residues: NDArray[Any], base: ResidueBase) -> Ints:
    """Two's complement limbs [L, n] of the integers |s| <= M / 4 with residues [P, n]."""
    table = tables.reconstruction(base)
    x = residues.astype(np.int64)
    x *= table.weights
    quotient = x // table.moduli
    quotient *= table.moduli
    x -= quotient
    sums = _exact_product(table.digits, x)
    half = 1 << (tables.FRACTION_BITS - 1)
    q = (sums[-1] + half) >> tables.FRACTION_BITS
    found = sums[:-1]
    found -= table.product * q
    return mp.carry(found)


def _exact_product(table: tables.Table, values: Ints) -> Ints:
    """table @ values for integers, in groups of terms whose sums float64 holds exactly."""
    total: Ints | None = None
    for start in range(0, len(values), tables.GROUP):
        group = slice(start, start + tables.GROUP)
        part = (table[:, group] @ values[group].astype(np.float64)).astype(np.int64)
        total = part if total is None else total + part
    return np.zeros((len(table), values.shape[1]), np.int64) if total is None else total
