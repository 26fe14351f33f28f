"""`round_settled`: the bytes of exact sums, whatever the leading bits decide; or a count of what was left."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from tests.backends.checks import settled
from tests.backends.devices import with_device
from tests.operands import cancelling, floats, from_encodings, near_ties
from tests.oracle import FORMATS
from tests.oracle import exact as exact_values

FLOAT64, FLOAT32, BFLOAT16 = (FORMATS[name] for name in ("float64", "float32", "bfloat16"))
ALL, ENDS, NEAREST = tuple(Rounding), (Rounding.DOWN, Rounding.UP), (Rounding.NEAREST,)
KEPT = 24


@pytest.fixture(autouse=True)
def settles(device):
    if device.backend.settling is None:
        pytest.skip(f"round_settled NOT EXERCISED: the {device.backend.name} backend has none")


def check_round_settled(device, a, b, kept, fmt, roundings=ALL, pairs=None, shift=0, blocks=()):
    """Products of stacks held by rows have the oracle's bits, and nothing is left of so few."""
    some = [x[block] for x, block in zip((a, b), blocks, strict=True)] if blocks else [a, b]
    pairs = pairs or (range(len(some[0])), range(len(some[1])))
    found, left_over = settled(device, (a, b), kept, FLOAT_FORMATS[fmt.name], roundings, pairs, shift, blocks)
    assert left_over == 0
    left, right = (exact_values(x[list(index)]) for x, index in zip(some, pairs, strict=True))
    value = (left @ right.T).halved(-shift)
    for rounding, bits in zip(roundings, found, strict=True):
        np.testing.assert_array_equal(bits, value.rounded(fmt, rounding.value), err_msg=str(rounding))


@pytest.mark.parametrize("kept", [12, 40, 60])
@pytest.mark.parametrize(
    ("fmt", "roundings"),
    [(FLOAT64, ENDS), (FLOAT32, ALL), (BFLOAT16, (Rounding.ZERO, Rounding.NEAREST)), (FORMATS["float8_e5m2"], NEAREST)],
    ids=str,
)
def test_random_operands(rng, device, fmt, roundings, kept):
    """From few bits, which leave nearly all results in doubt, to more than the results have."""
    check_round_settled(device, rng.standard_normal((1, 5, 70)), rng.standard_normal((1, 9, 70)), kept, fmt, roundings)


@pytest.mark.parametrize("rounding", Rounding)
def test_one_direction(rng, device, rounding):
    a, b = rng.standard_normal((1, 3, 20)), rng.standard_normal((1, 4, 20))
    check_round_settled(device, a, b, KEPT, FLOAT32, (rounding,))


@pytest.mark.parametrize(("left", "right"), [("float32", "bfloat16"), ("float16", "float64"), ("bfloat16", "bfloat16")])
def test_operands_of_other_formats(rng, device, left, right):
    a, b = floats(rng, FORMATS[left], (1, 4, 33), 20), floats(rng, FORMATS[right], (1, 6, 33), 20)
    check_round_settled(device, a, b, KEPT, FLOAT32)


@pytest.mark.parametrize("fmt", [FLOAT64, FLOAT32, BFLOAT16, FORMATS["float16"]], ids=str)
def test_values_and_ties(rng, device, fmt):
    """Sums that are values, or lie in the middle of two, or beside one of those; and entries that lose bits."""
    rows = near_ties(rng, fmt, 24)[0]
    rows = rows[abs(rows[:, 0]) < 2.0**900] / 2.0**40
    one = np.array([[1.0, 1.0, 1.0, 1.0, 1.0]])
    for crumb in (0.0, 2.0**-70, -(2.0**-70)):
        scale = np.maximum(abs(rows[:, :1]), 2.0**-900)
        lost = scale * np.array([[1 + 2.0**-50, -1 - 2.0**-50]]) * 2.0**-60
        check_round_settled(device, np.hstack([rows[:, :2], crumb * scale, lost])[None], one[None], KEPT, fmt)


