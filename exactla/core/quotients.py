"""Rational numbers to encodings of a floating-point format, rounded once."""

from collections.abc import Iterable

from exactla.formats import FloatFormat
from exactla.results import Rounding


def quotient_encodings(
    numerators: Iterable[int], denominator: int, format: FloatFormat, rounding: Rounding
) -> list[int]:
    """Encodings of numerator / denominator, denominator > 0, as `mm` would round them; +0 for 0."""
    return [_encoding(n, denominator, format, rounding) for n in numerators]


def _encoding(numerator: int, denominator: int, format: FloatFormat, rounding: Rounding) -> int:
    if numerator == 0:
        return 0
    negative = numerator < 0
    magnitude, outward = abs(numerator), _outward(rounding, negative)
    # exponent of the last bit that the format keeps of a quotient of this size
    leading = magnitude.bit_length() - denominator.bit_length()
    exponent = max(leading - format.precision, format.least_exponent)
    kept, sticky = _divided(magnitude, denominator, exponent)
    if kept.bit_length() > format.precision:
        exponent += 1
        kept, sticky = _divided(magnitude, denominator, exponent)
    # encodings are contiguous from zero on: significand and exponent field as one number
    field = exponent - format.least_exponent
    encoding = kept + (field << format.fraction_bits)
    if outward is None:
        encoding += _rounds_up(kept, magnitude, denominator, exponent)
    else:
        encoding += outward and sticky
    if encoding > format.largest:
        beyond = format.largest if outward is False else format.infinity
        if beyond is None:
            return format.nan
        encoding = beyond
    if negative and (encoding or format.signed_zero):
        encoding |= 1 << (format.bits - 1)
    return encoding


def _outward(rounding: Rounding, negative: bool) -> bool | None:
    """Whether the magnitude is rounded up; None for to nearest."""
    if rounding is Rounding.NEAREST:
        return None
    return rounding is (Rounding.DOWN if negative else Rounding.UP)


def _divided(magnitude: int, denominator: int, exponent: int) -> tuple[int, bool]:
    """floor(magnitude / denominator / 2**exponent), and whether there is a remainder."""
    up, down = max(-exponent, 0), max(exponent, 0)
    quotient, remainder = divmod(magnitude << up, denominator << down)
    return quotient, remainder != 0


def _rounds_up(kept: int, magnitude: int, denominator: int, exponent: int) -> bool:
    """Whether the nearest value, the even one of two, is the next after `kept`."""
    halves, sticky = _divided(magnitude, denominator, exponent - 1)
    return bool(halves & 1) and (sticky or bool(kept & 1))
