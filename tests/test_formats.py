"""Formats against ml_dtypes, value by value, and the rule for the common format of mixed operands."""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from exactla.formats import (
    BFLOAT16,
    BIGINT,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FLOAT_FORMATS,
    INT64,
    INTEGER_FORMATS,
    common_format,
    holds,
)

FLOATS: list[Any] = list(FLOAT_FORMATS.values())
NARROW = [f for f in FLOATS if f.bits <= 16]
EIGHT = [f for f in FLOATS if f.bits == 8]
INTEGERS: list[Any] = list(INTEGER_FORMATS.values())


def dtype(format):
    return np.dtype(getattr(ml_dtypes, format.name, format.name))


def numbers(format, encodings):
    """Values of encodings as float64, by the library that defines the format."""
    with np.errstate(invalid="ignore"):
        return np.array(encodings, f"u{format.bits // 8}").view(dtype(format)).astype(np.float64)


@pytest.mark.parametrize("format", NARROW, ids=str)
def test_every_encoding_of_a_narrow_format(format):
    values = numbers(format, range(1 << format.bits))
    for encoding, value in enumerate(values.tolist()):
        assert format.is_finite(encoding) == np.isfinite(value)
        if np.isfinite(value):
            assert format.value(encoding) == Fraction(value)
        else:
            with pytest.raises(ValueError, match=f"{format.name} encoding {encoding:#x} is not finite"):
                format.value(encoding)
    assert Fraction(values[format.largest]) == max(Fraction(v) for v in values[np.isfinite(values)].tolist())


@pytest.mark.parametrize("format", [FLOAT32, FLOAT64], ids=str)
def test_the_ends_of_a_wide_format(format):
    low = [0, 1, (1 << format.fraction_bits) - 1, 1 << format.fraction_bits, format.largest, 0x3F800000]
    encodings = low + [e | 1 << (format.bits - 1) for e in low]
    for encoding, value in zip(encodings, numbers(format, encodings).tolist(), strict=True):
        assert format.value(encoding) == Fraction(value)
    assert format.value(format.largest) == Fraction(float(np.finfo(dtype(format)).max))
    assert not format.is_finite(format.largest + 1)


@pytest.mark.parametrize("format", FLOATS, ids=str)
def test_infinity_and_nan(format):
    assert np.isnan(numbers(format, [format.nan])[0])
    assert not format.is_finite(format.nan)
    if format.infinity is None:
        assert not np.isinf(numbers(format, range(1 << format.bits))).any()
    else:
        assert numbers(format, [format.infinity])[0] == np.inf
        assert format.infinity == format.largest + 1


@pytest.mark.parametrize("format", FLOATS, ids=str)
def test_sizes(format):
    info = ml_dtypes.finfo(dtype(format))
    assert format.bits == 8 * dtype(format).itemsize
    assert format.precision == info.nmant + 1
    assert Fraction(2) ** format.least_exponent == format.value(1) == Fraction(float(info.smallest_subnormal))
    assert format.signed_zero == (not format.name.endswith("fnuz"))
    assert format.is_finite(1 << (format.bits - 1)) == format.signed_zero
    assert str(format) == format.name == dtype(format).name


def test_encodings_follow_the_order_of_their_values():
    for format in EIGHT:
        values = [format.value(e) for e in range(format.largest + 1)]
        assert values == sorted(set(values))


@pytest.mark.parametrize("format", INTEGERS, ids=str)
def test_integer_formats(format):
    if format.name == "bool":
        assert (format.bits, format.signed) == (1, False)
    else:
        assert format.bits == 8 * np.dtype(format.name).itemsize
        assert format.signed == (np.dtype(format.name).kind == "i")
    assert str(format) == format.name


def test_names_are_unique():
    assert len({*FLOAT_FORMATS, *INTEGER_FORMATS, BIGINT.name}) == len(FLOAT_FORMATS) + len(INTEGER_FORMATS) + 1
    assert len(INTEGER_FORMATS) == 9
    assert len(FLOAT_FORMATS) == 11


# ---- the common format ---------------------------------------------------------------------------------------------


