"""Encodings of floats and fixed-width integers as sign, significand and exponent, by their bits."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactla.formats import FloatFormat, Format, IntegerFormat


class Numbers(NamedTuple):
    """Entries (-1)**negative * significand * 2**exponent; significands of what is not finite are no values."""

    negative: NDArray[np.bool_]
    significand: NDArray[np.uint64]
    exponent: NDArray[np.int64]
    finite: NDArray[np.bool_]


def decoded(encodings: NDArray[Any], format: Format) -> Numbers:
    """What encodings of a format stand for."""
    if isinstance(format, FloatFormat):
        return _floats(encodings.astype(np.uint64), format)
    if not isinstance(format, IntegerFormat):
        raise TypeError(f"{format} has no fixed-width encodings")
    if format.signed:
        values = encodings.astype(np.int64)
        negative = values < 0
        # the magnitude of the most negative integer wraps to itself, which read as unsigned is right
        significand = np.abs(values).view(np.uint64)
    else:
        significand = encodings.astype(np.uint64)
        negative = np.zeros(significand.shape, bool)
    exponent = np.zeros(significand.shape, np.int64)
    return Numbers(negative, significand, exponent, np.ones(significand.shape, bool))


def _floats(words: NDArray[np.uint64], format: FloatFormat) -> Numbers:
    magnitude = words & np.uint64((1 << (format.bits - 1)) - 1)
    negative = words >> np.uint64(format.bits - 1) != 0
    finite = magnitude <= np.uint64(format.largest)
    if not format.signed_zero:
        finite &= ~(negative & (magnitude == 0))
    field = (magnitude >> np.uint64(format.fraction_bits)).astype(np.int64)
    significand = magnitude & np.uint64((1 << format.fraction_bits) - 1)
    significand += (field > 0).astype(np.uint64) << np.uint64(format.fraction_bits)
    return Numbers(negative, significand, np.maximum(field, 1) - 1 + format.least_exponent, finite)
