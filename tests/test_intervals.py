"""Products of interval matrices: every method, from endpoints and from midpoints, bit for bit, and the hull mask."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exactla as xl
from tests.operands import ALL_FORMATS, floats, integers, whole_range
from tests.oracle import (
    FORMATS,
    INTERVAL_METHODS,
    assert_bits,
    assert_ends,
    encodings,
    exact,
    same_bytes,
)

FLOAT32, FLOAT64 = FORMATS["float32"], FORMATS["float64"]
METHODS = tuple(INTERVAL_METHODS)
bounded = settings(deadline=None, max_examples=120, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def ordered(x, y):
    """Endpoints from two arrays: the smaller and the larger of each pair, as -0 < +0."""
    smaller = x.astype(np.float64) <= y.astype(np.float64)
    return np.where(smaller, x, y), np.where(smaller, y, x)


def endpoints(rng, fmt, shape, spread, points=0.2):
    """Intervals of every kind: positive, negative, straddling zero, touching it, single points."""
    x, y = floats(rng, fmt, shape, spread, zeros=0.15), floats(rng, fmt, shape, spread, zeros=0.15)
    return ordered(x, np.where(rng.random(shape) < points, x, y))


def centred(rng, fmt, shape, spread):
    """Midpoints and radii, some of the radii zero."""
    radius = floats(rng, fmt, shape, spread, zeros=0.2)
    return floats(rng, fmt, shape, spread, zeros=0.15), np.where(radius.astype(np.float64) < 0, -radius, radius)


def from_centres(mid, rad):
    return exact(mid).minus(exact(rad)), exact(mid).plus(exact(rad))


def from_endpoints(lo, hi):
    return exact(lo), exact(hi)


def proven_hulls(method, a, b):
    """Where the bound of a method, before it is rounded, is the hull."""
    ends, hull = (INTERVAL_METHODS[m](a, b) for m in (method, "hull"))
    return np.array([ends[k].minus(hull[k]).numbers == 0 for k in (0, 1)], dtype=bool).all(axis=0)


def width(ends):
    return ends[1].minus(ends[0])


# ---- the three methods ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
@pytest.mark.parametrize("share", [0, 0.05, 1])
def test_from_endpoints(rng, engine, fmt, method, share):
    spread = round(share * whole_range(fmt))
    a, b = endpoints(rng, fmt, (4, 6), spread), endpoints(rng, fmt, (6, 3), spread)
    result = xl.mm_interval_bounds(*a, *b, method=method)
    assert_ends(result, INTERVAL_METHODS[method](from_endpoints(*a), from_endpoints(*b)), fmt)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
@pytest.mark.parametrize("share", [0, 0.05, 1])
def test_from_midpoints_and_radii(rng, engine, fmt, method, share):
    spread = round(share * whole_range(fmt))
    a, b = centred(rng, fmt, (4, 6), spread), centred(rng, fmt, (6, 3), spread)
    result = xl.mm_interval(*a, *b, method=method)
    assert_ends(result, INTERVAL_METHODS[method](from_centres(*a), from_centres(*b)), fmt)


@bounded
@given(seed=st.integers(0, 2**32 - 1), method=st.sampled_from(METHODS), data=st.data())
def test_small_integer_intervals(seed, method, data):
    # integer ends, where every kind of pair of intervals is met often
    rows, depth, columns = (data.draw(st.integers(1, 4)) for _ in range(3))
    rng = np.random.default_rng(seed)
    a = ordered(*(rng.integers(-3, 4, (rows, depth)).astype(float) for _ in range(2)))
    b = ordered(*(rng.integers(-3, 4, (depth, columns)).astype(float) for _ in range(2)))
    exact_a, exact_b = from_endpoints(*a), from_endpoints(*b)
    result, info = xl.mm_interval_bounds(*a, *b, method=method, return_info=True)
    assert_ends(result, INTERVAL_METHODS[method](exact_a, exact_b), FLOAT64)
    hull = INTERVAL_METHODS["hull"](exact_a, exact_b)
    assert (result.lo <= hull[0].rounded(FLOAT64, "down").view(np.float64)).all()
    assert (result.hi >= hull[1].rounded(FLOAT64, "up").view(np.float64)).all()
    same_bytes(info.hull, proven_hulls(method, exact_a, exact_b))


@bounded
@given(
    seed=st.integers(0, 2**32 - 1),
    fmt=st.sampled_from(ALL_FORMATS),
    method=st.sampled_from(METHODS),
    share=st.one_of(st.floats(0, 0.1), st.floats(0, 1)),
    shape=st.tuples(*[st.integers(0, 6)] * 3),
)
def test_any_shape_and_spread(seed, fmt, method, share, shape):
    rng = np.random.default_rng(seed)
    rows, depth, columns = shape
    spread = round(share * whole_range(fmt))
    a, b = endpoints(rng, fmt, (rows, depth), spread), endpoints(rng, fmt, (depth, columns), spread)
    result = xl.mm_interval_bounds(*a, *b, method=method)
    assert_ends(result, INTERVAL_METHODS[method](from_endpoints(*a), from_endpoints(*b)), fmt)
    a, b = centred(rng, fmt, (rows, depth), spread), centred(rng, fmt, (depth, columns), spread)
    result = xl.mm_interval(*a, *b, method=method)
    assert_ends(result, INTERVAL_METHODS[method](from_centres(*a), from_centres(*b)), fmt)


def test_sharp_is_the_default(rng):
    a, b = centred(rng, FLOAT64, (3, 5), 4), centred(rng, FLOAT64, (5, 3), 4)
    for x, y in zip(xl.mm_interval(*a, *b), xl.mm_interval(*a, *b, method="sharp"), strict=True):
        same_bytes(x, y)
    a, b = endpoints(rng, FLOAT64, (3, 5), 4), endpoints(rng, FLOAT64, (5, 3), 4)
    for x, y in zip(xl.mm_interval_bounds(*a, *b), xl.mm_interval_bounds(*a, *b, method="sharp"), strict=True):
        same_bytes(x, y)


# ---- the relations between them ------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0, 5, 200, 2000])
def test_hull_inside_sharp_inside_rump(rng, spread):
    a, b = endpoints(rng, FLOAT64, (6, 5), spread), endpoints(rng, FLOAT64, (5, 6), spread)
    rump, sharp, hull = (xl.mm_interval_bounds(*a, *b, method=m) for m in METHODS)
    assert (rump.lo <= sharp.lo).all()
    assert (sharp.lo <= hull.lo).all()
    assert (hull.hi <= sharp.hi).all()
    assert (sharp.hi <= rump.hi).all()


def test_the_factors_of_sharp_and_rump_over_the_hull(rng):
    for _ in range(20):
        a, b = endpoints(rng, FLOAT64, (3, 4), 2), endpoints(rng, FLOAT64, (4, 3), 2)
        exact_a, exact_b = from_endpoints(*a), from_endpoints(*b)
        rump, sharp, hull = (width(INTERVAL_METHODS[m](exact_a, exact_b)) for m in METHODS)
        for wide, factor in ((rump, 1500), (sharp, 1172)):
            assert (scaled(wide, 1000).minus(scaled(hull, factor)).numbers <= 0).all()


def scaled(x, factor):
    return x.each(lambda n: n * factor)


@pytest.mark.parametrize("name", ["float64", "float32", "float8_e5m2"])
def test_the_mask_tells_which_entries_are_hulls(rng, backend, name):
    fmt = FORMATS[name]
    for spread in (2, 30):
        a, b = endpoints(rng, fmt, (7, 2), spread), endpoints(rng, fmt, (2, 7), spread)
        exact_a, exact_b = from_endpoints(*a), from_endpoints(*b)
        hull = xl.mm_interval_bounds(*a, *b, method="hull")
        for method in METHODS:
            result, info = xl.mm_interval_bounds(*a, *b, method=method, return_info=True)
            mask = np.asarray(info.hull)
            same_bytes(mask, proven_hulls(method, exact_a, exact_b))
            equal = (encodings(result.lo) == encodings(hull.lo)) & (encodings(result.hi) == encodings(hull.hi))
            assert equal[mask].all()


def test_the_mask_from_midpoints(rng):
    a, b = centred(rng, FLOAT64, (6, 3), 3), centred(rng, FLOAT64, (3, 6), 3)
    for method in METHODS:
        _, info = xl.mm_interval(*a, *b, method=method, return_info=True)
        same_bytes(info.hull, proven_hulls(method, from_centres(*a), from_centres(*b)))
        assert "hull" in str(info)


def test_intervals_around_zero_are_hulls_for_sharp():
    # both straddle, and the midpoint of one is zero: the five-product form has no excess
    result, info = xl.mm_interval([[0.0]], [[2.0]], [[1.0]], [[3.0]], return_info=True)
    assert (result.lo[0, 0], result.hi[0, 0]) == (-8.0, 8.0)
    assert info.hull.all()


def test_where_two_straddling_entries_meet_sharp_is_wider_than_the_hull():
    a, b = ([[-1.0]], [[2.0]]), ([[-1.0]], [[2.0]])
    rump, sharp, hull = (xl.mm_interval_bounds(*a, *b, method=m) for m in METHODS)
    assert (hull.lo[0, 0], hull.hi[0, 0]) == (-2.0, 4.0)
    for method, result in (("rump", rump), ("sharp", sharp)):
        ends = INTERVAL_METHODS[method](from_endpoints(*map(np.array, a)), from_endpoints(*map(np.array, b)))
        assert_ends(result, ends, FLOAT64)
    assert sharp.lo[0, 0] < hull.lo[0, 0]


# ---- special intervals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("spread", [0, 30, 2000])
def test_point_intervals_give_the_tightest_enclosure(rng, backend, method, spread):
    a, b = floats(rng, FLOAT64, (4, 5), spread), floats(rng, FLOAT64, (5, 4), spread)
    expected = xl.mm_enclose(a, b)
    zero_a, zero_b = np.zeros_like(a), np.zeros_like(b)
    for result in (
        xl.mm_interval(a, zero_a, b, zero_b, method=method),
        xl.mm_interval_bounds(a, a, b, b, method=method),
    ):
        same_bytes(result.lo, expected.lo)
        same_bytes(result.hi, expected.hi)


@pytest.mark.parametrize("method", METHODS)
def test_radii_far_below_a_unit_in_the_last_place(rng, method):
    mid_a, mid_b = floats(rng, FLOAT64, (3, 4), 3), floats(rng, FLOAT64, (4, 3), 3)
    for exponent in (-60, -200, -600):
        rad_a, rad_b = np.abs(mid_a) * 2.0**exponent, np.abs(mid_b) * 2.0**exponent
        result = xl.mm_interval(mid_a, rad_a, mid_b, rad_b, method=method)
        ends = INTERVAL_METHODS[method](from_centres(mid_a, rad_a), from_centres(mid_b, rad_b))
        assert_ends(result, ends, FLOAT64)
    smallest = np.full_like(mid_a, 2.0**-1074)
    result = xl.mm_interval(mid_a, smallest, mid_b, smallest.T, method=method)
    ends = INTERVAL_METHODS[method](from_centres(mid_a, smallest), from_centres(mid_b, smallest.T))
    assert_ends(result, ends, FLOAT64)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_intervals_as_wide_as_the_format(fmt, method):
    largest = fmt.value(fmt.largest)
    top = np.array([[float(largest)]]).astype(fmt.dtype)
    one = np.ones((1, 1), dtype=fmt.dtype)
    for b in ((one, one), (-one, one), (-top, top)):
        result = xl.mm_interval_bounds(-top, top, *b, method=method)
        assert_ends(result, INTERVAL_METHODS[method](from_endpoints(-top, top), from_endpoints(*b)), fmt)
        result = xl.mm_interval(top, top, *b[1:], one, method=method)
        assert_ends(result, INTERVAL_METHODS[method](from_centres(top, top), from_centres(b[1], one)), fmt)


def test_signed_zeros_as_ends():
    for lo, hi in ((-0.0, 0.0), (0.0, -0.0), (-0.0, -0.0)):
        result = xl.mm_interval_bounds([[lo]], [[hi]], [[-1.0]], [[1.0]])
        for end in result:
            assert_bits(end, np.zeros((1, 1), dtype=np.uint64), FLOAT64)
    result = xl.mm_interval([[1.0]], [[-0.0]], [[3.0]], [[0.0]])
    assert (result.lo, result.hi) == ([[3.0]], [[3.0]])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["int64", "uint64", "int8", "bool"])
def test_integer_intervals(rng, method, name):
    a = np.sort(integers(rng, name, (2, 3, 4)), axis=0)
    b = np.sort(integers(rng, name, (2, 4, 2)), axis=0)
    result = xl.mm_interval_bounds(*a, *b, method=method)
    assert_ends(result, INTERVAL_METHODS[method](from_endpoints(*a), from_endpoints(*b)), FLOAT64)


@pytest.mark.parametrize("method", METHODS)
def test_python_integers_as_ends(method):
    a = np.array([[[-(10**40), 3]], [[10**41, 10**30]]], dtype=object)
    b = np.array([[[7], [-(2**90)]], [[8], [2**91]]], dtype=object)
    result = xl.mm_interval_bounds(*a, *b, method=method)
    assert_ends(result, INTERVAL_METHODS[method](from_endpoints(*a), from_endpoints(*b)), FLOAT64)


@pytest.mark.parametrize("method", METHODS)
def test_mixed_types(rng, method):
    mid, rad = integers(rng, "int8", (3, 4)), np.abs(floats(rng, FLOAT32, (3, 4), 5))
    b = endpoints(rng, FORMATS["float16"], (4, 2), 5)
    b_mid, b_rad = b[0], np.abs(b[1])
    result = xl.mm_interval(mid, rad, b_mid, b_rad, method=method)
    assert_ends(result, INTERVAL_METHODS[method](from_centres(mid, rad), from_centres(b_mid, b_rad)), FLOAT32)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("target", ALL_FORMATS, ids=str)
def test_into_another_format(rng, method, target):
    a, b = endpoints(rng, FLOAT64, (3, 4), 12), endpoints(rng, FLOAT64, (4, 3), 12)
    result = xl.mm_interval_bounds(*a, *b, method=method, dtype=target.dtype)
    assert_ends(result, INTERVAL_METHODS[method](from_endpoints(*a), from_endpoints(*b)), target)


# ---- shapes, views, libraries --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("left", "right"),
    [((5,), (5,)), ((3, 5), (5,)), ((5,), (5, 2)), ((4, 3, 5), (5, 2)), ((2, 1, 3, 5), (4, 5, 2)), ((3, 0), (0, 2))],
)
def test_vectors_stacks_and_broadcasting(rng, method, left, right):
    a, b = endpoints(rng, FLOAT64, left, 6), endpoints(rng, FLOAT64, right, 6)
    result, info = xl.mm_interval_bounds(*a, *b, method=method, return_info=True)
    shape = np.matmul(np.zeros(left), np.zeros(right)).shape
    assert np.shape(result.lo) == np.shape(result.hi) == np.shape(info.hull) == shape
    lefts = [x.reshape(stacked(left if len(left) > 1 else (1, *left))) for x in a]
    rights = [x.reshape(stacked(right if len(right) > 1 else (*right, 1))) for x in b]
    flat = (-1, lefts[0].shape[1], rights[0].shape[2])
    for x, y, k in matrices(left, right):
        ends = INTERVAL_METHODS[method](from_endpoints(*(e[x] for e in lefts)), from_endpoints(*(e[y] for e in rights)))
        assert_ends(xl.Enclosure(*(np.reshape(e, flat)[k] for e in result)), ends, FLOAT64)


def stacked(shape):
    """The shape with all axes before the last two merged into one."""
    return (int(np.prod(shape[:-2], dtype=int)), *shape[-2:])


def matrices(left, right):
    """Positions of the two matrices that make each matrix of the result."""
    stacks = np.broadcast_shapes(left[:-2], right[:-2])
    positions = [np.arange(int(np.prod(s[:-2], dtype=int))).reshape(s[:-2]) for s in (left, right)]
    pairs = zip(*(np.broadcast_to(p, stacks).ravel().tolist() for p in positions), strict=True)
    return [(x, y, k) for k, (x, y) in enumerate(pairs)]


def test_views(rng):
    a, b = endpoints(rng, FLOAT64, (6, 8), 10), endpoints(rng, FLOAT64, (8, 4), 10)
    expected = xl.mm_interval_bounds(*a, *b)
    lo = np.asfortranarray(a[0])
    hi = a[1][::-1].copy()[::-1]
    hi.flags.writeable = False
    result = xl.mm_interval_bounds(lo, hi, *b)
    same_bytes(result.lo, expected.lo)
    same_bytes(result.hi, expected.hi)
    point = np.broadcast_to(np.float64(0.5), (6, 8))
    result = xl.mm_interval(a[0], point, b[0], np.broadcast_to(np.float64(0.0), (8, 4)))
    ends = INTERVAL_METHODS["sharp"](from_centres(a[0], point.copy()), from_centres(b[0], np.zeros((8, 4))))
    assert_ends(result, ends, FLOAT64)


def test_rows_do_not_see_their_neighbours(rng):
    a, b = endpoints(rng, FLOAT64, (6, 5), 4), endpoints(rng, FLOAT64, (5, 4), 4)
    wide = endpoints(rng, FLOAT64, (5,), 2000)
    a[0][2], a[1][2] = wide
    for method in METHODS:
        whole = xl.mm_interval_bounds(*a, *b, method=method)
        for i in range(6):
            part = xl.mm_interval_bounds(a[0][i : i + 1], a[1][i : i + 1], *b, method=method)
            same_bytes(part.lo, whole.lo[i : i + 1])
            same_bytes(part.hi, whole.hi[i : i + 1])


@pytest.mark.parametrize("method", METHODS)
def test_every_library(rng, library, method):
    a, b = endpoints(rng, FLOAT32, (3, 5), 8), endpoints(rng, FLOAT32, (5, 2), 8)
    arrays = [library.make(x) for x in (*a, *b)]
    result, info = xl.mm_interval_bounds(*arrays, method=method, return_info=True)
    host = xl.Enclosure(*(library.host(end) for end in result))
    assert library.device(result.lo) == library.device(arrays[0])
    assert_ends(host, INTERVAL_METHODS[method](from_endpoints(*a), from_endpoints(*b)), FLOAT32)
    _, plain = xl.mm_interval_bounds(*a, *b, method=method, return_info=True)
    same_bytes(library.host(info.hull), plain.hull)


def test_a_long_inner_dimension(rng, engine):
    a, b = endpoints(rng, FLOAT32, (1, 20_000), 6), endpoints(rng, FLOAT32, (20_000, 2), 6)
    result = xl.mm_interval_bounds(*a, *b)
    assert_ends(result, INTERVAL_METHODS["sharp"](from_endpoints(*a), from_endpoints(*b)), FLOAT32)


def test_a_wider_answer_is_noticed(rng):
    a, b = endpoints(rng, FLOAT64, (3, 4), 4), endpoints(rng, FLOAT64, (4, 3), 4)
    result = xl.mm_interval_bounds(*a, *b, method="hull")
    ends = INTERVAL_METHODS["hull"](from_endpoints(*a), from_endpoints(*b))
    assert_ends(result, ends, FLOAT64)
    wider = result.hi.copy()
    wider[1, 1] = np.nextafter(wider[1, 1], np.inf)
    with pytest.raises(AssertionError, match=r"1 of 9 entries differ; the first is \[1, 1\]"):
        assert_ends(xl.Enclosure(result.lo, wider), ends, FLOAT64)


def test_the_report_prints_no_whole_arrays():
    _, info = xl.mm_interval(np.eye(20), np.zeros((20, 20)), np.eye(20), np.zeros((20, 20)), return_info=True)
    assert info.hull.shape == (20, 20)
    assert str(info).endswith("hull mask (20, 20)")
    assert "True" not in repr(info).replace("lossless=True", "")
    assert len(repr(info)) < 300
