"""`round_certified`: certain where both ends of an error round alike, and as `round` there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from tests.backends.devices import Device, objects, with_device
from tests.operands import ALL_FORMATS
from tests.oracle import FORMATS, encode

ALL = tuple(Rounding)


def check_round_certified(device: Device, numbers, exponents, slack, fmt, roundings=ALL, limit=1 << 22):
    """A column of numbers * 2**exponents: uncertain exactly where the ends differ; returns the uncertain places."""
    numbers = objects(numbers).reshape(1, -1, 1)
    exponents = np.asarray(exponents, np.int64).reshape(1, -1)
    bits = max(max(abs(int(n)) for n in numbers.flat).bit_length(), slack) + 1
    base = device.base(limit, bits)
    place = (device.exponents(exponents), device.exponents([[0]]), ([0], [0]), 0)
    format = FLOAT_FORMATS[fmt.name]
    found, uncertain = device.backend.round_certified(
        device.planes(numbers, base), base, place, slack, format, roundings
    )
    places = [tuple(p) for p in uncertain]
    assert places == sorted(set(places))
    assert all(type(i) is int for p in places for i in p)
    columns = [device.encodings(x, format, (numbers.size,)).tolist() for x in found]
    for row, (n, e) in enumerate(zip(numbers.flat, exponents.flat, strict=True)):
        ends = [n - (1 << slack), n + (1 << slack)]
        wanted = [[encode(s, int(e), fmt, r.value) for r in roundings] for s in ends]
        differ = wanted[0] != wanted[1] or (ends[0] < 0) != (ends[1] < 0)
        assert ((0, row, 0) in places) is differ, f"{n} * 2**{e} +- 2**{slack} in {fmt}"
        if not differ:
            assert [c[row] for c in columns] == [encode(n, int(e), fmt, r.value) for r in roundings]
    return places


def around(fmt, slack):
    """Numbers at both sides of where they become uncertain: beside values and ties, for either sign."""
    unit = slack + 6
    for significand in (1 << fmt.fraction_bits, (1 << fmt.precision) - 1, (1 << fmt.fraction_bits) + 1):
        for twice in (2 * significand, 2 * significand + 1):
            for distance in (0, 1, (1 << slack) - 1, 1 << slack, (1 << slack) + 1, 1 << (slack + 2)):
                for sign in (1, -1):
                    for side in (1, -1):
                        yield sign * ((twice << unit) + side * distance)


@pytest.mark.parametrize("rounding", [*[(r,) for r in Rounding], (Rounding.DOWN, Rounding.UP), ALL], ids="-".join)
@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_ends_beside_values_and_ties(device, fmt, rounding):
    for slack in (0, 1, 23, 24, 25, 31, 32, 33, 63, 64, 90):
        numbers = list(around(fmt, slack))
        exponents = [-slack - 7 - fmt.fraction_bits] * len(numbers)  # values from 1 to 2
        places = check_round_certified(device, numbers, exponents, slack, fmt, rounding)
        assert 0 < len(places) < len(numbers)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_zero_underflow_and_overflow(device, fmt):
    slack = 40
    numbers, exponents = [], []
    for exponent in (fmt.least_exponent - slack - 2, fmt.least_exponent - 3 * slack, -slack, 1000, -4000):
        for distance in (0, 1, (1 << slack) - 1, 1 << slack, (1 << slack) + 1, 5 << slack, 1 << (slack + 60)):
            numbers += [distance, -distance]
            exponents += [exponent] * 2
    for rounding in (ALL, *[(r,) for r in Rounding]):
        check_round_certified(device, numbers, exponents, slack, fmt, rounding)


def test_the_sign_is_looked_at_where_one_nan_stands_for_both_overflows(device):
    fmt = FORMATS["float8_e4m3fnuz"]
    assert check_round_certified(device, [0, 1 << 40], [500] * 2, 30, fmt, (Rounding.NEAREST,)) == [(0, 0, 0)]


@pytest.mark.parametrize("limit", [256, 1 << 16])
def test_of_the_largest_integers(device, limit):
    # s and its ends fill the base's bits
    fmt = FORMATS["float64"]
    for bits in (60, 150, 310):
        full = (1 << bits) - 1
        check_round_certified(device, [full, -full, full - (1 << bits // 2)], [0] * 3, bits - 1, fmt, ALL, limit)
        check_round_certified(device, [full, -full, full - (1 << bits // 2)], [9] * 3, bits // 2, fmt, ALL, limit)


def test_places_in_stacks(device):
    # ones change their sign, the others lie well between two values
    numbers = np.full((2, 2, 3), (1 << 60) + 12345678, object)
    numbers[0, 0, 1] = numbers[0, 1, 0] = numbers[1, 1, 2] = 1
    base = device.base(1 << 22, 70)
    place = (device.exponents([[0, 0], [0, 0]]), device.exponents([[0, 0, 0]]), ([0, 1], [0, 0]), 0)
    _, uncertain = device.backend.round_certified(
        device.planes(numbers, base), base, place, 2, FLOAT_FORMATS["float64"], (Rounding.ZERO,)
    )
    assert [tuple(p) for p in uncertain] == [(0, 0, 1), (0, 1, 0), (1, 1, 2)]


def test_exponents_of_pairs(device):
    # the given pairs count, whatever was multiplied
    base, format = device.base(1 << 22, 70), FLOAT_FORMATS["float64"]
    place = (device.exponents([[0], [7]]), device.exponents([[100], [0]]), ([1, 0], [0, 1]), -3)
    numbers = [(5 << 60) + 12345, (9 << 60) + 12345]
    planes = device.planes(np.reshape(objects(numbers), (2, 1, 1)), base)
    (found,), uncertain = device.backend.round_certified(planes, base, place, 3, format, (Rounding.DOWN,))
    wanted = [encode(n, e, FORMATS["float64"], "down") for n, e in zip(numbers, (104, -3), strict=True)]
    assert device.encodings(found, format, (2,)).tolist() == wanted
    assert list(uncertain) == []


def test_no_roundings(device):
    base = device.base(256, 20)
    place = (device.exponents([[0]]), device.exponents([[0]]), ([0], [0]), 0)
    found, _ = device.backend.round_certified(
        device.planes([[[5]]], base), base, place, 1, FLOAT_FORMATS["float64"], ()
    )
    assert list(found) == []


@pytest.mark.parametrize("shape", [(0, 2, 3), (1, 0, 3), (1, 2, 0)])
def test_nothing(device, shape):
    pairs, rows, columns = shape
    base = device.base(256, 20)
    engine = device.backend.engines[0]
    left, right = (device.scan(np.ones((1, n, 2))).operands[0] for n in (rows, columns))
    planes = [device.backend.residues(x, base, engine)[0] for x in (left, right)]
    index = ([0] * pairs, [0] * pairs)
    product = device.backend.multiply([(1, *planes)], index, base, engine)
    found, uncertain = device.backend.round_certified(
        product, base, (left, right, index, 0), 3, FLOAT_FORMATS["float32"], (Rounding.UP, Rounding.DOWN)
    )
    assert len(found) == 2
    assert list(uncertain) == []


@given(st.data())
@with_device
def test_any_numbers(device, data):
    fmt = data.draw(st.sampled_from(ALL_FORMATS))
    slack = data.draw(st.integers(0, 200))
    number = st.integers(-(1 << 260), 1 << 260) | st.integers(-(1 << 70), 1 << 70)
    cases = data.draw(st.lists(st.tuples(number, st.integers(-1300, 1100)), min_size=1, max_size=8))
    numbers, exponents = zip(*cases, strict=True)
    check_round_certified(device, numbers, exponents, slack, fmt, limit=data.draw(st.sampled_from([256, 1 << 22])))
