"""Long integers divided by one number: products with its reciprocal, exact but where rounding is in doubt.

With a divisor of b bits and quotients below 2**q, x loses its lowest d = b - 80 bits and the reciprocal is
R = floor(2**(b + t) / divisor). Octets of the product below the c-th are left out, where t = 8 c + 48 >= q + 80, so
that the point is 128 bits above what is left. The proofs show that the error stays below 2**-70.
"""

import ctypes

import numpy as np

from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import Array
from exactla_backends.cpu.wide import LIMB_OCTETS, octets_depth, signed_octets

GUARD = 80
LIMB = 64
FRACTION_LIMBS = 2


def division(divisor: int, count: int, doubtful: Array) -> ctypes.Structure:
    """The division by a number of quotients in `count` limbs, below 2**(64 count - 2) in magnitude."""
    bits, quotient_bits = abs(divisor).bit_length(), LIMB * count - 2
    limbs = (quotient_bits + GUARD + 1) // LIMB + 1
    lowest = -(-(quotient_bits + GUARD - 48) // 8)
    reciprocal = (1 << (bits + 8 * lowest + 48)) // abs(divisor)
    depth, rows = octets_depth(limbs), LIMB_OCTETS * (FRACTION_LIMBS + count)
    octets = signed_octets(reciprocal if divisor > 0 else -reciprocal, reciprocal.bit_length() // 8 + 2)
    # octet o of the product takes octet lowest + o - k of the reciprocal for octet k of x
    reverse = np.zeros(depth + rows - 1, np.int8)
    places = lowest + rows - 1 - np.arange(len(reverse))
    inside = (places >= 0) & (places < len(octets))
    reverse[inside] = octets[places[inside]]
    return library.keep(
        library.LongDivision(
            bits - GUARD, limbs, library.pointer(reverse) + rows - 1, FRACTION_LIMBS, library.pointer(doubtful)
        ),
        reverse,
        doubtful,
    )
