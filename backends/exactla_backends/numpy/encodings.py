"""Encodings to integers: an entry is sign * significand * 2**exponent, read from its bits."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactla.formats import FloatFormat, Format, IntegerFormat

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


class Decoded(NamedTuple):
    """sign (1 or -1), significand >= 0 and exponent of each entry; a NaN or an infinity has significand 0.

    `special` tells which entries are not finite, None where all are.
    """

    sign: Ints
    significand: Words
    exponent: Ints
    special: NDArray[np.bool_] | None = None


def unsigned(encodings: NDArray[Any]) -> Words:
    """Encodings as 64-bit words, in C order."""
    return np.ascontiguousarray(encodings).astype(np.uint64, copy=False)


def finite(words: Words, format: FloatFormat) -> NDArray[np.bool_]:
    """Which encodings stand for numbers."""
    magnitude = words & ((1 << (format.bits - 1)) - 1)
    good = magnitude <= format.largest
    return good if format.signed_zero else good & (words != 1 << (format.bits - 1))


def decode(encodings: NDArray[Any], format: Format | None) -> Decoded:
    """Sign, significand and exponent of encodings of a float or fixed-width integer format."""
    if isinstance(format, IntegerFormat):
        return _decode_integers(encodings, format)
    if not isinstance(format, FloatFormat):
        raise TypeError(f"{format} has no fixed-width encodings")
    words = unsigned(encodings)
    field = ((words >> format.fraction_bits) & ((1 << format.exponent_bits) - 1)).view(np.int64)
    fraction = words & ((1 << format.fraction_bits) - 1)
    significand = fraction | np.left_shift(field != 0, format.fraction_bits, dtype=np.uint64)
    good = finite(words, format)
    special = None if good.all() else ~good
    if special is not None:
        significand[special] = 0
    sign = 1 - ((words >> (format.bits - 1)) << 1).view(np.int64)
    return Decoded(sign, significand, np.maximum(field, 1) - (format.bias + format.fraction_bits), special)


def _decode_integers(encodings: NDArray[Any], format: IntegerFormat) -> Decoded:
    exponent = np.zeros(encodings.shape, np.int64)
    if not format.signed:
        words = unsigned(encodings)
        return Decoded(np.ones(words.shape, np.int64), words, exponent)
    values = np.ascontiguousarray(encodings).astype(np.int64)
    # the magnitude of the most negative integer wraps to itself, which read as unsigned is right
    return Decoded(1 - 2 * (values < 0).astype(np.int64), np.abs(values).view(np.uint64), exponent)


def bit_length(words: Words) -> Ints:
    """Number of bits of each word, 0 for 0."""
    smeared = words.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        smeared |= smeared >> np.uint64(shift)
    return np.bitwise_count(smeared).astype(np.int64)


def trailing_zeros(words: Words) -> Ints:
    """Position of the lowest set bit of each word, 64 for 0."""
    lowest = words & (~words + np.uint64(1))
    return np.bitwise_count(lowest - np.uint64(1)).astype(np.int64)
