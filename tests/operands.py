"""Operands for the product tests: random encodings of a given exponent spread, ties, cancellation.

It may know the oracle's formats and NumPy. Everything is drawn from a seeded generator, so a failure can be repeated.
"""

from typing import Any

import numpy as np

from tests.oracle import FORMATS, Format

ALL_FORMATS = tuple(FORMATS.values())


def whole_range(fmt: Format) -> int:
    """The largest exponent spread that the format has, in binades of its exponent field."""
    return fmt.exponent_fields - 1


def from_encodings(bits: Any, fmt: Format) -> Any:
    """A NumPy array of the format with these encodings."""
    return np.ascontiguousarray(np.asarray(bits, dtype=fmt.word)).view(fmt.dtype).reshape(np.shape(bits))


def floats(rng: Any, fmt: Format, shape: tuple[int, ...], spread: int, zeros: float = 0.05) -> Any:
    """Finite entries of either sign with exponent fields in a random window `spread` wide, and some zeros."""
    spread = min(spread, whole_range(fmt))
    lowest = int(rng.integers(0, whole_range(fmt) - spread + 1))
    field = rng.integers(lowest, lowest + spread + 1, size=shape)
    fraction = rng.integers(0, 1 << fmt.fraction_bits, size=shape)
    magnitude = np.minimum((field << fmt.fraction_bits) + fraction, fmt.largest)
    magnitude = np.where(rng.random(shape) < zeros, 0, magnitude).astype(np.uint64)
    negative = rng.random(shape) < 0.5
    if fmt.style == "fnuz":
        negative &= magnitude != 0
    return from_encodings(magnitude | (negative.astype(np.uint64) << np.uint64(fmt.bits - 1)), fmt)


def cancelling(rng: Any, fmt: Format, rows: int, depth: int, columns: int, spread: int) -> tuple[Any, Any]:
    """Operands whose products cancel to a short rest, exactly to zero in some entries."""
    a = floats(rng, fmt, (rows, depth), spread)
    b = floats(rng, fmt, (depth, columns), spread)
    minus_a = np.where(a == 0, a, -a)
    rest_a = floats(rng, fmt, (rows, 1), 0, zeros=0.5)
    rest_b = floats(rng, fmt, (1, columns), 0, zeros=0.5)
    order = rng.permutation(2 * depth + 1)
    return np.hstack([a, minus_a, rest_a])[:, order], np.vstack([b, b, rest_b])[order]


def near_ties(rng: Any, fmt: Format, count: int) -> tuple[Any, Any]:
    """Float64 operands whose products are values of `fmt`, plus half a step, plus a crumb, in the whole range.

    Each row is scaled by 2**40 or 2**-40 so that half a step of the smallest float64 is a float64 too; the columns
    undo one or the other.
    """
    field = rng.integers(0, fmt.exponent_fields, size=count)
    encoding = np.minimum(
        (field << fmt.fraction_bits) + rng.integers(0, 1 << fmt.fraction_bits, size=count), fmt.largest
    )
    value = from_encodings(encoding, fmt).astype(np.float64)
    scale = np.where(value < 2.0**900, 40, -40)
    sign = rng.choice([-1.0, 1.0], size=count)
    half_step = np.maximum(field, 1) - 2 + fmt.least_exponent
    half = rng.choice([-1.0, 0.0, 1.0], size=count) * np.ldexp(1.0, half_step + scale)
    crumb = rng.choice([-1.0, 0.0, 1.0], size=count) * 2.0**-1074
    rows = np.stack([sign * np.ldexp(value, scale), half, crumb], axis=1)
    return rows, np.array([[2.0**-40, 2.0**40]] * 3)


def integers(rng: Any, name: str, shape: tuple[int, ...]) -> Any:
    """Entries of an integer type over its whole range, the extremes often among them."""
    if name == "bool":
        return rng.random(shape) < 0.5
    info = np.iinfo(name)
    values = rng.integers(info.min, info.max, size=shape, dtype=name, endpoint=True)
    extremes = np.array([info.min, info.max, info.max - 1, info.min + 1, 0, 1], dtype=name)
    return np.where(rng.random(shape) < 0.4, rng.choice(extremes, size=shape), values).astype(name)


def big_integers(rng: Any, shape: tuple[int, ...], bits: int) -> Any:
    """An object array of Python integers of up to `bits` bits."""
    numbers = [
        (-1) ** int(rng.integers(2)) * (int.from_bytes(rng.bytes(bits // 8 + 1)) >> int(rng.integers(1, bits + 8)))
        for _ in range(int(np.prod(shape)))
    ]
    return np.array(numbers, dtype=object).reshape(shape)


def all_ties(fmt: Format) -> Any:
    """Every value of a narrow format and every middle of two neighbours, of either sign, as one float64 column."""
    values = [float(fmt.value(e)) for e in range(fmt.largest + 1)]
    beyond = 2 * values[-1] - values[-2]
    middles = [(x + y) / 2 for x, y in zip(values, [*values[1:], beyond], strict=True)]
    column = np.array([*values, *middles, beyond])
    return np.concatenate([column, -column]).reshape(-1, 1)


def operand(rng: Any, name: str, shape: tuple[int, ...], spread: int = 12) -> Any:
    """Random entries of a type given by its name; "int" stands for Python integers."""
    if name in FORMATS:
        return floats(rng, FORMATS[name], shape, spread)
    return big_integers(rng, shape, 90) if name == "int" else integers(rng, name, shape)
