"""The oracle itself: its formats against ml_dtypes, its rounding against a search among all values, and the negative
controls, in which the smallest possible mistake must be noticed. It knows nothing of exactla.
"""

import struct
from bisect import bisect_left
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.operands import ALL_FORMATS, all_ties, floats, from_encodings, near_ties, whole_range
from tests.oracle import (
    FORMATS,
    ROUNDINGS,
    Exact,
    assert_bits,
    assert_product,
    encode,
    encodings,
    exact,
    interval_hull,
    interval_rump,
    interval_sharp,
)

NARROW = [f for f in ALL_FORMATS if f.bits <= 16]


def dyadic(x: Fraction) -> tuple[int, int]:
    return x.numerator, 1 - x.denominator.bit_length()


def value_of(x: Exact) -> Fraction:
    return Fraction(int(x.numbers.item())) * Fraction(2) ** x.exponent


@pytest.fixture(scope="module", params=[f for f in ALL_FORMATS if f.bits == 8], ids=str)
def every_value(request):
    """A format with all its values, ascending, and the encoding of each."""
    fmt = request.param
    table = {fmt.value(e): e for e in range(1 << fmt.bits) if fmt.is_finite(e) and e != fmt.sign_bit}
    return fmt, sorted(table), table


def rounded_by_search(x: Fraction, values: list[Fraction], table: dict[Fraction, int], rounding: str) -> Fraction:
    above = values[bisect_left(values, x)]
    if above == x:
        return x
    below = values[bisect_left(values, x) - 1]
    if rounding == "nearest":
        odd = table[below] % 2
        distance = (x - below) - (above - x)
        return above if distance > 0 or (distance == 0 and odd) else below
    return {"down": below, "up": above, "zero": below if x > 0 else above}[rounding]


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_rounding_agrees_with_a_search_among_all_values(every_value, rounding):
    fmt, values, table = every_value
    for tie in all_ties(fmt).ravel().tolist():
        for x in (Fraction(tie) + Fraction(k, 1 << 40) for k in (-1, 0, 1)):
            if values[0] <= x <= values[-1]:
                assert fmt.value(encode(*dyadic(x), fmt, rounding)) == rounded_by_search(x, values, table, rounding)


def test_overflow_and_the_sign_of_a_vanishing_value(every_value):
    fmt, values, _ = every_value
    beyond, top = values[-1] + Fraction(1, 1 << 40), fmt.infinity or fmt.nan
    minus_top = fmt.sign_bit | fmt.infinity if fmt.infinity else fmt.nan
    assert [encode(*dyadic(beyond), fmt, r) for r in ROUNDINGS] == [fmt.largest, fmt.largest, top, fmt.largest]
    minus = fmt.largest | fmt.sign_bit
    assert [encode(*dyadic(-beyond), fmt, r) for r in ROUNDINGS] == [minus, minus_top, minus, minus]
    assert encode(*dyadic(2 * values[-1]), fmt, "nearest") == top
    minus_zero = 0 if fmt.style == "fnuz" else fmt.sign_bit
    assert [encode(-1, -99, fmt, r) for r in ROUNDINGS] == [minus_zero, fmt.sign_bit | 1, minus_zero, minus_zero]
    assert [encode(1, -99, fmt, r) for r in ROUNDINGS] == [0, 0, 1, 0]


@pytest.mark.parametrize("fmt", NARROW, ids=str)
def test_encodings_have_the_value_that_numpy_and_ml_dtypes_give_it(fmt):
    every = from_encodings(np.arange(1 << fmt.bits), fmt)
    with np.errstate(invalid="ignore"):
        as_float64 = every.astype(np.float64)
    for encoding in range(0, 1 << fmt.bits, 1 if fmt.bits == 8 else 5):
        value = float(as_float64[encoding])
        assert fmt.is_finite(encoding) == bool(np.isfinite(value))
        if fmt.is_finite(encoding):
            assert fmt.value(encoding) == Fraction(value)
    assert encodings(every).tolist() == list(range(1 << fmt.bits))


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_special_encodings(fmt):
    special = from_encodings([fmt.largest, fmt.nan, fmt.infinity or fmt.nan], fmt)
    if fmt.bits == 64:
        assert special[0] == np.finfo(np.float64).max
    else:
        assert float(special[0]) == float(ml_dtypes.finfo(fmt.dtype).max)
    assert np.isnan(float(special[1]))
    if fmt.infinity is not None:
        assert special[2].astype(np.float64) == np.inf


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_the_values_of_an_array_are_read_exactly(fmt):
    array = floats(np.random.default_rng(1), fmt, (200,), whole_range(fmt))
    numbers, exponent = exact(array)
    for number, value in zip(numbers, array.astype(np.float64).tolist(), strict=True):
        assert int(number) * Fraction(2) ** exponent == Fraction(value)


