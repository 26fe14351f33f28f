"""`interval_pieces`, `first_invalid_interval` and `hull_excess`, against their definitions term by term."""

import itertools

import numpy as np
import pytest

from tests.backends.checks import check_hull_excess, check_interval_pieces, check_pieces_of
from tests.operands import ALL_FORMATS, big_integers, floats, integers, whole_range
from tests.oracle import FORMATS, INTEGER_NAMES

FLOAT64 = FORMATS["float64"]


@pytest.mark.parametrize("endpoints", [True, False])
@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_pieces_of_floats(rng, device, fmt, endpoints):
    for spread in (0, 3, whole_range(fmt)):
        first, second = (floats(rng, fmt, (2, 3, 6), spread, zeros=0.2) for _ in range(2))
        check_interval_pieces(device, first, second, endpoints=endpoints)
        check_interval_pieces(device, first, first, endpoints=endpoints)
        check_interval_pieces(device, first, np.where(first == 0, first, -first), endpoints=endpoints)


@pytest.mark.parametrize("endpoints", [True, False])
@pytest.mark.parametrize("name", INTEGER_NAMES)
def test_pieces_of_integers(rng, device, name, endpoints):
    check_interval_pieces(device, *(integers(rng, name, (3, 9)) for _ in range(2)), endpoints=endpoints)


@pytest.mark.parametrize("endpoints", [True, False])
@pytest.mark.parametrize("bits", [20, 22, 23, 24, 46, 48, 70, 500])
def test_pieces_of_python_integers(rng, device, bits, endpoints):
    check_interval_pieces(device, *(big_integers(rng, (3, 5), bits) for _ in range(2)), endpoints=endpoints)
    edge = np.array([[1 << bits, (1 << bits) - 1, -(1 << bits), 0]], object)
    check_interval_pieces(device, edge, edge[:, ::-1], endpoints=endpoints)


@pytest.mark.parametrize("endpoints", [True, False])
@pytest.mark.parametrize(
    "arrays",
    [
        (np.array([[3, -4]]), np.array([[0.5, 2.0**-30]])),
        (np.array([[3, -4]], object), np.array([[0.5, 2.0**-30]])),
        (np.array([[1.5, -4.0]], np.float32), np.array([[2**80, 1]], object)),
    ],
    ids=["int and float", "big int and float", "float and big int"],
)
def test_pieces_of_two_formats(device, arrays, endpoints):
    check_interval_pieces(device, *arrays, endpoints=endpoints)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 4), (0, 2, 3)])
def test_no_entries(device, shape):
    check_interval_pieces(device, np.zeros(shape), np.zeros(shape), endpoints=True)


def test_intervals_that_touch_zero_or_lie_around_it(device):
    lo, hi = np.array([[-1.0, 0.0, -0.0, -2.0, 0.0, -2.0]]), np.array([[0.0, 1.0, 0.0, 2.0, -0.0, 3.0]])
    check_interval_pieces(device, lo, hi, endpoints=True)
    check_interval_pieces(device, (lo + hi) / 2, (hi - lo) / 2, endpoints=False)


# ---- intervals that are none ---------------------------------------------------------------------------------------


def first_invalid(device, first, second, endpoints):
    return device.backend.first_invalid_interval(device.operand(first), device.operand(second), endpoints=endpoints)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_the_first_invalid_interval(rng, device, fmt):
    lo = floats(rng, fmt, (2, 3, 4), 3)
    assert first_invalid(device, lo, lo, True) == -1
    order = lo.astype(np.float64)
    other = floats(rng, fmt, (2, 3, 4), 3)
    wrong = np.flatnonzero(order.ravel() > other.astype(np.float64).ravel())
    assert first_invalid(device, lo, other, True) == (wrong[0] if wrong.size else -1)
    negative = np.flatnonzero(other.astype(np.float64).ravel() < 0)
    assert first_invalid(device, lo, other, False) == (negative[0] if negative.size else -1)


def test_negative_zero_is_a_radius(device):
    assert first_invalid(device, np.ones((1, 2)), np.array([[-0.0, 0.0]]), False) == -1
    assert first_invalid(device, np.ones((1, 2)), np.array([[0.0, -(2.0**-1074)]]), False) == 1


