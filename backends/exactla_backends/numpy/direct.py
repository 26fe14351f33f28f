"""Tiny products in Python integers: fewer steps than NumPy needs calls."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactla.formats import BigIntegerFormat, FloatFormat
from exactla.libraries.base import HostArray, Source
from exactla.libraries.bits import UNSIGNED
from exactla.results import Rounding
from exactla_backends.numpy.encodings import decode

MOST_PRODUCTS = 128
"""Products of entries, above which NumPy's calls weigh less than the interpreter's steps."""


def product(
    left: Source,
    right: Source,
    transposed: bool,
    format: FloatFormat,
    roundings: Sequence[Rounding],
    *,
    checks: bool = True,  # noqa: ARG001 - of whoever reads operands twice
) -> list[NDArray[np.unsignedinteger]] | None:
    """Encodings [R, C] of left @ right, or left @ right.T, for each rounding; None where it is not for here."""
    for source in (left, right):
        if source.complex or len(source.shape) != 2 or isinstance(source.format, BigIntegerFormat):
            return None
    (rows, depth), columns = left.shape, right.shape[0 if transposed else 1]
    if not 0 < rows * depth * columns <= MOST_PRODUCTS:
        return None
    a = left.library.host_encodings(left)
    b = right.library.host_encodings(right)
    x, y = _integers(a, left), _integers(b if transposed else b.T, right)
    if x is None or y is None:
        return None
    exponent = x[1] + y[1]
    sums = [
        sum(x[0][i + k] * y[0][j + k] for k in range(depth))
        for i in range(0, rows * depth, depth)
        for j in range(0, columns * depth, depth)
    ]
    dtype = UNSIGNED[format.bits // 8]
    return [
        np.array([_encoding(s, exponent, format, r) for s in sums], dtype).reshape(rows, columns) for r in roundings
    ]


def _integers(encodings: HostArray, source: Source) -> tuple[list[int], int] | None:
    """Entries in C order as integers times one power of two; None where one is not finite."""
    decoded = decode(encodings, source.format)
    if decoded.special is not None:
        return None
    exponents = decoded.exponent.ravel().tolist()
    least: int = min(exponents)
    entries = zip(decoded.sign.ravel().tolist(), decoded.significand.ravel().tolist(), exponents, strict=True)
    return [sign * significand << exponent - least for sign, significand, exponent in entries], least


def _encoding(s: int, exponent: int, format: FloatFormat, rounding: Rounding) -> int:
    """The encoding of s * 2**exponent, rounded once; see rounding.py for why the next encoding is the next value."""
    if s == 0:
        return 0
    negative, magnitude = s < 0, abs(s)
    unit = max(magnitude.bit_length() + exponent - format.precision, format.least_exponent)
    shift = unit - exponent
    kept = magnitude >> shift if shift > 0 else magnitude << -shift
    below = magnitude - (kept << shift) if shift > 0 else 0
    code = ((unit - format.least_exponent) << format.fraction_bits) + kept
    outward = negative if rounding is Rounding.DOWN else not negative and rounding is Rounding.UP
    if rounding is Rounding.NEAREST:
        outward = True
        code += 2 * below + (code & 1) > 1 << shift if below else 0
    else:
        code += outward and below > 0
    if code > format.largest:
        if outward and format.infinity is None:
            return format.nan
        code = format.largest if not outward or format.infinity is None else format.infinity
    if code == 0 and not format.signed_zero:
        return 0
    return code | negative << (format.bits - 1)
