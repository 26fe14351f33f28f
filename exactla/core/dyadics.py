"""Dyadic numbers m * 2**e as Python integers: from objects of every kind, rounded to a precision, and as limbs.

Knows gmpy2, mpmath and python-flint by the names of their types, and imports none but gmpy2, when it rounds.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

LEAST_PRECISION = 2
"""Bits: MPFR's numbers of fewer cannot be asked for through gmpy2."""

MOST_EXPONENT = 1 << 60

MOST_WRITTEN_BITS = 1 << 28
"""Of a number that is written out, with its power of two."""

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_RATIO = re.compile(r"[+-]?\d+/0*[1-9]\d*")


class Dyadic(NamedTuple):
    """significand * 2**exponent."""

    significand: int
    exponent: int


class NotDyadicError(ValueError):
    """The number is no integer times a power of two."""


class NotFiniteError(ValueError):
    """The number is a NaN or an infinity."""


def exact(value: Any) -> Dyadic:
    """What a number of any kind stands for.

    Raises
    ------
    TypeError
        It is no real number.
    NotDyadicError, NotFiniteError
        It is none that has such a form.
    OverflowError
        A decimal number has more than `MOST_WRITTEN_BITS` bits.
    """
    if isinstance(value, (Integral, np.bool_)):
        return Dyadic(int(value), 0)
    reader = _READERS.get((type(value).__module__.partition(".")[0], type(value).__name__))
    if reader is not None:
        return reader(value)
    if isinstance(value, Decimal):
        return _from_decimal(value)
    if isinstance(value, (float, np.floating, Fraction)) or hasattr(value, "as_integer_ratio"):
        try:
            numerator, denominator = value.as_integer_ratio()
        except (OverflowError, ValueError):
            raise NotFiniteError(str(value)) from None
        return _ratio(int(numerator), int(denominator))
    if type(value).__module__.partition(".")[0] == "ml_dtypes":
        return exact(float(value))
    raise TypeError


def _ratio(numerator: int, denominator: int) -> Dyadic:
    if denominator & (denominator - 1):
        raise NotDyadicError
    return Dyadic(numerator, 1 - denominator.bit_length())


def _from_decimal(value: Decimal) -> Dyadic:
    numerator, denominator = _decimal_ratio(value)
    return _ratio(numerator, denominator)


def _decimal_ratio(value: Decimal) -> tuple[int, int]:
    """Numerator and denominator.

    Raises
    ------
    NotFiniteError
        It is a NaN or an infinity.
    OverflowError
        They have more than `MOST_WRITTEN_BITS` bits: powers of ten are written out.
    """
    if not value.is_finite():
        raise NotFiniteError(str(value))
    if not value:  # whatever its exponent
        return 0, 1
    import gmpy2

    sign, digits, power = value.as_tuple()
    # a digit, and a power of ten, take less than 4 bits
    _check_written(4 * (len(digits) + abs(int(power))))
    whole, scale = int(Decimal((sign, digits, 0))), gmpy2.mpz(10) ** abs(int(power))
    found = gmpy2.mpq(whole * scale) if int(power) > 0 else gmpy2.mpq(whole, scale)
    return int(found.numerator), int(found.denominator)


def _check_written(bits: int) -> None:
    if bits > MOST_WRITTEN_BITS:
        raise OverflowError(f"about {bits:,} bits to be written out, and {MOST_WRITTEN_BITS:,} are the most")


def _from_mpfr(value: Any) -> Dyadic:
    try:
        significand, exponent = value.as_mantissa_exp()
    except (OverflowError, ValueError):
        raise NotFiniteError(str(value)) from None
    return Dyadic(int(significand), int(exponent))


def _from_mpf(value: Any) -> Dyadic:
    negative, magnitude, exponent, _ = value._mpf_
    if not magnitude and exponent:
        raise NotFiniteError(str(value))
    return Dyadic(-int(magnitude) if negative else int(magnitude), int(exponent))


def _from_arb(value: Any) -> Dyadic:
    """The midpoint."""
    middle = value.mid()
    if not middle.is_finite():
        raise NotFiniteError(str(value))
    significand, exponent = middle.man_exp()
    return Dyadic(int(significand), int(exponent))


