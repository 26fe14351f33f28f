"""Encodings of floating-point entries on the host: what several public functions ask of them."""

import numpy as np

from exactla.formats import FloatFormat
from exactla.libraries.base import HostArray


def nan_mask(encodings: HostArray, format: FloatFormat) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
    """Which encodings, unsigned integers of the format's width, are NaN."""
    sign = encodings.dtype.type(1 << (format.bits - 1))
    nan: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    nan = (encodings & ~sign) > (format.largest if format.infinity is None else format.infinity)
    return nan if format.signed_zero else nan | (encodings == sign)