def test_ends_that_differ_in_the_last_bit(device):
    lo = np.array([[1.0, 2.0**1000, 1.0]])
    assert first_invalid(device, lo, np.nextafter(lo, 2.0**1001), True) == -1
    assert first_invalid(device, lo, np.where([[1, 1, 0]], lo, np.nextafter(lo, 0)), True) == 2


@pytest.mark.parametrize("endpoints", [True, False])
def test_big_integers_in_the_wrong_order(device, endpoints):
    low = np.array([[1 << 90, 5, 1 << 90]], object)
    high = np.array([[1 << 90, 5, -1]], object)
    assert first_invalid(device, low, high, endpoints) == 2


@pytest.mark.parametrize("side", [0, 1])
def test_one_operand_that_repeats_a_matrix(device, side):
    # a view may give a repeated matrix once, and the ends of intervals have to be of one shape
    other = np.arange(12.0).reshape(3, 2, 2)
    for array, beside in ((np.eye(2), other), (np.array([[5, 1 << 80], [-3, 0]], object), other.astype(int))):
        matrix = device.operand(array)
        operands = [device.backend.repeat(matrix, 3), device.operand(beside)]
        arrays = [np.broadcast_to(array, (3, 2, 2)), beside]
        if side:
            operands, arrays = operands[::-1], arrays[::-1]
        for endpoints in (True, False):
            check_pieces_of(device, device.backend.scan([operands])[0].operands, *arrays, endpoints=endpoints)
            invalid = device.backend.first_invalid_interval(*operands, endpoints=endpoints)
            wrong = (arrays[0] > arrays[1]) if endpoints else (arrays[1] < 0)
            assert invalid == (np.flatnonzero(wrong)[0] if wrong.any() else -1)


# ---- the hull ------------------------------------------------------------------------------------------------------

SMALL = [(lo, hi) for lo, hi in itertools.product(range(-3, 4), repeat=2) if lo <= hi]


def sides(intervals, shape):
    """Arrays of lower and upper ends, from a list of intervals."""
    numbers = np.array(intervals, object).reshape(*shape, 2)
    return numbers[..., 0].astype(float), numbers[..., 1].astype(float)


def test_every_pair_of_small_intervals(device):
    column = sides(SMALL, (1, len(SMALL), 1))
    check_hull_excess(device, column, column, ([0], [0]))


@pytest.mark.parametrize("k", [2, 3, 9])
def test_sums_over_k(rng, device, k):
    def ends(stacks, rows):
        lo, hi = (rng.integers(-9, 10, (stacks, rows, k)) for _ in range(2))
        return np.minimum(lo, hi).astype(float), np.maximum(lo, hi).astype(float)

    check_hull_excess(device, ends(2, 4), ends(3, 5), ([0, 1, 1, 0], [2, 0, 2, 1]))
    check_hull_excess(device, ends(1, 3), ends(1, 2), ([0, 0], [0, 0]))
    check_hull_excess(device, ends(1, 3), ends(1, 2), ([], []))


def test_wide_intervals_and_ratios_that_differ_little(device):
    # |m| / r of 1 / (2^60 + 1) beside 1 / 2^60, and equal ratios of different sizes
    big = float(1 << 52)
    left = np.array([[[-big], [-big + 1], [-big * 2], [-1.0], [-(2.0**-40)]]])
    right = np.array([[[big + 1], [big], [big * 2 + 2], [1.0], [2.0**60]]])
    check_hull_excess(device, (left, right), (left, right), ([0], [0]))
    check_hull_excess(device, (-right, -left), (left, right), ([0], [0]))


def test_symmetric_intervals_have_no_excess(device):
    ends = (np.full((1, 2, 3), -5.0), np.full((1, 2, 3), 5.0))
    check_hull_excess(device, ends, ends, ([0], [0]))


def test_integers(device):
    lo, hi = np.array([[[-3, -1 << 62]]]), np.array([[[2, (1 << 62) + 1]]])
    check_hull_excess(device, (lo, hi), (lo[..., ::-1], hi[..., ::-1]), ([0], [0]))
    check_hull_excess(device, (lo.astype(object) * 2**80, hi.astype(object)), (lo, hi), ([0], [0]))


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (0, 0)])
def test_hull_excess_of_nothing(device, shape):
    rows, k = shape
    ends = (np.full((1, rows, k), -1.0), np.full((1, rows, k), 2.0))
    other = (np.full((1, 2, k), -1.0), np.full((1, 2, k), 2.0))
    check_hull_excess(device, ends, other, ([0], [0]))