def _from_arf(value: Any) -> Dyadic:
    if not value.is_finite():
        raise NotFiniteError(str(value))
    significand, exponent = value.man_exp()
    return Dyadic(int(significand), int(exponent))


_READERS: dict[tuple[str, str], Callable[[Any], Dyadic]] = {
    ("gmpy2", "mpfr"): _from_mpfr,
    ("gmpy2", "mpz"): lambda v: Dyadic(int(v), 0),
    ("gmpy2", "mpq"): lambda v: _ratio(int(v.numerator), int(v.denominator)),
    ("mpmath", "mpf"): _from_mpf,
    ("flint", "arb"): _from_arb,
    ("flint", "arf"): _from_arf,
    ("flint", "fmpz"): lambda v: Dyadic(int(v), 0),
    ("flint", "fmpq"): lambda v: _ratio(int(v.p), int(v.q)),
}


def ratio(value: Any) -> tuple[int, int]:
    """Numerator and positive denominator of a number of any kind that `exact` or a `Rounder` takes.

    Raises
    ------
    TypeError
        It is no real number.
    NotFiniteError
        It is a NaN or an infinity.
    OverflowError
        Its exponent is so far from 0 that they have more than `MOST_WRITTEN_BITS` bits.
    """
    parts = _parts(value)
    if parts is not None:
        return int(parts[0]), int(parts[1])
    significand, exponent = exact(value)
    if not significand:
        return 0, 1
    _check_written(significand.bit_length() + abs(exponent))
    return significand << max(exponent, 0), 1 << max(-exponent, 0)


def _parts(value: Any) -> tuple[Any, Any] | None:
    if isinstance(value, Decimal):
        return _decimal_ratio(value)
    if isinstance(value, Fraction):
        return value.numerator, value.denominator
    kind = type(value).__module__.partition(".")[0], type(value).__name__
    if kind == ("gmpy2", "mpq"):
        return value.numerator, value.denominator
    return (int(value.p), int(value.q)) if kind == ("flint", "fmpq") else None


def standing_in(value: Any, exponent: int, bits: int) -> Dyadic:
    """A number that compares as another one does with each multiple of 2**exponent below 2**(exponent + bits).

    Magnitudes are meant. It is the number itself where it is such a multiple; else it lies half way between two of
    them, or, as an infinity does, beyond all.

    Raises
    ------
    TypeError
        The other one is no real number.
    NotFiniteError
        It is a NaN.
    OverflowError
        It is a decimal number of more than `MOST_WRITTEN_BITS` bits, and no shorter than the multiples.
    """
    beyond = exponent + bits
    try:
        sign, lowest, highest = _position(value)
    except NotFiniteError:
        sign, lowest, highest = _sign_of_infinity(value), beyond, beyond
    if lowest >= beyond:
        return Dyadic(sign, beyond)
    if highest <= exponent:
        return Dyadic(sign, exponent - 1 if sign else 0)
    numerator, denominator = _in_units(value, exponent)
    quotient, left = divmod(numerator, denominator)
    return Dyadic(2 * quotient + 1, exponent - 1) if left else Dyadic(quotient, exponent)


def _position(value: Any) -> tuple[int, int, int]:
    """The sign of a number, and l and h with 2**l <= its magnitude < 2**h, unless it is 0."""
    if isinstance(value, Decimal) and value.is_finite() and value:
        # 10**place <= magnitude < 10**(place + 1), and 2**3 < 10 < 2**4
        place = value.adjusted()
        return (-1 if value < 0 else 1), min(3 * place, 4 * place), max(3 * (place + 1), 4 * (place + 1))
    parts = None if isinstance(value, Decimal) else _parts(value)
    if parts is None:
        significand, exponent = exact(value)
        length = significand.bit_length()
        return (significand > 0) - (significand < 0), exponent + length - 1, exponent + length
    numerator, length = int(parts[0]), int(parts[0]).bit_length() - int(parts[1]).bit_length()
    return (numerator > 0) - (numerator < 0), length - 1, length + 1


