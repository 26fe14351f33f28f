"""Products of intervals on the backend of whole numbers: ends, hull mask, faults, and that the plan's bits suffice."""

import numpy as np
import pytest

from exactla.core.contraction import Pairing
from exactla.core.interval import IntervalMethod, interval_groups, interval_product
from exactla.core.matmul import NonFinite, Options
from exactla.errors import OperandChangedError
from exactla.formats import FLOAT_FORMATS
from tests.core.exact_backend import PLUS, ExactBackend, as_backend, operand_of
from tests.oracle import FORMATS, INTERVAL_METHODS
from tests.oracle import exact as exact_values

FLOAT64 = FORMATS["float64"]
METHODS = list(IntervalMethod)


def run(backend, left, right, method, *, endpoints=True, pairing=None, **options):
    return interval_product(
        as_backend(backend),
        (operand_of(left[0]), operand_of(left[1])),
        (operand_of(right[0]), operand_of(right[1])),
        pairing or Pairing((0,), (0,)),
        FLOAT_FORMATS["float64"],
        method,
        endpoints=endpoints,
        options=Options(**options),
    )


def intervals(rng, rows, depth, low=-6, high=7):
    x, y = (rng.integers(low, high, (rows, depth)) for _ in range(2))
    return np.minimum(x, y).astype(float), np.maximum(x, y).astype(float)


def wanted(left, right, method):
    """Encodings of both ends, by the oracle."""
    a, b = exact_values(left[0]), exact_values(left[1])
    c, d = exact_values(right[0]), exact_values(right[1])
    ends = INTERVAL_METHODS[method.value]((a, b), (c.T, d.T))
    return [end.rounded(FLOAT64, rounding) for end, rounding in zip(ends, ("down", "up"), strict=True)]


@pytest.mark.parametrize("limit", [None, 24, 5])
@pytest.mark.parametrize("method", METHODS)
def test_ends(rng, method, limit):
    backend = ExactBackend(cost=lambda tile, pieces, groups: tile.rows * tile.columns * tile.depth)
    left, right = intervals(rng, 5, 3), intervals(rng, 4, 3)
    found = run(backend, left, right, method, workspace=limit)
    for got, expected in zip((found.lo, found.hi), wanted(left, right, method), strict=True):
        assert (got[0] == expected).all()
    assert found.invalid == 0


@pytest.mark.parametrize("method", METHODS)
def test_midpoints_and_radii(rng, exact, method):
    mid, rad = rng.integers(-5, 6, (2, 4, 3)).astype(float)
    rad = abs(rad)
    found = run(exact, (mid, rad), (rad - 1, rad), method, endpoints=False)
    expected = wanted((mid - rad, mid + rad), (np.full_like(rad, -1), 2 * rad - 1), method)
    for got, end in zip((found.lo, found.hi), expected, strict=True):
        assert (got[0] == end).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_marked_entry_is_the_hull(rng, exact, method):
    left, right = intervals(rng, 12, 2), intervals(rng, 12, 2)
    found = run(exact, left, right, method)
    hull = wanted(left, right, IntervalMethod.HULL)
    same = (found.lo[0] == hull[0]) & (found.hi[0] == hull[1])
    assert found.hull.shape == (1, 12, 12)
    assert (same | ~found.hull[0]).all()
    if method is IntervalMethod.HULL:
        assert found.hull.all()
    else:
        # small integers are not rounded, so the mask is not only sound but exact
        assert (found.hull[0] == same).all()
        assert 0 < found.hull.sum() < found.hull.size


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("depth", [1, 2, 3, 5, 8, 9])
def test_the_bits_of_the_plan_hold_the_largest_sums(exact, method, depth):
    # the backend raises where an integer is not determined
    full = float((1 << 53) - 1)
    wide = (np.full((1, depth), -full), np.full((1, depth), full))
    odd = (np.full((1, depth), -1.0), np.full((1, depth), full))
    high = (np.full((1, depth), full), np.full((1, depth), full))
    for left in (wide, odd, high):
        for right in (wide, odd, high):
            found = run(exact, left, right, method)
            for got, expected in zip((found.lo, found.hi), wanted(left, right, method), strict=True):
                assert (got[0] == expected).all()
            run(exact, left, right, method, endpoints=False)


def test_the_hull_is_corrected_only_in_blocks_that_need_it():
    backend = ExactBackend(cost=lambda tile, pieces, groups: tile.rows)
    left = np.array([[1.0], [-1.0]]), np.array([[2.0], [3.0]])
    right = np.array([[-2.0]]), np.array([[5.0]])
    run(backend, left, right, IntervalMethod.HULL, workspace=1)
    assert backend.calls["hull_excess"] == 1
    run(backend, left, right, IntervalMethod.SHARP, workspace=1)
    assert backend.calls["hull_excess"] == 1


