"""Non-finite entries: their classes as small integers, and the encodings that IEEE 754 gives for their products."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Operand, SpecialPieces
from exactla.formats import INTEGER_FORMATS, BigIntegerFormat, FloatFormat
from exactla_backends.numpy.encodings import decode, finite, unsigned

_INT8 = INTEGER_FORMATS["int8"]


def special_pieces(operand: Operand) -> SpecialPieces:
    """Indicators and signs of the entries of an operand, as int8 operands with exponents 0."""
    sign, infinity, nan = _classes(operand)
    exponents = np.zeros(operand.shape[:2], np.int64)

    def piece(values: NDArray[Any]) -> Operand:
        return operand._replace(buffer=values.astype(np.int8), format=_INT8, exponents=exponents, bits=1)

    return SpecialPieces(
        sign=piece(sign),
        abs_sign=piece(np.abs(sign)),
        infinity=piece(infinity),
        abs_infinity=piece(np.abs(infinity)),
        zero=piece((sign == 0) & ~nan),
        nan=piece(nan),
        one=piece(np.ones(operand.shape)),
    )


def _classes(operand: Operand) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    if isinstance(operand.format, BigIntegerFormat):
        # limbs in two's complement: the top one has the sign
        sign = np.where(operand.buffer[-1] < 0, -1, operand.buffer.any(axis=0))
        return sign, np.zeros(operand.shape), np.zeros(operand.shape, bool)
    decoded = decode(operand.buffer, operand.format)
    sign = decoded.sign * (decoded.significand != 0)
    if not isinstance(operand.format, FloatFormat):
        return sign, np.zeros(operand.shape), np.zeros(operand.shape, bool)
    words = unsigned(operand.buffer)
    special = ~finite(words, operand.format)
    infinite = (words & ((1 << (operand.format.bits - 1)) - 1)) == (operand.format.infinity or -1)
    infinity = decoded.sign * infinite
    return sign + infinity, infinity, special & ~infinite


def mark(
    encodings: NDArray[Any], signed: NDArray[Any], count: NDArray[Any], invalid: NDArray[Any], format: FloatFormat
) -> None:
    """NaN where invalid > 0 or |signed| < count, else the signed infinity where count > 0; in place."""
    infinite = count > 0
    nan = (invalid > 0) | (infinite & (np.abs(signed) < count))
    if format.infinity is None:
        nan |= infinite
    else:
        negative = (signed < 0).astype(np.int64) << (format.bits - 1)
        np.copyto(encodings, (format.infinity | negative).astype(encodings.dtype), where=infinite)
    np.copyto(encodings, np.array(format.nan).astype(encodings.dtype), where=nan)
