"""Number formats: how the bits of an entry stand for an exact value.

A `FloatFormat` covers IEEE 754 and the 8- and 16-bit formats of machine learning; an `IntegerFormat` covers the
fixed-width integers and `bool`; `BIGINT` stands for Python integers of any size. Nothing here touches an array.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format of `1 + exponent_bits + fraction_bits` bits.

    A finite encoding with exponent field ``f``, fraction field ``t`` and sign ``s`` has the value
    ``(-1)**s * (t + (2**fraction_bits if f else 0)) * 2**(max(f, 1) - bias - fraction_bits)``.

    `largest` is the encoding of the largest finite value. `infinity` is the encoding of +infinity, or None where
    the format has none; encodings of magnitude above `largest` and other than `infinity` are NaN, and `nan` is the
    canonical one. Where `signed_zero` is False the encoding of -0 is NaN instead.
    """

    name: str
    exponent_bits: int
    fraction_bits: int
    bias: int
    largest: int
    infinity: int | None
    nan: int
    signed_zero: bool = True

    def __hash__(self) -> int:
        return hash(self.name)  # formats are looked up in each call

    @property
    def bits(self) -> int:
        """Width of an encoding in bits."""
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def precision(self) -> int:
        """Bits of a normal significand, the leading one included."""
        return self.fraction_bits + 1

    @property
    def least_exponent(self) -> int:
        """The exponent of the smallest positive value, 2**least_exponent."""
        return 1 - self.bias - self.fraction_bits

    def is_finite(self, encoding: int) -> bool:
        """Whether an encoding stands for a number."""
        magnitude = encoding & ((1 << (self.bits - 1)) - 1)
        if not self.signed_zero and encoding == 1 << (self.bits - 1):
            return False
        return magnitude <= self.largest

    def value(self, encoding: int) -> Fraction:
        """The exact value of a finite encoding (-0 gives 0)."""
        if not self.is_finite(encoding):
            raise ValueError(f"{self.name} encoding {encoding:#x} is not finite")
        field = (encoding >> self.fraction_bits) & ((1 << self.exponent_bits) - 1)
        fraction = encoding & ((1 << self.fraction_bits) - 1)
        significand = fraction + ((1 << self.fraction_bits) if field else 0)
        sign = -1 if encoding >> (self.bits - 1) else 1
        return sign * significand * Fraction(2) ** (max(field, 1) - self.bias - self.fraction_bits)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class IntegerFormat:
    """Fixed-width integers; `bool` is unsigned of one bit, stored in eight."""

    name: str
    bits: int
    signed: bool

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class BigIntegerFormat:
    """Python integers of any size."""

    name: str = "int"

    def __str__(self) -> str:
        return self.name


Format = FloatFormat | IntegerFormat | BigIntegerFormat


def _ieee(name: str, exponent_bits: int, fraction_bits: int) -> FloatFormat:
    infinity = ((1 << exponent_bits) - 1) << fraction_bits
    quiet = infinity | 1 << (fraction_bits - 1)
    return FloatFormat(
        name, exponent_bits, fraction_bits, (1 << (exponent_bits - 1)) - 1, infinity - 1, infinity, quiet
    )


FLOAT16 = _ieee("float16", 5, 10)
BFLOAT16 = _ieee("bfloat16", 8, 7)
FLOAT32 = _ieee("float32", 8, 23)
FLOAT64 = _ieee("float64", 11, 52)
FLOAT8_E5M2 = _ieee("float8_e5m2", 5, 2)
FLOAT8_E4M3 = _ieee("float8_e4m3", 4, 3)
FLOAT8_E3M4 = _ieee("float8_e3m4", 3, 4)
FLOAT8_E4M3FN = FloatFormat("float8_e4m3fn", 4, 3, 7, 0x7E, None, 0x7F)
FLOAT8_E4M3FNUZ = FloatFormat("float8_e4m3fnuz", 4, 3, 8, 0x7F, None, 0x80, signed_zero=False)
FLOAT8_E5M2FNUZ = FloatFormat("float8_e5m2fnuz", 5, 2, 16, 0x7F, None, 0x80, signed_zero=False)
FLOAT8_E4M3B11FNUZ = FloatFormat("float8_e4m3b11fnuz", 4, 3, 11, 0x7F, None, 0x80, signed_zero=False)

FLOAT_FORMATS: dict[str, FloatFormat] = {
    f.name: f
    for f in (
        FLOAT16,
        BFLOAT16,
        FLOAT32,
        FLOAT64,
        FLOAT8_E5M2,
        FLOAT8_E4M3,
        FLOAT8_E3M4,
        FLOAT8_E4M3FN,
        FLOAT8_E4M3FNUZ,
        FLOAT8_E5M2FNUZ,
        FLOAT8_E4M3B11FNUZ,
    )
}
BOOL = IntegerFormat("bool", 1, False)
INT64 = IntegerFormat("int64", 64, True)
INTEGER_FORMATS: dict[str, IntegerFormat] = {"bool": BOOL} | {
    f"{'' if signed else 'u'}int{bits}": IntegerFormat(f"{'' if signed else 'u'}int{bits}", bits, signed)
    for signed in (True, False)
    for bits in (8, 16, 32, 64)
}
BIGINT = BigIntegerFormat()

# The formats that a common type is looked for in, the narrowest first.
_COMMON = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)


def holds(wide: FloatFormat, narrow: Format) -> bool:
    """Whether every finite value of `narrow` is a value of `wide`."""
    if isinstance(narrow, BigIntegerFormat):
        return False
    if isinstance(narrow, IntegerFormat):
        magnitude = narrow.bits - narrow.signed
        # the most negative integer is a power of two: it needs range, not precision
        return wide.precision >= magnitude and wide.value(wide.largest) >= 1 << magnitude
    return (
        wide.precision >= narrow.precision
        and wide.least_exponent <= narrow.least_exponent
        and wide.value(wide.largest) >= narrow.value(narrow.largest)
    )


@lru_cache(maxsize=256)
def common_format(*formats: Format) -> FloatFormat:
    """The result format of mixed operands: the narrowest that holds every value of each, float64 where none does.

    Equal float formats give themselves; integers alone give float64. The rule is the same for every array library
    (docs/decisions/0003-common-type.md).
    """
    floats = {f for f in formats if isinstance(f, FloatFormat)}
    if not floats:
        return FLOAT64
    if len(set(formats)) == 1:
        return floats.pop()
    for candidate in (*sorted(floats, key=lambda f: (f.bits, f.precision)), *_COMMON):
        if all(holds(candidate, f) for f in formats):
            return candidate
    return FLOAT64