@pytest.mark.parametrize("depth_limit", [1, 2, 100])
def test_the_hull_is_corrected_over_all_steps_of_the_inner_dimension(rng, depth_limit):
    backend = ExactBackend(cost=lambda tile, pieces, groups: tile.depth if tile.rows * tile.columns == 1 else 1000)
    left, right = intervals(rng, 2, 5), intervals(rng, 2, 5)
    found = run(backend, left, right, IntervalMethod.HULL, workspace=depth_limit)
    for got, expected in zip((found.lo, found.hi), wanted(left, right, IntervalMethod.HULL), strict=True):
        assert (got[0] == expected).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("endpoints", [True, False])
def test_invalid_intervals_are_found(exact, method, endpoints):
    good = np.array([[1.0, 2.0]])
    bad = np.array([[0.0, 3.0]]) if endpoints else np.array([[-1.0, 0.0]])
    assert run(exact, (good, good), (good, good), method, endpoints=endpoints).invalid == 0
    assert run(exact, (good, bad), (good, good), method, endpoints=endpoints).invalid > 0
    assert run(exact, (good, good), (good, bad), method, endpoints=endpoints).invalid > 0


@pytest.mark.parametrize("place", range(4))
def test_special_entries_are_refused(exact, place):
    ends = [np.ones((2, 2)) for _ in range(4)]
    ends[place][1, 0] = np.inf
    with pytest.raises(NonFinite):
        run(exact, ends[:2], ends[2:], IntervalMethod.SHARP)


def test_an_operand_that_changes_is_noticed(exact):
    from fractions import Fraction

    scan = exact.scan

    def spoilt(sides):
        found = scan(sides)
        sides[0][1].buffer[0, 0, 0] = Fraction(1 << 90)
        return found

    exact.strict = False
    exact.scan = spoilt
    ones = np.ones((2, 2))
    with pytest.raises(OperandChangedError):
        run(exact, (ones, ones), (ones, ones), IntervalMethod.SHARP)


@pytest.mark.parametrize("place", range(4))
def test_an_end_that_becomes_special_is_noticed(exact, place):
    scan = exact.scan

    def spoilt(sides):
        found = scan(sides)
        sides[place // 2][place % 2].buffer[1, 0, 0] = PLUS
        return found

    exact.scan = spoilt
    ends = [np.ones((2, 2, 2)) for _ in range(4)]
    with pytest.raises(OperandChangedError, match=r"^[1-9]"):
        run(exact, ends[:2], ends[2:], IntervalMethod.SHARP, pairing=Pairing((0, 1), (0, 1)))
    assert run(exact, ends[:2], ends[2:], IntervalMethod.SHARP, pairing=Pairing((0, 1), (0, 1)), checks=False)


@pytest.mark.parametrize("method", METHODS)
def test_host_synchronisations(exact, method):
    ones = (np.zeros((2, 2)), np.ones((2, 2)))
    work = run(exact, ones, ones, method).work
    assert work.host_syncs == exact.calls["scan"] + exact.calls["integers"] + exact.calls["total"]
    exact.calls.clear()
    work = run(exact, ones, ones, method, checks=False).work
    assert work.host_syncs == exact.calls["scan"] + exact.calls["integers"] + exact.calls["total"]


def test_progress(exact):
    seen = []
    ones = (np.zeros((2, 2)), np.ones((2, 2)))
    run(exact, ones, ones, IntervalMethod.HULL, progress=lambda *state: seen.append(state))
    assert seen == [(1, 1)]


def test_products_of_the_methods():
    # three products for Rump's bound, five for the sharp one, and one that proves hulls
    counts = {m: sum(map(len, interval_groups(m))) for m in METHODS}
    assert counts == {IntervalMethod.RUMP: 4, IntervalMethod.SHARP: 6, IntervalMethod.HULL: 6}


@pytest.mark.parametrize("shape", [(0, 2, 2), (2, 0, 2), (2, 2, 0)])
@pytest.mark.parametrize("method", METHODS)
def test_no_entries(exact, method, shape):
    rows, depth, columns = shape
    left, right = (np.zeros((rows, depth)), np.ones((rows, depth))), (np.zeros((columns, depth)),) * 2
    found = run(exact, left, right, method)
    assert found.lo.shape == found.hi.shape == found.hull.shape == (1, rows, columns)
    assert not any(found.lo.flat)
    assert found.hull.all()
