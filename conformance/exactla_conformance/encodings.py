"""Number formats as IEEE 754 describes them, and rounding by its definition, in integers and Fractions only.

This is the suite's own table: it shares nothing with `exactla.formats`, so that an error in either shows. It knows
neither NumPy nor exactla.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

ROUNDINGS = ("nearest", "down", "up", "zero")

NAN = 0
"""How a NaN is marked where +1 and -1 mark the infinities."""


def power_of_two(exponent: int) -> Fraction:
    """2**exponent."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def floor_log2(value: Fraction) -> int:
    """The integer e of 2**e <= value < 2**(e + 1), for a positive value."""
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if power_of_two(guess) <= value else guess - 1


@dataclass(frozen=True)
class Floating:
    """A binary format: the values n * 2**q with |n| < 2**precision, q >= least and magnitude up to the largest.

    The largest is given as (n, q). A format without infinity overflows to its NaN.
    """

    name: str
    bits: int
    precision: int
    least: int
    largest: tuple[int, int]
    nan: int
    infinity: bool = True
    signed_zero: bool = True

    @property
    def sign(self) -> int:
        """The encoding of the sign alone."""
        return 1 << (self.bits - 1)

    @property
    def normal(self) -> int:
        """The smallest normal significand, which is also the encoding of the smallest normal value."""
        return 1 << (self.precision - 1)

    @cached_property
    def largest_encoding(self) -> int:
        """The encoding of the largest finite value."""
        return self._encode(*self.largest)

    @cached_property
    def largest_value(self) -> Fraction:
        """The largest finite value."""
        return self.largest[0] * power_of_two(self.largest[1])

    def _encode(self, significand: int, quantum: int) -> int:
        # Each step of the quantum is one binade; a significand of 2**precision carries into the next binade by itself.
        return (quantum - self.least) * self.normal + significand

    def special(self, encoding: int) -> int | None:
        """None for a finite encoding, +1 or -1 for an infinity, `NAN` for a NaN."""
        magnitude = encoding % self.sign
        if encoding == self.sign and not self.signed_zero:
            return NAN
        if magnitude <= self.largest_encoding:
            return None
        if self.infinity and magnitude == self.largest_encoding + 1:
            return -1 if encoding >= self.sign else 1
        return NAN

    def decode(self, encoding: int) -> tuple[int, int]:
        """(n, q) of a finite encoding, whose value is n * 2**q; zero of either sign has n = 0."""
        negative, magnitude = divmod(encoding, self.sign)
        binade, fraction = divmod(magnitude, self.normal)
        significand = fraction + self.normal if binade else fraction
        return (-significand if negative else significand), self.least + max(binade - 1, 0)

    def encode(self, significand: int, quantum: int) -> int:
        """The encoding of significand * 2**quantum, which must be a value of the format."""
        value = significand * power_of_two(quantum)
        if not self.represents(value):
            raise ValueError(f"{significand} * 2**{quantum} is no value of {self.name}")
        return self.round(value, "nearest")

    def infinite(self, sign: int) -> int:
        """The encoding of an infinity of the sign of `sign`, of the NaN where the format has no infinity."""
        return self.largest_encoding + 1 + (self.sign if sign < 0 else 0) if self.infinity else self.nan

    def canonical(self, encodings: Sequence[int]) -> list[int]:
        """The encodings, every NaN replaced by the one canonical NaN."""
        sign, largest = self.sign, self.largest_encoding
        suspects = {e for e in encodings if largest < e <= sign or e > sign + largest}
        nans = {e for e in suspects if self.special(e) == NAN}
        return [self.nan if e in nans else e for e in encodings] if nans else list(encodings)

    def round(self, value: Fraction, rounding: str) -> int:
        """The encoding of the value rounded once, as IEEE 754 section 4.3 defines each direction."""
        if value == 0:
            return 0
        magnitude = abs(value)
        away = rounding == ("down" if value < 0 else "up")
        quantum = max(floor_log2(magnitude) - self.precision + 1, self.least)
        steps = magnitude / power_of_two(quantum)
        significand = steps.numerator // steps.denominator
        rest = steps - significand
        half = Fraction(1, 2)
        nearer_above = rest > half or (rest == half and significand % 2 == 1)
        if (away and rest > 0) or (rounding == "nearest" and nearer_above):
            significand += 1
        if significand * power_of_two(quantum) > self.largest_value:
            if away or rounding == "nearest":
                return self.infinite(-1 if value < 0 else 1)
            significand, quantum = self.largest
        encoding = self._encode(significand, quantum)
        return encoding + self.sign if value < 0 and (encoding or self.signed_zero) else encoding

    def extremes(self) -> tuple[Fraction, ...]:
        """Values that another format must represent to represent every finite value of this one."""
        return self.largest_value, (2 * self.normal - 1) * power_of_two(self.least), power_of_two(self.least)

    def represents(self, value: Fraction) -> bool:
        """Whether a value belongs to the format."""
        return self.round(value, "down") == self.round(value, "up") and abs(value) <= self.largest_value


