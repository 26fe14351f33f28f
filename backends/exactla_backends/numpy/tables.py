"""Constants of a residue base as arrays: what both conversions multiply by.

Float64 arrays here hold integers, and every sum made of them stays below 2**53, so that BLAS adds them exactly.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from exactla.core.moduli import ResidueBase
from exactla_backends.numpy.limbs import BITS, count_for

FRACTION_BITS = 46
GROUP = 128
"""Moduli, or limbs, summed by one product: 2**22 * 2**24 * 128 = 2**53."""

Table = NDArray[np.float64]


@lru_cache(maxsize=256)
def powers(base: ResidueBase, count: int) -> Table:
    """[P, count]: 2**(24 j) modulo each modulus, centred, of magnitude at most 2**21."""
    m = moduli(base)[:, 0]
    columns = [np.ones_like(m)]
    for _ in range(count - 1):
        columns.append((columns[-1] << BITS) % m)
    residues = np.stack(columns, axis=1) % m[:, None]
    return np.where(2 * residues > m[:, None], residues - m[:, None], residues).astype(np.float64)


@dataclass(frozen=True)
class Reconstruction:
    """s = sum over p of x[p] * cofactor[p] - q * M with x = residue * weight mod m and q the rounded sum of x / m.

    Attributes
    ----------
    moduli, weights : int64 [P, 1]
    digits : [limbs + 1, P]
        Limbs of the cofactors M / m; the last row is floor(2**46 / m).
    product : int64 [limbs, 1]
        Limbs of M.
    """

    moduli: NDArray[np.int64]
    weights: NDArray[np.int64]
    digits: Table
    product: NDArray[np.int64]


@lru_cache(maxsize=256)
def reconstruction(base: ResidueBase) -> Reconstruction:
    """The tables that turn residues of a base into limbs."""
    count = count_for(base.product.bit_length())
    digits = [[*_digits(c, count), (1 << FRACTION_BITS) // m] for c, m in zip(base.cofactors, base.moduli, strict=True)]
    return Reconstruction(
        column(base.moduli),
        column(base.weights),
        np.ascontiguousarray(np.array(digits, np.float64).T),
        column(_digits(base.product, count)),
    )


@lru_cache(maxsize=256)
def moduli(base: ResidueBase) -> NDArray[np.int64]:
    """[P, 1]."""
    return column(base.moduli)


def column(values: list[int] | tuple[int, ...]) -> NDArray[np.int64]:
    """Integers as a column."""
    return np.array(values, np.int64)[:, None]


def _digits(value: int, count: int) -> list[int]:
    octets = value.to_bytes(count * BITS // 8, "little")
    return [int.from_bytes(octets[i : i + BITS // 8], "little") for i in range(0, len(octets), BITS // 8)]
