"""Entries and integers for the kernel tests, with what they are worth in Python integers."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.core.moduli import ResidueBase, residue_base
from exactla.formats import FloatFormat, Format, IntegerFormat

Array = NDArray[Any]


def extreme_encodings(format: FloatFormat) -> list[int]:
    """Zeros, subnormals, powers of two, the largest value, infinities and NaN, of both signs."""
    sign = 1 << (format.bits - 1)
    one = 1 << format.fraction_bits
    magnitudes = [0, 1, 2, one - 1, one, one + 1, format.bias * one, format.largest - 1, format.largest, format.nan]
    magnitudes += [format.largest + 1] if format.largest + 1 < sign else []
    return sorted({*magnitudes, *(m | sign for m in magnitudes)})


def random_encodings(
    rng: np.random.Generator,
    format: FloatFormat,
    shape: tuple[int, ...],
    spread: int | None = None,
    lowest: int | None = None,
) -> Array:
    """Encodings of any kind, a few of them extreme; with a spread, finite ones of so many binades from `lowest`."""
    word = f"u{format.bits // 8}"
    if spread is None:
        found: Array = rng.integers(0, 1 << (format.bits - 1), shape, np.uint64) * 2 + rng.integers(
            0, 2, shape, np.uint64
        )
        extreme = np.array(extreme_encodings(format), np.uint64)
        return np.where(rng.random(shape) < 0.2, rng.choice(extreme, shape), found).astype(word)
    if lowest is None:
        lowest = int(rng.integers(0, (format.largest >> format.fraction_bits) - spread + 1))
    field = rng.integers(lowest, lowest + spread + 1, shape)
    magnitude = np.minimum(
        (field << format.fraction_bits) + rng.integers(0, 1 << format.fraction_bits, shape), format.largest
    )
    magnitude = np.where(rng.random(shape) < 0.1, 0, magnitude).astype(np.uint64)
    negative = (rng.random(shape) < 0.5) & (format.signed_zero | (magnitude != 0))
    encodings: Array = magnitude | negative.astype(np.uint64) << np.uint64(format.bits - 1)
    return encodings.astype(word)


def random_integers(rng: np.random.Generator, format: IntegerFormat, shape: tuple[int, ...]) -> Array:
    """Integers of any size, a few of them extreme, as unsigned words."""
    octets = max(format.bits // 8, 1)
    bits = rng.integers(0, format.bits + 1, shape).astype(np.uint64)
    raw = rng.integers(0, 1 << 63, shape, np.uint64) * 2 + rng.integers(0, 2, shape, np.uint64)
    small = np.where(bits == 0, 0, raw >> (np.uint64(64) - np.maximum(bits, np.uint64(1))))
    edges = np.array([0, 1, (1 << format.bits) - 1, 1 << (format.bits - 1)], np.uint64)
    found = np.where(rng.random(shape) < 0.1, rng.choice(edges, shape), small)
    if format.signed:
        found = np.where(rng.random(shape) < 0.5, found, np.uint64(0) - found)
    return (found & np.uint64((1 << 8 * octets) - 1 if octets < 8 else 0xFFFFFFFFFFFFFFFF)).astype(f"u{octets}")


def values(x: Array, format: Format) -> Array:
    """The exact values of encodings, as Fractions; 0 for an entry that is not finite."""
    found = np.empty(x.shape, object)
    for index, encoding in np.ndenumerate(x):
        found[index] = _value(int(encoding), format)
    return found


def _value(encoding: int, format: Format) -> Fraction:
    if isinstance(format, FloatFormat):
        return format.value(encoding) if format.is_finite(encoding) else Fraction(0)
    if isinstance(format, IntegerFormat) and format.signed and encoding >> (format.bits - 1):
        return Fraction(encoding - (1 << format.bits))
    return Fraction(encoding)


def scaled(x: Array, exponents: Iterable[int]) -> Array:
    """floor(x[r, k] / 2**exponents[r]) as Python integers."""
    found = np.empty(x.shape, object)
    for r, e in enumerate(exponents):
        for k in range(x.shape[1]):
            found[r, k] = (x[r, k] / Fraction(2) ** int(e)).__floor__()
    return found


def limbs_of(numbers: Array, count: int) -> Array:
    """Two's complement limbs [count, *shape] of Python integers."""
    text = b"".join(int(n).to_bytes(4 * count, "little", signed=True) for n in numbers.flat)
    flat = np.frombuffer(text, "<u4").reshape(numbers.size, count).astype(np.uint32)
    return np.ascontiguousarray(flat.T).reshape(count, *numbers.shape)


def wide_integers(rng: np.random.Generator, limit: int, shape: tuple[int, ...]) -> Array:
    """Python integers of every length up to `limit` in magnitude, the ends and powers of two among them."""
    count = int(np.prod(shape))
    ends = [0, 1, -1, limit, -limit, limit - 1, 1 - limit, limit // 2 + 1, -1 << 31, 1 << 32, (1 << 64) - 1]
    ends = [n for n in ends if abs(n) <= limit]
    found: list[int] = []
    for i in range(count):
        bits = int(rng.integers(0, max(limit.bit_length(), 1)))
        n = int.from_bytes(rng.bytes(bits // 8 + 1), "little") & ((1 << bits) - 1)
        if rng.random() < 0.3:
            n &= -1 << int(rng.integers(0, bits + 1))  # trailing zeros
        found.append(ends[i] if i < len(ends) else (-n if rng.random() < 0.5 else n))
    return np.array([*found, None], object)[:-1].reshape(shape)


def centred_residues(numbers: Array, base: ResidueBase, octets: int) -> Array:
    """Residues [P, *shape] in [-floor(m / 2), ceil(m / 2))."""
    rows = [[(int(n) + (m >> 1)) % m - (m >> 1) for n in numbers.flat] for m in base.moduli]
    return np.array(rows, f"i{octets}").reshape(len(base.moduli), *numbers.shape)


def assert_congruent(planes: Array, numbers: Array, base: ResidueBase, *, digits: bool) -> None:
    """Planes of residues, or of high and low digits, are congruent to the integers and centred."""
    for p, m in enumerate(base.moduli):
        found = planes[p].astype(np.int64)
        reach = m >> 1
        if digits:
            found = 256 * planes[2 * p].astype(np.int64) + planes[2 * p + 1]
            reach = max(reach, m - 1 - (127 * 256 + 127))
        expected = np.array([(int(n) + reach) % m - reach for n in numbers.flat], np.int64).reshape(numbers.shape)
        np.testing.assert_array_equal(found, expected, err_msg=f"modulus {m}")


def base_for(limit: int, bits: int) -> ResidueBase:
    """The shortest base of moduli up to `limit` for integers of so many bits."""
    base = residue_base(limit, bits)
    if base is None:
        raise ValueError(f"moduli up to {limit} do not hold {bits} bits")
    return base


def bases(octets: int) -> Sequence[ResidueBase]:
    """Bases of one modulus, of few, of the usual number and of the most."""
    if octets == 1:
        return [ResidueBase((3,)), *(base_for(256, bits) for bits in (4, 20, 60, 166, 240, 350))]
    return [ResidueBase((65521, 65519)), ResidueBase((3, 5)), *(base_for(1 << 16, bits) for bits in (30, 500, 4300))]
