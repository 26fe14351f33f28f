"""Operands to limbs: entries as integers in units of their row's power of two."""

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Operand
from exactla.formats import BigIntegerFormat, FloatFormat
from exactla_backends.numpy import limbs as mp
from exactla_backends.numpy.encodings import Decoded, Ints, decode


def operand_limbs(operand: Operand, place: tuple[slice, ...], count: int) -> tuple[Ints, int]:
    """Signed digits [L, ...] of the entries at a place, L <= count, and how many of them break their scan."""
    if operand.format is None:
        return operand.buffer[(slice(None), *place)], 0
    exponents = operand.exponents[place[0], place[1], None]
    if isinstance(operand.format, BigIntegerFormat):
        return _shifted(operand.buffer[(slice(None), *place)], -exponents), 0
    decoded = decode(operand.buffer[place], operand.format)
    shift = decoded.exponent - exponents
    precision = operand.format.precision if isinstance(operand.format, FloatFormat) else 64
    broken = _broken(decoded, precision, shift, operand)
    if operand.finite and decoded.special is not None:
        broken |= decoded.special
    return mp.from_decoded(decoded, shift, count), int(np.count_nonzero(broken))


def _shifted(limbs: Ints, shift: Ints) -> Ints:
    """Signed digits of integers times 2**shift, which is 0 but for integers beside floats in one interval."""
    if not shift.any():
        return limbs
    return mp.from_integers(mp.to_integers(mp.carry(limbs.copy())).astype(object) << shift.astype(object))[0]


def _broken(decoded: Decoded, precision: int, shift: Ints, operand: Operand) -> NDArray[np.bool_]:
    """Entries with a bit below the row's exponent or above its bits: the operand changed after its scan."""
    significand, bits = decoded.significand, operand.bits
    broken = np.zeros(significand.shape, np.bool_)
    if shift.min(initial=0) < 0 and not operand.truncated:
        dropped = np.maximum(-shift, 0).view(np.uint64)
        broken |= (significand >> dropped) << dropped != significand
    if shift.max(initial=0) + precision > bits:
        broken |= significand >> np.maximum(bits - shift, 0).view(np.uint64) != 0
    return broken