def _in_units(value: Any, exponent: int) -> tuple[int, int]:
    """Numerator and denominator of a number in units of 2**exponent, of which it is not far from some multiple."""
    parts = _parts(value)
    if parts is None:
        significand, own = exact(value)
        shift, parts = own - exponent, (significand, 1)
    else:
        shift = -exponent
    return int(parts[0]) << max(shift, 0), int(parts[1]) << max(-shift, 0)


def _sign_of_infinity(value: Any) -> int:
    """1 or -1.

    Raises
    ------
    NotFiniteError
        The value is a NaN.
    """
    try:
        sign = bool(value > 0) - bool(value < 0)
    except ArithmeticError:  # of decimal, whose NaNs do not compare
        sign = 0
    if not sign:
        raise NotFiniteError(str(value))
    return sign


class Rounder:
    """Rounds numbers to the nearest of so many significant bits, ties to even, in a context of MPFR of its own."""

    def __init__(self, precision: int) -> None:
        import gmpy2

        self._gmpy2 = gmpy2
        self._context = gmpy2.context(
            precision=precision,
            round=gmpy2.RoundToNearest,
            emin=gmpy2.get_emin_min(),
            emax=gmpy2.get_emax_max(),
        )
        self._precision = precision

    def __call__(self, value: Any) -> Dyadic:
        """The nearest to a number, which is exact where that has few enough bits."""
        if isinstance(value, Decimal) and value.is_finite():
            return self.of_text(str(value))
        parts = _parts(value)
        if parts is None:
            found = exact(value)
            if found.significand.bit_length() <= self._precision:
                return found
            return self._read(self._gmpy2.mpz(found.significand), found.exponent)
        return self._read(self._gmpy2.mpq(*map(int, parts)), 0)

    def of_ratio(self, numerator: Any, denominator: Any) -> Dyadic:
        """The nearest to numerator / denominator, for a positive denominator."""
        if denominator == 1 and numerator.bit_length() <= self._precision:
            return Dyadic(int(numerator), 0)
        # two bits more, and a last one for what is left, decide as the whole quotient would
        shift = max(self._precision + 3 + denominator.bit_length() - numerator.bit_length(), 0)
        quotient, left = divmod(abs(numerator) << shift, denominator)
        quotient = 2 * quotient + (left != 0)
        return self._read(self._gmpy2.mpz(quotient if numerator >= 0 else -quotient), -shift - 1)

    def of_text(self, text: str) -> Dyadic:
        """The nearest to a decimal number or a ratio of integers.

        Raises
        ------
        ValueError
            The text is neither, or its exponent is out of MPFR's range.
        """
        text = text.strip()
        if _RATIO.fullmatch(text):
            return self._read(self._gmpy2.mpq(text.lstrip("+")), 0)
        if not _DECIMAL.fullmatch(text):
            raise ValueError(f"{text[:40]!r} is no decimal number")
        with self._gmpy2.context(self._context):
            found = self._gmpy2.mpfr(text, self._precision)
        if not self._gmpy2.is_finite(found) or (not found and re.search("[1-9]", re.split("[eE]", text)[0])):
            raise ValueError(f"{text[:40]!r} has too large an exponent")
        return _from_mpfr(found)

    def _read(self, number: Any, exponent: int) -> Dyadic:
        with self._gmpy2.context(self._context):
            found = _from_mpfr(self._gmpy2.mpfr(number, self._precision))
        return Dyadic(found.significand, found.exponent + exponent)


def extent(numbers: Sequence[Dyadic]) -> tuple[int, int]:
    """The largest exponent of which all numbers are multiples, and the bits of the longest in units of it."""
    lowest, highest = [], []
    for significand, exponent in numbers:
        if significand:
            lowest.append(exponent + (significand & -significand).bit_length() - 1)
            highest.append(exponent + significand.bit_length())
    if not lowest:
        return 0, 0
    return min(lowest), max(highest) - min(lowest)


def integers(numbers: Iterable[Dyadic], exponent: int) -> list[int]:
    """Each number in units of 2**exponent, which divide it."""
    found = []
    for significand, own in numbers:
        shift = own - exponent
        # a shift of zero may be past all bounds
        found.append((significand << shift if shift >= 0 else significand >> -shift) if significand else 0)
    return found