def values_of(format):
    """Finite values of a format, all of them where it is narrow, else those that decide."""
    if format in INTEGERS:
        top = (1 << (format.bits - format.signed)) - 1
        return {0, 1, top, top - 1, top // 2 + 1, *((-top - 1,) if format.signed else ())}
    if format.bits == 8:
        return {format.value(e) for e in range(1 << format.bits) if format.is_finite(e)}
    field = format.largest >> format.fraction_bits
    ones = (1 << format.fraction_bits) - 1
    encodings = [0, 1, ones, ones + 1, format.largest, *((f << format.fraction_bits) | ones for f in (1, field - 1))]
    return {format.value(e) for e in encodings}


def is_value_of(number, format):
    """Whether a number is a value of a format, from the definition."""
    number = abs(Fraction(number))
    if number == 0:
        return True
    if number > format.value(format.largest):
        return False
    low = number.numerator & -number.numerator
    lowest = low.bit_length() - number.denominator.bit_length()
    width = (number / Fraction(2) ** lowest).numerator.bit_length()
    return lowest >= format.least_exponent and width <= format.precision


@pytest.mark.parametrize("wide", FLOATS, ids=str)
def test_holds(wide):
    for narrow in [*FLOATS, *INTEGERS]:
        assert holds(wide, narrow) == all(is_value_of(v, wide) for v in values_of(narrow)), narrow
    assert not holds(wide, BIGINT)


@pytest.mark.parametrize("format", FLOATS, ids=str)
def test_equal_formats_give_themselves(format):
    assert common_format(format) == common_format(format, format, format) == format


@pytest.mark.parametrize("format", [*INTEGERS, BIGINT], ids=str)
def test_integers_alone_give_float64(format):
    assert common_format(format) == common_format(format, format) == common_format(format, BOOL) == FLOAT64


@pytest.mark.parametrize("formats", list(combinations(FLOATS, 2)), ids=lambda f: "-".join(map(str, f)))
def test_the_narrowest_format_that_holds_two(formats):
    found = common_format(*formats)
    assert found == common_format(*reversed(formats))
    assert all(holds(found, f) for f in formats)
    narrower = [f for f in (*formats, FLOAT16, BFLOAT16, FLOAT32) if f.bits < found.bits]
    assert not any(holds(f, formats[0]) and holds(f, formats[1]) for f in narrower)


def test_the_order_of_three_does_not_matter():
    for formats in combinations_with_replacement([*FLOATS, INT64, INTEGER_FORMATS["int8"], BOOL], 3):
        assert len({common_format(*p) for p in (formats, formats[::-1], formats[1:] + formats[:1])}) == 1


@pytest.mark.parametrize(
    ("formats", "expected"),
    [
        ((FLOAT16, BFLOAT16), "float32"),
        ((FLOAT32, FLOAT64), "float64"),
        ((FLOAT_FORMATS["float8_e4m3fn"], FLOAT_FORMATS["float8_e5m2"]), "float16"),
        ((FLOAT_FORMATS["float8_e5m2"], FLOAT16), "float16"),
        ((FLOAT32, BOOL), "float32"),
        ((FLOAT16, INTEGER_FORMATS["int8"]), "float16"),
        ((FLOAT16, INTEGER_FORMATS["int16"]), "float32"),
        ((FLOAT32, INTEGER_FORMATS["int32"]), "float64"),
        ((FLOAT32, INT64), "float64"),
        ((FLOAT32, BIGINT), "float64"),
    ],
    ids=str,
)
def test_mixed_formats(formats, expected):
    assert common_format(*formats).name == expected


def test_int_min_needs_range_and_not_precision():
    # -128 has one bit, 127 has seven
    int8 = INTEGER_FORMATS["int8"]
    assert not holds(FLOAT_FORMATS["float8_e4m3"], int8)
    assert holds(BFLOAT16, int8)
    assert not holds(BFLOAT16, INTEGER_FORMATS["int16"])
    for format, integer in product(FLOATS, INTEGERS):
        if holds(format, integer):
            assert is_value_of(-(1 << (integer.bits - 1)) if integer.signed else 0, format)
