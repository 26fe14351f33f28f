"""Decimal numerals of dyadic numbers: exact ones, and such of so many digits, rounded to nearest.

Long powers are gmpy2's, which takes them, and divides them, in far less time than Python.
"""

from typing import Any

import gmpy2

LOG10_2 = 0.30102999566398119521
"""Only for a first guess of a decimal exponent, which is then made right."""

LEAST_PLAIN, MOST_PLAIN = -5, 20
"""Exponents of the leading digit between which numerals have no exponent."""

SHORT_EXPONENT = 20_000
"""Powers of two up to which `shown` converts to decimal."""


def exact(significand: int, exponent: int) -> str:
    """All digits of significand * 2**exponent."""
    if exponent >= 0:
        return _digits(gmpy2.mpz(significand) << exponent)
    zeros = min((significand & -significand).bit_length() - 1, -exponent) if significand else -exponent
    places = -exponent - zeros
    # m / 2**p = m * 5**p / 10**p
    return _text((significand >> zeros) * gmpy2.mpz(5) ** places, -places)


def rounded(significand: int, exponent: int, digits: int) -> str:
    """The nearest number of so many significant digits, ties to even."""
    if not significand:
        return "0"
    magnitude = abs(significand)
    numerator = gmpy2.mpz(magnitude) << max(exponent, 0)
    denominator = gmpy2.mpz(1) << max(-exponent, 0)
    power = _decimal_exponent(numerator, denominator)
    found = _nearest(numerator, denominator, power - digits + 1)
    if found == 10**digits:
        found, power = found // 10, power + 1
    return _text(-found if significand < 0 else found, power - digits + 1)


def shown(significand: int, exponent: int, digits: int) -> str:
    """A short numeral of any number, for display: in decimal, or as m*2**e where that would take long."""
    leading = abs(significand).bit_length() + exponent
    if significand and (abs(leading) > SHORT_EXPONENT):
        cut = max(abs(significand).bit_length() - 53, 0)
        kept = abs(significand) >> cut
        return f"{'-' if significand < 0 else ''}{kept}*2**{exponent + cut}"
    # bits far below the digits shown cannot be seen
    cut = max(abs(significand).bit_length() - 4 * digits - 64, 0)
    if cut:
        sign = -1 if significand < 0 else 1
        magnitude = abs(significand)
        kept = magnitude >> cut | (magnitude & ((1 << cut) - 1) != 0)
        return rounded(sign * kept, exponent + cut, digits)
    return rounded(significand, exponent, digits)


def _decimal_exponent(numerator: Any, denominator: Any) -> int:
    """The k with 10**k <= numerator / denominator < 10**(k + 1)."""
    guess = int((numerator.bit_length() - denominator.bit_length() - 1) * LOG10_2) - 1
    while _at_least(numerator, denominator, guess + 1):
        guess += 1
    while not _at_least(numerator, denominator, guess):
        guess -= 1
    return guess


def _at_least(numerator: Any, denominator: Any, power: int) -> bool:
    """Whether numerator / denominator >= 10**power."""
    return bool(numerator * _power_of_ten(-power) >= denominator * _power_of_ten(power))


def _power_of_ten(exponent: int) -> Any:
    """10**exponent, 1 for a negative exponent."""
    return gmpy2.mpz(10) ** max(exponent, 0)


def _nearest(numerator: Any, denominator: Any, power: int) -> Any:
    """numerator / denominator / 10**power rounded to nearest, ties to even."""
    numerator *= _power_of_ten(-power)
    denominator *= _power_of_ten(power)
    quotient, remainder = divmod(numerator, denominator)
    twice = 2 * remainder
    return quotient + (twice > denominator or (twice == denominator and quotient & 1))


def _text(digits: Any, power: int) -> str:
    """digits * 10**power without zeros at its end: plain where that is short, else with an exponent."""
    figures = _digits(abs(digits))
    kept = figures.rstrip("0")
    if not kept:
        return "0"
    power += len(figures) - len(kept)
    leading = len(kept) - 1 + power
    if not LEAST_PLAIN <= leading <= MOST_PLAIN:
        text = f"{kept[0]}{'.' * (len(kept) > 1)}{kept[1:]}e{leading:+d}"
    elif power >= 0:
        text = kept + "0" * power
    elif leading >= 0:
        text = f"{kept[: leading + 1]}.{kept[leading + 1 :]}"
    else:
        text = f"0.{'0' * (-leading - 1)}{kept}"
    return f"-{text}" if digits < 0 else text


def _digits(value: Any) -> str:
    """Decimal digits of any number of them, which Python refuses to print."""
    return str(gmpy2.mpz(value).digits())