@dataclass(frozen=True)
class Integer:
    """Integers from `minimum` to `maximum`; None where there is no limit. An entry stands for itself."""

    name: str
    minimum: int | None
    maximum: int | None
    bits: int = 0

    def extremes(self) -> tuple[Fraction, ...]:
        """As for `Floating`; integers without limit need more than any format has."""
        if self.minimum is None or self.maximum is None:
            return (Fraction(1 << 100_000),)
        return Fraction(self.minimum), Fraction(self.maximum)

    def limits(self, distance: int) -> tuple[int, int]:
        """The least and the largest integer of the format no further than a distance from zero."""
        first = -distance if self.minimum is None else max(self.minimum, -distance)
        last = distance if self.maximum is None else min(self.maximum, distance)
        return first, last


Format = Floating | Integer

FLOATS: dict[str, Floating] = {
    f.name: f
    for f in (
        Floating("float64", 64, 53, -1074, ((1 << 53) - 1, 971), 0x7FF8_0000_0000_0000),
        Floating("float32", 32, 24, -149, ((1 << 24) - 1, 104), 0x7FC0_0000),
        Floating("float16", 16, 11, -24, ((1 << 11) - 1, 5), 0x7E00),
        Floating("bfloat16", 16, 8, -133, ((1 << 8) - 1, 120), 0x7FC0),
        Floating("float8_e5m2", 8, 3, -16, (7, 13), 0x7E),
        Floating("float8_e4m3", 8, 4, -9, (15, 4), 0x7C),
        Floating("float8_e3m4", 8, 5, -6, (31, -1), 0x78),
        Floating("float8_e4m3fn", 8, 4, -9, (14, 5), 0x7F, infinity=False),
        Floating("float8_e4m3fnuz", 8, 4, -10, (15, 4), 0x80, infinity=False, signed_zero=False),
        Floating("float8_e5m2fnuz", 8, 3, -17, (7, 13), 0x80, infinity=False, signed_zero=False),
        Floating("float8_e4m3b11fnuz", 8, 4, -13, (15, 1), 0x80, infinity=False, signed_zero=False),
    )
}
INTEGERS: dict[str, Integer] = {
    "bool": Integer("bool", 0, 1, 8),
    **{f"int{bits}": Integer(f"int{bits}", -(1 << bits - 1), (1 << bits - 1) - 1, bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": Integer(f"uint{bits}", 0, (1 << bits) - 1, bits) for bits in (8, 16, 32, 64)},
    "int": Integer("int", None, None),
}
COMPLEX: dict[str, str] = {"complex64": "float32", "complex128": "float64"}
"""Complex formats and the format of their parts."""


def part_format(name: str) -> Format:
    """The format of an entry, or of each part of a complex one."""
    name = COMPLEX.get(name, name)
    return FLOATS[name] if name in FLOATS else INTEGERS[name]


@dataclass(frozen=True)
class Encoded:
    """An array as its format's name, its shape and its encodings in C order (a complex entry is real, imaginary).

    `layout` says how an array in memory holds it; it changes no value.
    """

    format: str
    shape: tuple[int, ...]
    entries: Sequence[int]
    layout: str = "C"

    def index(self, position: int) -> tuple[int, ...]:
        """The index of the entry that an encoding belongs to."""
        position //= 2 if self.format in COMPLEX else 1
        index: list[int] = []
        for length in reversed(self.shape):
            position, i = divmod(position, length)
            index.insert(0, i)
        return tuple(index)

    def describe(self, position: int) -> str:
        """An encoding in hexadecimal, and its value."""
        entry, format = self.entries[position], part_format(self.format)
        if isinstance(format, Integer):
            return str(entry)
        mark = format.special(entry)
        significand, quantum = format.decode(entry)
        value = f"{significand} * 2**{quantum}" if mark is None else ("NaN", "infinity", "-infinity")[mark]
        return f"{entry:#0{format.bits // 4 + 2}x} ({value})"


def common_format(names: Sequence[str]) -> str:
    """The result format of a product where none is asked for.

    The narrowest format that represents every value of every operand: one of the operands' own, or of float16,
    bfloat16, float32 and float64; float64 where none does or where all are integers.
    """
    parts = {COMPLEX.get(name, name) for name in names}
    common = _common_real(parts)
    if any(name in COMPLEX for name in names):
        return "complex64" if common == "float32" else "complex128"
    return common


def _common_real(names: set[str]) -> str:
    own = sorted((FLOATS[name] for name in names if name in FLOATS), key=lambda f: (f.bits, f.precision))
    if not own:
        return "float64"
    values = [value for name in names for value in part_format(name).extremes()]
    for candidate in [*own, *(FLOATS[name] for name in ("float16", "bfloat16", "float32"))]:
        if all(candidate.represents(value) for value in values):
            return candidate.name
    return "float64"
