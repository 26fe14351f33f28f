"""Exact integers to encodings: one rounding, by bit manipulation, of limbs * 2**exponent in each asked direction.

The unit u is the bit of |s| that becomes the last bit of the significand: precision - 1 bits below the leading one,
but never below the format's least exponent. The encoding of floor(|s| / 2**u) units is contiguous through subnormals
into overflow, so the next value away from zero is the next encoding.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactla.formats import FloatFormat
from exactla.results import Rounding
from exactla_backends.numpy import limbs as mp
from exactla_backends.numpy.encodings import Ints, bit_length

LOW_PAD = 3
"""Zero limbs below the number: the unit can lie up to 54 bits below bit 0."""
HIGH_PAD = 4

Encodings = NDArray[np.int64]


def round_limbs(limbs: Ints, exponent: Ints, format: FloatFormat, roundings: Sequence[Rounding]) -> list[Encodings]:
    """Encodings [n] of s * 2**exponent for two's complement limbs [L, n], which are overwritten."""
    magnitude, negative = mp.magnitude(limbs)
    lead, lowest = _ends(magnitude)
    unit = np.maximum(lead - (format.precision - 1), format.least_exponent - exponent)
    guard = np.minimum(unit - 1, lead + 2)  # below a tiny value all that matters is that it is not 0
    window, sticky = _window(magnitude, guard, lowest, format.precision + 1)
    # the exponent field less one, to which the leading bit of a normal significand adds; saturated past the largest
    field = np.minimum(unit + exponent - format.least_exponent, format.largest >> format.fraction_bits)
    truncated = np.minimum((field << format.fraction_bits) + (window >> 1), format.largest + 1)
    half = (window & 1) != 0
    inexact = half | sticky | (truncated > format.largest)
    zero = lead < 0
    found = []
    for rounding in roundings:
        away = _away(rounding, half, sticky, inexact, negative, truncated)
        found.append(_encode(truncated + away, _outward(rounding, negative), negative, zero, format))
    return found


def round_certified(
    limbs: Ints, exponent: Ints, slack: int, format: FloatFormat, roundings: Sequence[Rounding]
) -> tuple[list[Encodings], NDArray[np.bool_]]:
    """Encodings of s - 2**slack times 2**exponent, and where those of s + 2**slack are others or of another sign.

    The sign is looked at too, because a format without infinities overflows to one NaN on either side.
    """
    ends, signs = [], []
    for sign in (-1, 1):
        moved = limbs.copy()
        moved[slack // mp.BITS] += sign << (slack % mp.BITS)
        mp.carry(moved)
        signs.append(moved[-1] < 0)
        ends.append(round_limbs(moved, exponent, format, roundings))
    unsure: NDArray[np.bool_] = signs[0] != signs[1]
    for low, high in zip(*ends, strict=True):
        unsure |= low != high
    return ends[0], unsure


def _ends(magnitude: Ints) -> tuple[Ints, Ints]:
    """Position of the leading bit (-1 for 0), and the index of the lowest limb that is not 0."""
    count, size = magnitude.shape
    nonzero = magnitude != 0
    bottom = nonzero.argmax(axis=0)
    top = (count - 1) - nonzero[::-1].argmax(axis=0)
    leading = magnitude.ravel().take(top * size + np.arange(size))
    lead = top * mp.BITS + bit_length(leading.view(np.uint64)) - 1
    lead[leading == 0] = -1
    return lead, bottom


def _window(magnitude: Ints, position: Ints, lowest: Ints, width: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Bits position .. position + width - 1 of each magnitude, and whether any bit below is set."""
    count, size = magnitude.shape
    padded = np.zeros((LOW_PAD + count + HIGH_PAD, size), np.int64)
    padded[LOW_PAD : LOW_PAD + count] = magnitude
    flat = padded.ravel()
    place = position + LOW_PAD * mp.BITS
    index = place // mp.BITS
    offset = place - index * mp.BITS
    start = index * size + np.arange(size)
    first = flat.take(start)
    window = first >> offset
    for step in range(1, (width + mp.BITS - 2) // mp.BITS + 1):
        # a limb that would be shifted past the window holds no bits of it
        window |= flat.take(start + step * size) << np.minimum(step * mp.BITS - offset, 63)
    sticky: NDArray[np.bool_] = (first & ((np.int64(1) << offset) - 1)) != 0
    return window, sticky | (lowest + LOW_PAD < index)


def _away(
    rounding: Rounding,
    half: NDArray[np.bool_],
    sticky: NDArray[np.bool_],
    inexact: NDArray[np.bool_],
    negative: NDArray[np.bool_],
    truncated: Ints,
) -> NDArray[np.bool_]:
    """Whether the magnitude takes one more unit."""
    match rounding:
        case Rounding.NEAREST:
            odd: NDArray[np.bool_] = (truncated & 1) != 0
            return half & (sticky | odd)
        case Rounding.DOWN:
            return inexact & negative
        case Rounding.UP:
            return inexact & ~negative
        case Rounding.ZERO:
            return np.zeros_like(inexact)


def _outward(rounding: Rounding, negative: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether a magnitude past the largest becomes infinity; else it saturates."""
    match rounding:
        case Rounding.NEAREST:
            return np.ones_like(negative)
        case Rounding.DOWN:
            return negative
        case Rounding.UP:
            return ~negative
        case Rounding.ZERO:
            return np.zeros_like(negative)


def _encode(
    magnitude: Ints,
    outward: NDArray[np.bool_],
    negative: NDArray[np.bool_],
    zero: NDArray[np.bool_],
    format: FloatFormat,
) -> Encodings:
    """Encodings of rounded magnitudes: overflow, sign and zero."""
    over = magnitude > format.largest
    signed = negative & ~zero
    if not format.signed_zero:
        signed &= magnitude != 0
    if over.any():
        beyond = format.nan if format.infinity is None else format.infinity
        if format.infinity is None:
            signed &= ~(over & outward)
        magnitude = np.where(over, np.where(outward, beyond, format.largest), magnitude)
    signed_magnitude: Encodings = np.where(zero, 0, magnitude) | (signed.astype(np.int64) << (format.bits - 1))
    return signed_magnitude
