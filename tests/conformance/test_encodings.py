"""The suite's formats against NumPy's, and its rounding against the definition and against facts worked out by hand."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from exactla_conformance.encodings import (
    FLOATS,
    INTEGERS,
    NAN,
    ROUNDINGS,
    Encoded,
    common_format,
    floor_log2,
    power_of_two,
)

SMALL = [name for name, f in FLOATS.items() if f.bits <= 16]


def numpy_dtype(name):
    return np.dtype(name) if hasattr(np, name) else np.dtype(getattr(ml_dtypes, name))


def value(f, encoding):
    significand, quantum = f.decode(encoding)
    return significand * power_of_two(quantum)


@pytest.mark.parametrize("name", SMALL)
def test_every_encoding_has_numpys_value(name):
    f = FLOATS[name]
    encodings = np.arange(1 << f.bits, dtype=np.uint32).astype(f"u{f.bits // 8}")
    with np.errstate(invalid="ignore"):
        values = encodings.view(numpy_dtype(name)).astype(np.float64)
    for encoding, expected in enumerate(values.tolist()):
        mark = f.special(encoding)
        if np.isnan(expected):
            assert mark == NAN
        elif np.isinf(expected):
            assert mark == np.sign(expected)
        else:
            assert mark is None
            assert value(f, encoding) == Fraction(expected)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_wide_formats_have_numpys_limits(name):
    f, info = FLOATS[name], np.finfo(name)
    assert f.largest_value == Fraction(float(info.max))
    assert value(f, 1) == Fraction(float(info.smallest_subnormal))
    assert value(f, f.normal) == Fraction(float(info.smallest_normal))
    assert f.encode(1, 0) == np.ones((), name).view(f"u{f.bits // 8}")
    assert f.infinite(-1) == np.array(-np.inf, name).view(f"u{f.bits // 8}")
    assert f.special(f.nan) == NAN
    assert f.special(f.largest_encoding) is None


@pytest.mark.parametrize("name", FLOATS)
def test_values_round_to_themselves(name):
    f = FLOATS[name]
    step = max(1, f.largest_encoding // 2000)
    for magnitude in range(0, f.largest_encoding + 1, step):
        for encoding in (magnitude, magnitude + f.sign):
            if f.special(encoding) is None and encoding != f.sign:
                assert [f.round(value(f, encoding), r) for r in ROUNDINGS] == [encoding] * 4


@pytest.mark.parametrize("name", FLOATS)
def test_a_value_between_neighbours_goes_where_it_should(name):
    f = FLOATS[name]
    step = max(1, f.largest_encoding // 500)
    for below in range(0, f.largest_encoding, step):
        low, high = value(f, below), value(f, below + 1)
        for part in (Fraction(1, 10**40), Fraction(1, 2), 1 - Fraction(1, 10**40)):
            x = low + part * (high - low)
            near = below + (part > Fraction(1, 2) or (part == Fraction(1, 2) and below % 2))
            expected = {"nearest": near, "down": below, "up": below + 1, "zero": below}
            assert {r: f.round(x, r) for r in ROUNDINGS} == expected
            mirrored = {"nearest": near, "down": below + 1, "up": below, "zero": below}
            negative = {r: e + f.sign if e or f.signed_zero else 0 for r, e in mirrored.items()}
            assert {r: f.round(-x, r) for r in ROUNDINGS} == negative


@pytest.mark.parametrize(
    ("name", "x", "nearest", "down", "up"),
    [
        ("float16", Fraction(65519), 0x7BFF, 0x7BFF, 0x7C00),
        ("float16", Fraction(65520), 0x7C00, 0x7BFF, 0x7C00),
        ("float16", Fraction(-65520), 0xFC00, 0xFC00, 0xFBFF),
        ("float16", Fraction(1, 1 << 25), 0x0000, 0x0000, 0x0001),
        ("float16", Fraction(-1, 1 << 30), 0x8000, 0x8001, 0x8000),
        ("float64", Fraction((1 << 53) + 1), 0x4340000000000000, 0x4340000000000000, 0x4340000000000001),
        ("float64", Fraction((1 << 53) + 3), 0x4340000000000002, 0x4340000000000001, 0x4340000000000002),
        ("float8_e4m3fn", Fraction(464), 0x7E, 0x7E, 0x7F),  # a tie to the even largest value
        ("float8_e4m3fn", Fraction(465), 0x7F, 0x7E, 0x7F),
        ("float8_e4m3fn", Fraction(-465), 0x7F, 0x7F, 0xFE),
        ("float8_e4m3fnuz", Fraction(247), 0x7F, 0x7F, 0x80),
        ("float8_e4m3fnuz", Fraction(248), 0x80, 0x7F, 0x80),  # a tie away from the odd largest value
        ("float8_e4m3fnuz", Fraction(-1, 1 << 20), 0x00, 0x81, 0x00),  # no -0
        ("float8_e5m2", Fraction(61440), 0x7C, 0x7B, 0x7C),
    ],
)
def test_facts_worked_out_by_hand(name, x, nearest, down, up):
    f = FLOATS[name]
    assert [f.round(x, r) for r in ("nearest", "down", "up")] == [nearest, down, up]


@pytest.mark.parametrize("name", SMALL)
def test_nearest_is_numpys_cast(name):
    f = FLOATS[name]
    rng = np.random.default_rng(5)
    exponents = rng.integers(f.least - 3, floor_log2(f.largest_value) + 1, 2000)
    with np.errstate(over="ignore"):
        x = np.ldexp(rng.standard_normal(2000), exponents).astype(np.float32)
    x = np.concatenate([x[np.isfinite(x)], rng.integers(-(1 << 16), 1 << 16, 500).astype(np.float32) / 256])
    with np.errstate(over="ignore"):
        cast = x.astype(numpy_dtype(name)).view(f"u{f.bits // 8}").tolist()
    for exact, expected in zip(x.tolist(), f.canonical(cast), strict=True):
        if exact:
            assert f.round(Fraction(exact), "nearest") == expected


def test_nans_become_the_canonical_one():
    assert FLOATS["float16"].canonical([0x7C00, 0x7C01, 0xFE00, 0x8000]) == [0x7C00, 0x7E00, 0x7E00, 0x8000]
    assert FLOATS["float8_e4m3fn"].canonical([0xFF, 0x7E, 0x80]) == [0x7F, 0x7E, 0x80]
    assert FLOATS["float8_e5m2fnuz"].canonical([0x80, 0x7F, 0x00]) == [0x80, 0x7F, 0x00]


def test_floor_log2():
    for exponent in (-5, -1, 0, 1, 7):
        x = power_of_two(exponent)
        assert [floor_log2(x), floor_log2(x * Fraction(3, 2)), floor_log2(x * Fraction(1999, 1000))] == [exponent] * 3


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_have_numpys_limits(name):
    if name == "int":
        assert INTEGERS[name].minimum is None
    elif name == "bool":
        assert (INTEGERS[name].minimum, INTEGERS[name].maximum) == (0, 1)
    else:
        info = np.iinfo(name)
        assert (INTEGERS[name].minimum, INTEGERS[name].maximum) == (info.min, info.max)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("float32", "float32"), "float32"),
        (("int8", "int8"), "float64"),
        (("bool", "int"), "float64"),
        (("float16", "bfloat16"), "float32"),
        (("float32", "int16"), "float32"),
        (("float32", "int32"), "float64"),
        (("float32", "int64"), "float64"),
        (("float16", "int8"), "float16"),
        (("bfloat16", "int8"), "bfloat16"),
        (("bfloat16", "int16"), "float32"),
        (("float8_e5m2", "float8_e4m3"), "float16"),
        (("float8_e4m3", "float8_e4m3fn"), "float8_e4m3fn"),
        (("bool", "float8_e5m2"), "float8_e5m2"),
        (("complex64", "float32"), "complex64"),
        (("complex64", "float64"), "complex128"),
        (("complex64", "int32"), "complex128"),
        (("bfloat16", "complex64"), "complex64"),
    ],
)
def test_common_format(names, expected):
    assert common_format(names) == common_format(names[::-1]) == expected


def test_an_entry_is_described_by_index_and_value():
    array = Encoded("complex64", (2, 3), [0x3F800001] * 12)
    assert [array.index(i) for i in (0, 1, 2, 11)] == [(0, 0), (0, 0), (0, 1), (1, 2)]
    assert array.describe(0) == "0x3f800001 (8388609 * 2**-23)"
    assert Encoded("float16", (), [0xFC00]).describe(0) == "0xfc00 (-infinity)"
    assert Encoded("int", (1,), [-7]).describe(0) == "-7"
