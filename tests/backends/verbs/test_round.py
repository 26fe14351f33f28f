"""`round`: every format and direction at every boundary, against the oracle's own rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from tests.backends.checks import check_round
from tests.backends.devices import base_for, objects, with_device
from tests.operands import ALL_FORMATS
from tests.oracle import FORMATS, encode

EXTRA = (0, 1, 2, 20, 22, 23, 24, 25, 46, 47, 48, 49, 70, 130)
"""Bits below a significand: on both sides of every limb."""


def columns(device, cases, limit=1 << 22):
    """Numbers, exponents and a base that is just large enough."""
    numbers, exponents = zip(*cases, strict=True)
    return numbers, exponents, device.base(limit, max(abs(n) for n in numbers).bit_length())


def significands(fmt):
    """(encoding's significand, exponent of its last bit) at the ends of binades, subnormal and next to overflow."""
    top = fmt.largest >> fmt.fraction_bits
    least, one = fmt.least_exponent, 1 << fmt.fraction_bits
    for field in sorted({0, 1, 2, top // 2, top - 1, top}):
        for fraction in (0, 1, 2, one // 2 - 1, one // 2, one - 2, one - 1):
            if (field << fmt.fraction_bits) + fraction <= fmt.largest:
                yield fraction + one * (field > 0), max(field, 1) - 1 + least


def around(significand, exponent, extra):
    """A value, the middle to the next one, and what lies one unit beside each, with `extra` bits to spare."""
    for twice in (2 * significand, 2 * significand + 1):
        for crumb in (-1, 0, 1):
            number = (twice << extra) + crumb
            yield number, exponent - 1 - extra
            yield -number, exponent - 1 - extra


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_exact_values_ties_and_their_neighbours(device, fmt):
    # for each number of spare bits the same rounding decides at other places in a limb
    for extra in EXTRA:
        cases = [case for s, e in significands(fmt) for case in around(s, e, extra)]
        numbers, exponents, base = columns(device, cases)
        check_round(device, numbers, exponents, fmt, base)


@pytest.mark.parametrize("fmt", [f for f in ALL_FORMATS if f.bits == 8], ids=str)
def test_every_value_of_a_narrow_format(device, fmt):
    cases = []
    for encoding in range(fmt.largest + 1):
        value = fmt.value(encoding) / 2**fmt.least_exponent if fmt.least_exponent >= 0 else fmt.value(encoding)
        number = int(value * 2**-fmt.least_exponent) if fmt.least_exponent < 0 else int(value)
        cases += around(number, fmt.least_exponent, 3)
    numbers, exponents, base = columns(device, cases, 256)
    check_round(device, numbers, exponents, fmt, base)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_subnormal_limit(device, fmt):
    smallest_normal = 1 << fmt.fraction_bits
    cases = [
        case
        for significand in (smallest_normal - 1, smallest_normal, smallest_normal + 1, 1, 2, 3)
        for extra in EXTRA
        for case in around(significand, fmt.least_exponent, extra)
    ]
    numbers, exponents, base = columns(device, cases)
    check_round(device, numbers, exponents, fmt, base)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_deep_underflow(device, fmt):
    depths = [*range(70), 100, 1000, 5000, 1 << 20]
    cases = [(s * n, fmt.least_exponent - d) for d in depths for s in (1, -1) for n in (1, 2, 3, (1 << 60) + 1)]
    numbers, exponents, base = columns(device, cases)
    check_round(device, numbers, exponents, fmt, base)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_overflow_threshold(device, fmt):
    field = fmt.largest >> fmt.fraction_bits
    largest = (fmt.largest & ((1 << fmt.fraction_bits) - 1)) + (1 << fmt.fraction_bits)
    cases = [
        case
        for significand in (largest - 1, largest, largest + 1, largest + 2)
        for extra in EXTRA
        for case in around(significand, field - 1 + fmt.least_exponent, extra)
    ]
    numbers, exponents, base = columns(device, cases)
    check_round(device, numbers, exponents, fmt, base)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_far_above_overflow(device, fmt):
    top = (1 << fmt.exponent_bits) + fmt.least_exponent
    exponents = [*range(top - 70, top + 3), top + 10, top + 100, 2 * top, 2 * top + 53, 1 << 14, 1 << 20]
    cases = [(s * n, e) for e in exponents for s in (1, -1) for n in (1, 3, (1 << 53) - 1, (1 << 60) + 1)]
    numbers, exponents, base = columns(device, cases)
    check_round(device, numbers, exponents, fmt, base)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_zero_is_positive(device, fmt):
    for exponent in (-(1 << 20), fmt.least_exponent - 1, fmt.least_exponent, 0, 1000, 1 << 20):
        check_round(device, [0, 0], [exponent] * 2, fmt, base_for(256, 1))


@pytest.mark.parametrize(
    "bits", [1, 2, 20, 21, 22, 23, 24, 25, 26, 44, 45, 46, 47, 48, 49, 60, 69, 70, 71, 72, 73, 1000]
)
@pytest.mark.parametrize("name", ["float64", "float16"])
def test_numbers_of_any_length(device, bits, name):
    fmt = FORMATS[name]
    ends = {(1 << bits) - 1, 1 << bits, (1 << bits) + 1, 3 << bits, (5 << bits) // 3}
    cases = [(s * n, e - bits) for n in ends for s in (1, -1) for e in (0, fmt.least_exponent + 3)]
    numbers, exponents, base = columns(device, cases, 1 << 12)
    check_round(device, numbers, exponents, fmt, base)


def test_up_to_a_quarter_of_the_product_of_the_moduli(device):
    for bits in (1, 21, 22, 23, 44, 45, 46, 70, 300):
        base = device.base(1 << 22, bits)
        quarter = base.product // 4
        check_round(device, [quarter, -quarter, quarter - 1, 1], [0, -5, 7, -1070], FORMATS["float64"], base)


def test_each_result_has_the_exponents_of_its_row_and_column(rng, device):
    backend, base = device.backend, base_for(1 << 12, 30)
    numbers = rng.integers(-(1 << 20), 1 << 20, (4, 3, 5))
    rows, columns = rng.integers(-300, 300, (2, 3)), rng.integers(-300, 300, (3, 5))
    pairs = ([0, 1, 1, 0], [2, 0, 2, 1])
    place = (device.exponents(rows), device.exponents(columns), pairs, -9)
    format = FLOAT_FORMATS["float32"]
    (result,) = backend.round(device.planes(numbers, base), base, place, format, (Rounding.DOWN,))
    expected = [
        encode(int(n), int(rows[pairs[0][t], i] + columns[pairs[1][t], j]) - 9, FORMATS["float32"], "down")
        for (t, i, j), n in np.ndenumerate(numbers)
    ]
    assert device.encodings(result, format, (60,)).tolist() == expected


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 3, 0), (1, 1, 40_000), (2, 130, 129)])
def test_any_shape(device, shape):
    backend, base = device.backend, base_for(256, 20)
    numbers = np.resize(np.arange(-2500, 2503), shape)
    pairs = (range(shape[0]), [0] * shape[0])
    place = (device.exponents(np.zeros(shape[:2])), device.exponents(np.zeros((1, shape[2]))), pairs, 0)
    format = FLOAT_FORMATS["float64"]
    found = backend.round(device.planes(numbers, base), base, place, format, tuple(Rounding))
    for result in found:
        values = device.encodings(result, format, shape).view(np.float64)
        assert (values == numbers).all()
        assert not np.signbit(values[numbers == 0]).any()


def test_the_order_and_number_of_roundings(device):
    base, format = base_for(256, 80), FLOAT_FORMATS["float64"]
    planes = device.planes([[[(1 << 60) + 1]]], base)
    place = (device.exponents([[0]]), device.exponents([[0]]), ([0], [0]), 0)
    for roundings in (("up",), ("down", "up"), ("up", "down"), ("zero", "up", "nearest", "up"), ()):
        found = device.backend.round(planes, base, place, format, tuple(map(Rounding, roundings)))
        bits = [int(device.encodings(x, format, ())) for x in found]
        assert bits == [encode((1 << 60) + 1, 0, FORMATS["float64"], r) for r in roundings]


def test_the_planes_are_left_alone(device):
    base = base_for(256, 30)
    planes = device.planes([[[-5, 6]]], base)
    before = device.download(planes).copy()
    place = (device.exponents([[0]]), device.exponents([[0, 0]]), ([0], [0]), 0)
    device.backend.round(planes, base, place, FLOAT_FORMATS["float16"], tuple(Rounding))
    assert (device.download(planes) == before).all()


@given(
    st.sampled_from(ALL_FORMATS),
    st.lists(st.tuples(st.integers(-(2**400), 2**400), st.integers(-1500, 1500)), min_size=1, max_size=20),
)
@with_device
def test_any_number_and_exponent(device, fmt, cases):
    numbers, exponents, base = columns(device, cases, 1 << 12)
    check_round(device, objects(numbers), exponents, fmt, base)
