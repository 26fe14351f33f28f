"""Numbers for the tests of multiple precision, and their rounding in Fractions."""

import math
from fractions import Fraction

from hypothesis import strategies as st

from exactla import MPArray

DYADICS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(Fraction),
    st.integers(-(1 << 140), 1 << 140).map(Fraction),
    st.builds(lambda s, e: Fraction(s) * Fraction(2) ** e, st.integers(-(1 << 260), 1 << 260), st.integers(-400, 400)),
    # powers of two and their neighbours: edges of limbs and significands
    st.builds(
        lambda k, d, e: Fraction((1 << k) + d) * Fraction(2) ** e,
        st.integers(0, 260),
        st.integers(-1, 1),
        st.integers(-70, 70),
    ),
)
"""Integers times powers of two."""

PRECISIONS = st.one_of(
    st.sampled_from([53, 64, 106, 113, 128, 159, 212, 256, 3136, 6272, 8192, 12544, 16384]), st.integers(53, 16384)
)


def mp(values):
    """The array of some dyadic numbers."""
    return MPArray.from_fractions(values)


def value_of(number):
    """The Fraction that an mpfr or mpf stands for."""
    if hasattr(number, "as_mantissa_exp"):
        significand, exponent = number.as_mantissa_exp()
        return int(significand) * Fraction(2) ** int(exponent)
    negative, magnitude, exponent, _ = number._mpf_
    return (-1 if negative else 1) * int(magnitude) * Fraction(2) ** int(exponent)


def rounded(value: Fraction, precision: int, rounding: str = "nearest") -> Fraction:
    """A number rounded to so many significant bits."""
    value = Fraction(value)
    if value == 0:
        return value
    top = abs(value.numerator).bit_length() - value.denominator.bit_length()
    while abs(value) >= Fraction(2) ** top:
        top += 1
    while abs(value) < Fraction(2) ** (top - 1):
        top -= 1
    unit = Fraction(2) ** (top - precision)
    to_integer = {"nearest": round, "down": math.floor, "up": math.ceil, "zero": math.trunc}[rounding]
    return Fraction(to_integer(value / unit) * unit)