@pytest.mark.parametrize("fmt", [f for f in ALL_FORMATS if f.bits < 64], ids=str)
def test_rounding_to_nearest_agrees_with_the_casts_of_numpy_and_ml_dtypes(fmt):
    rng = np.random.default_rng(2)
    rows, _ = near_ties(rng, fmt, 2000)
    points = (rows[:, 0] + rows[:, 1]) * 2.0**-40
    with np.errstate(over="ignore"):
        cast = points.astype(fmt.dtype)
    finite = np.isfinite(cast.astype(np.float64))  # the casts keep a sign with NaN
    assert finite.sum() > len(points) // 2
    assert_bits(cast[finite], exact(points[finite]).rounded(fmt, "nearest"), fmt)


def test_rounding_to_float64_agrees_with_integer_division():
    rng = np.random.default_rng(3)
    for _ in range(3000):
        number = int.from_bytes(rng.bytes(20)) >> int(rng.integers(0, 159))
        exponent = int(rng.integers(-1250, 800))
        expected = struct.pack("<d", float(Fraction(number) * Fraction(2) ** exponent))
        assert encode(number, exponent, FORMATS["float64"], "nearest").to_bytes(8, "little") == expected


def test_interval_products_against_fractions():
    rng = np.random.default_rng(4)
    for _ in range(100):
        ends = [sorted(rng.integers(-9, 10, size=2).tolist()) for _ in range(4)]
        a = tuple(Exact(np.array([[ends[0][i], ends[1][i]]], dtype=object)) for i in (0, 1))
        b = tuple(Exact(np.array([[ends[2][i]], [ends[3][i]]], dtype=object)) for i in (0, 1))
        corners = [[x * y for x in ends[k] for y in ends[k + 2]] for k in (0, 1)]
        hull = [sum(map(min, corners)), sum(map(max, corners))]
        assert [value_of(end) for end in interval_hull(a, b)] == hull
        sharp = [value_of(end) for end in interval_sharp(a, b)]
        rump = [value_of(end) for end in interval_rump(a, b)]
        assert rump[0] <= sharp[0] <= hull[0]
        assert hull[1] <= sharp[1] <= rump[1]
        assert sharp[1] - sharp[0] <= Fraction(1172, 1000) * (hull[1] - hull[0])


# ---- negative controls ---------------------------------------------------------------------------------------------


@pytest.fixture
def right():
    rng = np.random.default_rng(5)
    fmt = FORMATS["float32"]
    a, b = floats(rng, fmt, (4, 6), 30), floats(rng, fmt, (6, 5), 30)
    return a, b, from_encodings((exact(a) @ exact(b)).rounded(fmt, "nearest"), fmt), fmt


def test_the_right_answer_passes(right):
    assert_product(right[2], *right[:2], right[3])


@pytest.mark.parametrize("unit", [1, -1])
def test_one_unit_in_one_entry_is_noticed(right, unit):
    a, b, answer, fmt = right
    bits = encodings(answer)
    bits[2, 3] = int(bits[2, 3]) + unit
    with pytest.raises(AssertionError, match=r"1 of 20 entries differ; the first is \[2, 3\]: 0x"):
        assert_product(from_encodings(bits, fmt), a, b, fmt)


def test_another_rounding_is_noticed(right):
    a, b, answer, fmt = right
    for rounding in ("down", "up", "zero"):
        with pytest.raises(AssertionError, match="entries differ"):
            assert_product(answer, a, b, fmt, rounding)


def test_a_flipped_tie_is_noticed():
    fmt = FORMATS["float32"]
    tie = np.array([[1.0, 2.0**-24]], dtype=np.float32)
    ones = np.ones((2, 1), dtype=np.float32)
    assert_product(np.array([[1.0]], dtype=np.float32), tie, ones, fmt)
    with pytest.raises(AssertionError, match="0x3f800001, expected 0x3f800000"):
        assert_product(np.nextafter(np.ones((1, 1), np.float32), np.float32(2)), tie, ones, fmt)


def test_the_sign_of_zero_is_noticed():
    fmt = FORMATS["float64"]
    zero = np.zeros((1, 1))
    assert_product(zero, zero, zero, fmt)
    with pytest.raises(AssertionError, match="0x8000000000000000, expected 0x0000000000000000"):
        assert_product(-zero, zero, zero, fmt)


def test_another_shape_or_dtype_is_noticed(right):
    a, b, answer, fmt = right
    with pytest.raises(AssertionError, match="shape"):
        assert_product(answer[:1], a, b, fmt)
    with pytest.raises(AssertionError, match="dtype"):
        assert_product(answer.astype(np.float64), a, b, fmt)


def test_a_containing_pair_that_is_not_the_tightest_is_noticed(right):
    a, b, _, fmt = right
    value = exact(a) @ exact(b)
    low = from_encodings(value.rounded(fmt, "down"), fmt)
    wider = low.copy()
    wider[0, 0] = np.nextafter(low[0, 0], np.float32(-np.inf))
    assert_bits(low, value.rounded(fmt, "down"), fmt)
    with pytest.raises(AssertionError, match=r"1 of 20 entries differ; the first is \[0, 0\]"):
        assert_bits(wider, value.rounded(fmt, "down"), fmt)
