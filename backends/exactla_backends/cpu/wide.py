"""Tables that the native library turns long integers into residues with, and back: see xl_wide_base of native.h.

Numbers below 2**16 are two signed octets and long ones many, balanced as in `exactla_backends.octets`.
"""

import ctypes
from functools import lru_cache

import numpy as np

from exactla.core.moduli import ResidueBase
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import Array
from exactla_backends.cpu.residues import padded
from exactla_backends.octets import signed_octets

GROUP = 16
FRACTION_BITS = 40
DEPTH = 64
LIMB_OCTETS = 8

CONSTANTS = np.dtype(
    [("modulus", "u4"), ("reciprocal", "u4"), ("bias", "u4"), ("weight", "u4"), ("fraction", "i8")], align=True
)


def octets_depth(limbs: int) -> int:
    """Octets of an integer of so many limbs, padded as the matrix kernels want it."""
    return padded(LIMB_OCTETS * limbs + 1, DEPTH)


@lru_cache(maxsize=32)
def base_table(base: ResidueBase, operand_limbs: int, result_limbs: int) -> ctypes.Structure:
    """Constants for integers of so many limbs on their way in and out; 0 for a way that is not taken."""
    constants = _constants(base)
    powers = _powers(base, octets_depth(operand_limbs)) if operand_limbs else np.zeros((0, DEPTH), np.int8)
    cofactors = _cofactors(base, result_limbs * LIMB_OCTETS)
    octets = result_limbs * LIMB_OCTETS
    product = (base.product & ((1 << 8 * octets) - 1)).to_bytes(octets, "little")
    bytes_of_product = np.frombuffer(product, np.uint8).copy()
    return library.keep(
        library.WideBase(
            library.pointer(constants),
            len(base.moduli),
            library.pointer(powers),
            powers.shape[1],
            library.pointer(cofactors),
            cofactors.shape[1],
            octets,
            library.pointer(bytes_of_product),
        ),
        constants,
        powers,
        cofactors,
        bytes_of_product,
    )


@lru_cache(maxsize=32)
def _constants(base: ResidueBase) -> Array:
    found = np.zeros(len(base.moduli), CONSTANTS)
    moduli = np.array(base.moduli, np.int64)
    found["modulus"] = moduli
    found["reciprocal"] = (1 << 32) // moduli
    found["bias"] = -(-(1 << 30) // moduli) * moduli
    found["weight"] = base.weights
    found["fraction"] = (1 << FRACTION_BITS) // moduli
    return found


@lru_cache(maxsize=32)
def _powers(base: ResidueBase, octets: int) -> Array:
    """int8 [32 for each 16 moduli, octets]: digits of 256**j modulo each modulus, 16 rows of high and of low ones."""
    moduli = np.array(base.moduli, np.int64)
    powers = np.empty((len(moduli), octets), np.int64)
    powers[:, 0] = 1
    for j in range(1, octets):
        powers[:, j] = powers[:, j - 1] * 256 % moduli
    powers = np.where(2 * powers >= moduli[:, None], powers - moduli[:, None], powers)
    high = (powers + 128) >> 8
    groups = -(-len(moduli) // GROUP)
    found = np.zeros((groups, 2, GROUP, octets), np.int8)
    for digit, values in enumerate((high, powers - 256 * high)):
        padding = groups * GROUP - len(moduli)
        found[:, digit] = np.pad(values, ((0, padding), (0, 0))).reshape(groups, GROUP, octets)
    return found.reshape(-1, octets)


@lru_cache(maxsize=32)
def _cofactors(base: ResidueBase, octets: int) -> Array:
    """int8 [octets, 2 P and padding]: column 2 p holds the octets of M / m_p, the next one those of 256 M / m_p."""
    moduli = len(base.moduli)
    found = np.zeros((octets, padded(2 * moduli, DEPTH)), np.int8)
    columns = np.stack([signed_octets(cofactor, octets) for cofactor in base.cofactors])
    found[:, : 2 * moduli : 2] = columns.T
    found[1:, 1 : 2 * moduli : 2] = columns.T[:-1]
    return found