def test_cancellation(rng, device):
    """Sums that are short, and in some entries zero, which is +0 in every direction."""
    a, b = cancelling(rng, FLOAT64, 5, 20, 6, 25)
    check_round_settled(device, a[None], b.T[None], KEPT, FLOAT64)
    zero = np.hstack([a, -a]), np.hstack([b.T, b.T])
    check_round_settled(device, zero[0][None], zero[1][None], KEPT, FLOAT64)


@pytest.mark.parametrize("sides", [(True, False), (False, True), (True, True)], ids=str)
def test_rows_that_lose_nothing(rng, device, sides):
    """Next to rows that do."""
    a, b = rng.standard_normal((1, 6, 30)), rng.standard_normal((1, 7, 30))
    for x, some in zip((a, b), sides, strict=True):
        if some:
            x[:, ::2] = np.round(64 * x[:, ::2])
    check_round_settled(device, a, b, KEPT, FLOAT64)
    check_round_settled(device, np.round(8 * a), np.round(8 * b), KEPT, FLOAT64)


def test_extreme_results(device):
    """Subnormal, below all of those, and above the largest; rows of zeros."""
    crumbs = np.ldexp(1 + 2.0**-50, -np.arange(1.0, 80.0, 9).astype(int))
    scales = np.ldexp(1.0, np.array([-900, -560, -530, -515, 0, 505, 511, 400]))[:, None]
    a = np.vstack([scales * crumbs, -scales * crumbs[::-1], 0 * crumbs[None]])
    b = np.vstack([np.ldexp(1.0, [[-520], [0], [512]]) * crumbs, 0 * crumbs[None]])
    for fmt in (FLOAT64, FLOAT32, FORMATS["float8_e4m3fn"]):
        check_round_settled(device, a[None], b[None], KEPT, fmt)


def test_stacks(rng, device):
    a, b = rng.standard_normal((2, 3, 20)), rng.standard_normal((3, 4, 20))
    a[1] *= 2.0**30
    check_round_settled(device, a, b, KEPT, FLOAT64, ENDS, ([0, 1, 1, 0], [2, 0, 1, 1]), shift=-5)


def test_blocks(rng, device):
    a, b = rng.standard_normal((2, 6, 20)), rng.standard_normal((3, 9, 20))
    for x in (a, b):
        x[:, 1::2] *= 2.0**9
    blocks = (slice(1, 2), slice(2, 5)), (slice(1, 3), slice(3, 9))
    check_round_settled(device, a, b, KEPT, FLOAT64, pairs=([0, 0], [1, 0]), blocks=blocks)


def test_any_strides(rng, device):
    a, b = rng.standard_normal((2, 30, 8)), rng.standard_normal((2, 20, 33))
    for x, y in ((a.swapaxes(1, 2), b[:, ::-2, 30:0:-1]), (a[::-1, :6], b[:, :8].swapaxes(1, 2)[:, :9, ::-1])):
        check_round_settled(device, x, y, KEPT, FLOAT64, ENDS)


@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (1, 0, 3, 4), (1, 2, 0, 4), (1, 2, 3, 0)])
def test_nothing(device, shape):
    pairs, rows, columns, depth = shape
    a, b = np.ones((1, rows, depth)), np.ones((1, columns, depth))
    check_round_settled(device, a, b, KEPT, FLOAT32, ENDS, ([0] * pairs, [0] * pairs))


@given(st.data())
@with_device
def test_any_numbers(device, data):
    fmt = data.draw(st.sampled_from([FLOAT32, FLOAT64]))
    field = st.integers(1 << 52, (1 << 58) - 1) | st.integers(0, 40).map(lambda n: n << 52)
    depth = data.draw(st.integers(1, 5))
    sides = [
        data.draw(st.lists(st.tuples(field, st.booleans()), min_size=depth * n, max_size=depth * n)) for n in (2, 3)
    ]
    a, b = (
        from_encodings([(500 << 52) + n + (negative << 63) for n, negative in side], FLOAT64).reshape(1, -1, depth)
        for side in sides
    )
    check_round_settled(device, a, b, data.draw(st.sampled_from([6, 30])), fmt)
