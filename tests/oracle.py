"""The exact oracle of the product tests: Python integers and one power of two, written to be obviously right.

It may know NumPy and the names of the formats. It never imports exactla, so that the two cannot share a mistake.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

ROUNDINGS = ("nearest", "down", "up", "zero")


@dataclass(frozen=True)
class Format:
    """A binary floating-point format; `style` says what the top encodings mean.

    "ieee": the highest exponent field is infinity and NaN. "fn": only the highest encoding is NaN, no infinity.
    "fnuz": the encoding of -0 is the only NaN, no infinity.
    """

    name: str
    exponent_bits: int
    fraction_bits: int
    bias: int
    style: str = "ieee"

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def sign_bit(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def precision(self) -> int:
        return self.fraction_bits + 1

    @property
    def least_exponent(self) -> int:
        """The smallest positive value is 2**least_exponent."""
        return 1 - self.bias - self.fraction_bits

    @property
    def exponent_fields(self) -> int:
        """How many exponent fields hold finite values."""
        return (1 << self.exponent_bits) - (self.style == "ieee")

    @property
    def largest(self) -> int:
        """Encoding of the largest finite value."""
        if self.style == "ieee":
            return (self.exponent_fields << self.fraction_bits) - 1
        return self.sign_bit - (2 if self.style == "fn" else 1)

    @property
    def infinity(self) -> int | None:
        return self.largest + 1 if self.style == "ieee" else None

    @property
    def nan(self) -> int:
        if self.style == "ieee":
            return (self.largest + 1) | 1 << (self.fraction_bits - 1)
        return self.sign_bit - 1 if self.style == "fn" else self.sign_bit

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(getattr(ml_dtypes, self.name, self.name))

    @property
    def word(self) -> np.dtype[Any]:
        """The unsigned integers that hold the encodings."""
        return np.dtype(f"uint{self.bits}")

    def is_finite(self, encoding: int) -> bool:
        if self.style == "fnuz" and encoding == self.sign_bit:
            return False
        return encoding & (self.sign_bit - 1) <= self.largest

    def is_infinite(self, encoding: int) -> bool:
        return self.infinity is not None and encoding & (self.sign_bit - 1) == self.infinity

    def value(self, encoding: int) -> Fraction:
        """The value of a finite encoding, as the definition of the format has it."""
        assert self.is_finite(encoding)
        field, fraction = divmod(encoding & (self.sign_bit - 1), 1 << self.fraction_bits)
        significand = fraction + (1 << self.fraction_bits) * (field > 0)
        return (
            (-1 if encoding & self.sign_bit else 1)
            * significand
            * Fraction(2) ** (max(field, 1) - 1 + self.least_exponent)
        )

    def __str__(self) -> str:
        return self.name


FORMATS = {
    f.name: f
    for f in (
        Format("float16", 5, 10, 15),
        Format("bfloat16", 8, 7, 127),
        Format("float32", 8, 23, 127),
        Format("float64", 11, 52, 1023),
        Format("float8_e5m2", 5, 2, 15),
        Format("float8_e4m3", 4, 3, 7),
        Format("float8_e3m4", 3, 4, 3),
        Format("float8_e4m3fn", 4, 3, 7, "fn"),
        Format("float8_e4m3fnuz", 4, 3, 8, "fnuz"),
        Format("float8_e5m2fnuz", 5, 2, 16, "fnuz"),
        Format("float8_e4m3b11fnuz", 4, 3, 11, "fnuz"),
    )
}
INTEGER_NAMES = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
_PARTS = {np.dtype(np.complex64): np.float32, np.dtype(np.complex128): np.float64}


def format_of(dtype: Any) -> Format:
    """The format of a NumPy dtype's entries, or of the parts of a complex dtype's."""
    return FORMATS[np.dtype(_PARTS.get(np.dtype(dtype), dtype)).name]


def encode(number: int, exponent: int, fmt: Format, rounding: str) -> int:
    """The encoding of number * 2**exponent, rounded once."""
    if number == 0:
        return 0
    negative, magnitude = number < 0, abs(number)
    # 2**step separates neighbouring values of the format at this magnitude
    step = max(magnitude.bit_length() + exponent - fmt.precision, fmt.least_exponent)
    if step <= exponent:
        kept, rest, unit = magnitude << (exponent - step), 0, 1
    else:
        unit = 1 << (step - exponent)
        kept, rest = divmod(magnitude, unit)
    outward = {
        "nearest": 2 * rest > unit or (2 * rest == unit and kept % 2 == 1),
        "down": rest > 0 and negative,
        "up": rest > 0 and not negative,
        "zero": False,
    }[rounding]
    # encodings of one sign are consecutive: a carry out of the significand is the next exponent field
    encoding = ((step - fmt.least_exponent) << fmt.fraction_bits) + kept + outward
    if encoding > fmt.largest:
        overflows = {"nearest": True, "down": negative, "up": not negative, "zero": False}[rounding]
        if overflows and fmt.infinity is None:
            return fmt.nan
        encoding = (fmt.infinity or 0) if overflows else fmt.largest
    if fmt.style == "fnuz" and encoding == 0:
        return 0  # there is no -0 to keep the sign in
    return encoding | fmt.sign_bit * negative


class Exact(NamedTuple):
    """An array of exact values: numbers * 2**exponent, with `numbers` an object array of Python integers."""

    numbers: Any
    exponent: int = 0

    @property
    def T(self) -> "Exact":
        return Exact(np.swapaxes(self.numbers, -1, -2) if self.numbers.ndim > 1 else self.numbers, self.exponent)

    def __matmul__(self, other: "Exact") -> "Exact":
        return Exact(_objects(np.matmul(self.numbers, other.numbers)), self.exponent + other.exponent)

    def times(self, other: "Exact") -> "Exact":
        return Exact(_objects(self.numbers * other.numbers), self.exponent + other.exponent)

    def plus(self, other: "Exact") -> "Exact":
        x, y, exponent = _aligned(self, other)
        return Exact(_objects(x + y), exponent)

    def minus(self, other: "Exact") -> "Exact":
        return self.plus(Exact(_objects(-other.numbers), other.exponent))

    def least(self, other: "Exact") -> "Exact":
        x, y, exponent = _aligned(self, other)
        return Exact(_objects(np.minimum(x, y)), exponent)

    def most(self, other: "Exact") -> "Exact":
        x, y, exponent = _aligned(self, other)
        return Exact(_objects(np.maximum(x, y)), exponent)

    def each(self, function: Callable[[int], int]) -> "Exact":
        """A homogeneous function, applied to every number."""
        return Exact(_map(function, self.numbers), self.exponent)

    def sum(self, axis: int) -> "Exact":
        return Exact(_objects(np.add.reduce(self.numbers, axis=axis, initial=0)), self.exponent)

    def halved(self, times: int = 1) -> "Exact":
        return Exact(self.numbers, self.exponent - times)

    def rounded(self, fmt: Format, rounding: str) -> Any:
        """Encodings of every value, rounded once."""
        encodings = [encode(int(n), self.exponent, fmt, rounding) for n in self.numbers.flat]
        return np.array(encodings, dtype=fmt.word).reshape(self.numbers.shape)


def _objects(array: Any) -> Any:
    return np.asarray(array, dtype=object)


def _map(function: Callable[[int], int], numbers: Any) -> Any:
    return _shaped([function(int(n)) for n in numbers.flat], numbers.shape)


def _shaped(numbers: list[int], shape: tuple[int, ...]) -> Any:
    return np.array(numbers, dtype=object).reshape(shape)


def _aligned(x: Exact, y: Exact) -> tuple[Any, Any, int]:
    exponent = min(x.exponent, y.exponent)
    return (
        _objects(x.numbers * (1 << (x.exponent - exponent))),
        _objects(y.numbers * (1 << (y.exponent - exponent))),
        exponent,
    )


def encodings(array: Any) -> Any:
    """The bits of a float array as unsigned integers."""
    array = np.asarray(array)
    fmt = FORMATS[array.dtype.newbyteorder("=").name]
    native = array.astype(array.dtype.newbyteorder("="), order="C", copy=True)
    return native.view(fmt.word)


def exact(array: Any) -> Exact:
    """The values of a real array: integers, bool, Python integers, or finite floats read as bit patterns."""
    array = np.asarray(array)
    if array.dtype.kind in "iubO":
        return Exact(_map(int, _objects(array)))
    fmt = FORMATS[array.dtype.newbyteorder("=").name]
    bits = encodings(array)
    field = (bits >> np.uint8(fmt.fraction_bits)).astype(np.int64) & ((1 << fmt.exponent_bits) - 1)
    fraction = (bits & fmt.word.type((1 << fmt.fraction_bits) - 1)).astype(np.int64)
    significand = fraction + np.where(field > 0, 1 << fmt.fraction_bits, 0)
    signed = np.where(bits >> np.uint8(fmt.bits - 1), -significand, significand)
    place = np.maximum(field, 1) - 1
    lowest = int(place.min(initial=1 << 20, where=signed != 0)) if (signed != 0).any() else 0
    entries = zip(signed.ravel().tolist(), place.ravel().tolist(), strict=True)
    numbers = [n << (p - lowest) if n else 0 for n, p in entries]
    return Exact(_shaped(numbers, array.shape), lowest + fmt.least_exponent)


def parts(array: Any) -> tuple[Exact, Exact]:
    """Real and imaginary part."""
    array = np.asarray(array)
    if array.dtype.kind == "c":
        return exact(array.real), exact(array.imag)
    real = exact(array)
    return real, real.each(lambda _: 0)


def complex_product(a: Any, b: Any) -> tuple[Exact, Exact]:
    """Real and imaginary part of the exact product."""
    (a_re, a_im), (b_re, b_im) = parts(a), parts(b)
    return (a_re @ b_re).minus(a_im @ b_im), (a_re @ b_im).plus(a_im @ b_re)


# ---- interval products ---------------------------------------------------------------------------------------------


def _outer(x: Exact, y: Exact) -> Exact:
    """The products x[i, k] y[k, j] that a matrix product sums, as [..., i, k, j]."""
    return Exact(x.numbers[..., :, :, None], x.exponent).times(Exact(y.numbers[..., None, :, :], y.exponent))


def interval_hull(a: tuple[Exact, Exact], b: tuple[Exact, Exact]) -> tuple[Exact, Exact]:
    """The smallest and largest value of the product: each term is extreme at a pair of endpoints, independently."""
    corners = [_outer(x, y) for x in a for y in b]
    low, high = corners[0], corners[0]
    for corner in corners[1:]:
        low, high = low.least(corner), high.most(corner)
    return low.sum(-2), high.sum(-2)


def _centre_radius(x: tuple[Exact, Exact]) -> tuple[Exact, Exact]:
    """Twice the midpoint and twice the radius."""
    return x[1].plus(x[0]), x[1].minus(x[0])


def interval_rump(a: tuple[Exact, Exact], b: tuple[Exact, Exact]) -> tuple[Exact, Exact]:
    """Rump's bound: the midpoints' product, and |mA| rB + rA (|mB| + rB) around it."""
    (a_m, a_r), (b_m, b_r) = _centre_radius(a), _centre_radius(b)
    c = a_m @ b_m
    s = (a_m.each(abs) @ b_r).plus(a_r @ b_m.each(abs).plus(b_r))
    return c.minus(s).halved(2), c.plus(s).halved(2)


def interval_sharp(a: tuple[Exact, Exact], b: tuple[Exact, Exact]) -> tuple[Exact, Exact]:
    """The five-product form, term by term: rho = sign(m) min(|m|, r) in twice-midpoint, twice-radius units."""
    (a_m, a_r), (b_m, b_r) = _centre_radius(a), _centre_radius(b)

    def rho(m: Exact, r: Exact) -> Exact:
        sign = m.each(lambda n: (n > 0) - (n < 0))
        return Exact(sign.numbers, 0).times(m.each(abs).least(r))

    a_rho, b_rho = rho(a_m, a_r), rho(b_m, b_r)
    low, high = interval_rump(a, b)
    p = a_rho @ b_rho
    q = a_rho.each(abs) @ b_rho.each(abs)
    return low.plus(p.plus(q).halved(2)), high.plus(p.minus(q).halved(2))


INTERVAL_METHODS = {"rump": interval_rump, "sharp": interval_sharp, "hull": interval_hull}


# ---- NaN and infinity ----------------------------------------------------------------------------------------------


def _special(x: int, y: int, f: Format, g: Format) -> str | None:
    """The class of one term with a non-finite factor: "nan", "+inf", "-inf"; None for a finite term."""
    if f.is_finite(x) and g.is_finite(y):
        return None
    for value, fmt in ((x, f), (y, g)):
        if not fmt.is_finite(value) and not fmt.is_infinite(value):
            return "nan"
    zero = (f.is_finite(x) and f.value(x) == 0) or (g.is_finite(y) and g.value(y) == 0)
    if zero:
        return "nan"
    return "-inf" if bool(x & f.sign_bit) != bool(y & g.sign_bit) else "+inf"


def dot_special(x: Any, y: Any) -> str | None:
    """What IEEE 754 makes of a sum of products, in any order, when a factor is not finite."""
    f, g = format_of(x.dtype), format_of(y.dtype)
    classes = {_special(int(p), int(q), f, g) for p, q in zip(encodings(x), encodings(y), strict=True)} - {None}
    if "nan" in classes or len(classes) > 1:
        return "nan"
    return classes.pop() if classes else None


def is_finite(array: Any) -> Any:
    """Where the entries of a float array are finite, by their bits."""
    fmt, bits = format_of(array.dtype), encodings(array)
    magnitude = bits & fmt.word.type(fmt.sign_bit - 1)
    finite = magnitude <= fmt.largest
    return finite & (bits != fmt.nan) if fmt.style == "fnuz" else finite


def propagated(a: Any, b: Any, fmt: Format, rounding: str) -> Any:
    """Encodings of the product of two float matrices that may hold NaN and infinities."""
    finite = [np.where(is_finite(x), x, np.zeros((), x.dtype)) for x in (a, b)]
    result = (exact(finite[0]) @ exact(finite[1])).rounded(fmt, rounding)
    for i, j in np.ndindex(result.shape):
        special = dot_special(a[i], b[:, j])
        if special == "nan" or (special and fmt.infinity is None):
            result[i, j] = fmt.nan
        elif special:
            result[i, j] = (fmt.infinity or 0) | fmt.sign_bit * (special == "-inf")
    return result


# ---- comparing -----------------------------------------------------------------------------------------------------


def assert_bits(result: Any, expected: Any, fmt: Format) -> None:
    """Fail unless `result` is a NumPy array of `fmt` with exactly these encodings, the sign of zero included."""
    result = np.asarray(result)
    if result.dtype != fmt.dtype:
        raise AssertionError(f"dtype {result.dtype}, expected {fmt.dtype}")
    if result.shape != expected.shape:
        raise AssertionError(f"shape {result.shape}, expected {expected.shape}")
    bits = encodings(result)
    if (bits == expected).all():
        return
    index = tuple(int(i) for i in np.argwhere(bits != expected)[0])
    wrong = int(np.count_nonzero(bits != expected))
    digits = fmt.bits // 4
    raise AssertionError(
        f"{wrong} of {bits.size} entries differ; the first is {list(index)}: "
        f"{int(bits[index]):#0{digits + 2}x}, expected {int(expected[index]):#0{digits + 2}x} ({fmt})"
    )


def assert_product(result: Any, a: Any, b: Any, fmt: Format, rounding: str = "nearest") -> None:
    """Fail unless `result` is a @ b rounded once."""
    assert_bits(result, (exact(a) @ exact(b)).rounded(fmt, rounding), fmt)


def assert_enclosure(result: Any, a: Any, b: Any, fmt: Format) -> None:
    """Fail unless `result` is the tightest pair around a @ b."""
    assert_ends(result, (exact(a) @ exact(b),) * 2, fmt)


def assert_ends(result: Any, ends: tuple[Exact, Exact], fmt: Format) -> None:
    """Fail unless `result` is (ends[0] rounded down, ends[1] rounded up)."""
    assert_bits(result.lo, ends[0].rounded(fmt, "down"), fmt)
    assert_bits(result.hi, ends[1].rounded(fmt, "up"), fmt)


def assert_complex(result: Any, a: Any, b: Any, dtype: Any, rounding: str) -> None:
    """Fail unless both parts of `result` are those of a @ b, each rounded once."""
    result = np.asarray(result)
    if result.dtype != np.dtype(dtype):
        raise AssertionError(f"dtype {result.dtype}, expected {np.dtype(dtype)}")
    fmt = format_of(dtype)
    for part, value in zip((result.real, result.imag), complex_product(a, b), strict=True):
        assert_bits(part, value.rounded(fmt, rounding), fmt)


def same_bytes(x: Any, y: Any) -> None:
    """Fail unless two arrays have one dtype, one shape and the same bits."""
    x, y = np.asarray(x), np.asarray(y)
    assert x.dtype == y.dtype
    assert x.shape == y.shape
    assert x.tobytes() == y.tobytes()
