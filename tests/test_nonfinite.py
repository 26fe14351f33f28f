"""NaN and infinities: refused with the first index, or followed entry by entry as IEEE 754 has it."""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exactla as xl
from tests.operands import ALL_FORMATS, floats, from_encodings, whole_range
from tests.oracle import FORMATS, ROUNDINGS, assert_bits, exact, format_of, parts, propagated, same_bytes

FLOAT64 = FORMATS["float64"]


def specials(fmt):
    """Encodings of infinities, NaNs and zeros of a format."""
    found = [0, fmt.nan]
    if fmt.style != "fnuz":
        found += [fmt.sign_bit, fmt.nan | fmt.sign_bit]
    if fmt.infinity is not None:
        found += [fmt.infinity, fmt.infinity | fmt.sign_bit]
        if fmt.fraction_bits > 2:
            found.append(fmt.infinity | 1)  # a signalling NaN
    return found


def sprinkled(rng, fmt, shape, share, spread=6):
    """Finite entries with special ones among them."""
    x = floats(rng, fmt, shape, spread, zeros=0.1)
    special = from_encodings(rng.choice(specials(fmt), size=shape), fmt)
    return np.where(rng.random(shape) < share, special, x)


def assert_propagated(a, b, fmt):
    lo, hi = xl.mm_enclose(a, b, dtype=fmt.dtype, nonfinite="propagate")
    assert_bits(lo, propagated(a, b, fmt, "down"), fmt)
    assert_bits(hi, propagated(a, b, fmt, "up"), fmt)
    for rounding in ROUNDINGS:
        result = xl.mm(a, b, rounding=rounding, dtype=fmt.dtype, nonfinite="propagate")
        assert_bits(result, propagated(a, b, fmt, rounding), fmt)


# ---- propagate -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 0.02, 0.1, 0.5, 1])
@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_every_format(rng, engine, fmt, share):
    a, b = sprinkled(rng, fmt, (6, 5), share), sprinkled(rng, fmt, (5, 7), share)
    assert_propagated(a, b, fmt)


@pytest.mark.parametrize("target", ["float32", "float8_e4m3fn", "float8_e5m2fnuz", "bfloat16", "float8_e5m2"])
def test_into_another_format(rng, target):
    a, b = sprinkled(rng, FLOAT64, (5, 4), 0.1, spread=20), sprinkled(rng, FLOAT64, (4, 5), 0.1, spread=20)
    assert_propagated(a, b, FORMATS[target])


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_all_terms_of_two_special_or_simple_entries(fmt):
    simple = [*specials(fmt), 1, fmt.largest, fmt.largest | fmt.sign_bit, 1 << fmt.fraction_bits]
    values = from_encodings(simple, fmt)
    assert_propagated(values.reshape(-1, 1), values.reshape(1, -1), fmt)


def test_all_sums_of_two_terms():
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
    a = np.array(list(itertools.product(values, repeat=2)))
    assert_propagated(a, a.T, FLOAT64)


@settings(deadline=None, max_examples=100, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32 - 1),
    fmt=st.sampled_from(ALL_FORMATS),
    share=st.floats(0, 1),
    spread=st.floats(0, 1),
    shape=st.tuples(*[st.integers(0, 6)] * 3),
)
def test_drawn_matrices(seed, fmt, share, spread, shape):
    rng = np.random.default_rng(seed)
    rows, depth, columns = shape
    binades = round(spread * whole_range(fmt))
    a, b = (
        sprinkled(rng, fmt, (rows, depth), share / 3, binades),
        sprinkled(rng, fmt, (depth, columns), share / 3, binades),
    )
    assert_propagated(a, b, fmt)


def test_a_special_entry_changes_only_its_own_row_and_column(rng):
    a, b = floats(rng, FLOAT64, (6, 5), 30, zeros=0), floats(rng, FLOAT64, (5, 7), 30, zeros=0)
    clean = xl.mm(a, b)
    a[2, 3], b[1, 4] = np.nan, np.inf
    marked = xl.mm(a, b, nonfinite="propagate")
    rows, columns = [i for i in range(6) if i != 2], [j for j in range(7) if j != 4]
    same_bytes(marked[np.ix_(rows, columns)], clean[np.ix_(rows, columns)])
    assert np.isnan(marked[2]).all()
    assert (np.isinf(marked[rows, 4]) & (np.sign(marked[rows, 4]) == np.sign(a[rows, 1]))).all()


def test_finite_operands_do_not_notice_the_policy(rng):
    a, b = floats(rng, FLOAT64, (4, 5), 100), floats(rng, FLOAT64, (5, 4), 100)
    same_bytes(xl.mm(a, b, nonfinite="propagate"), xl.mm(a, b))


def test_overflow_is_no_infinite_operand():
    # the exact sum is finite although every partial sum of floats would overflow
    top = np.finfo(np.float64).max
    a, b = np.array([[top, top, -top]]), np.array([[2.0], [1.0], [3.0]])
    assert xl.mm(a, b, nonfinite="propagate")[0, 0] == 0.0
    assert xl.mm(a, b[::-1], nonfinite="propagate")[0, 0] == np.inf


@pytest.mark.parametrize("form", ["nt", "bmm", "stacks", "vectors", "gram"])
def test_every_form_of_the_call(rng, form):
    a, b = sprinkled(rng, FLOAT64, (5, 4), 0.15), sprinkled(rng, FLOAT64, (4, 6), 0.15)
    expected = {r: propagated(a, b, FLOAT64, r) for r in ROUNDINGS}
    p = {"nonfinite": "propagate"}
    if form == "nt":
        assert_bits(xl.mm_nt(a, b.T.copy(), **p), expected["nearest"], FLOAT64)
        assert_bits(xl.mm_enclose_nt(a, b.T.copy(), **p).lo, expected["down"], FLOAT64)
    elif form == "bmm":
        assert_bits(xl.bmm(a[None], b[None], **p)[0], expected["nearest"], FLOAT64)
        assert_bits(xl.bmm_enclose(a[None], b[None], **p).hi[0], expected["up"], FLOAT64)
    elif form == "stacks":
        clean = floats(rng, FLOAT64, (5, 4), 6)
        result = xl.mm(np.stack([clean, a, clean]), b, **p)
        assert_bits(result[1], expected["nearest"], FLOAT64)
        assert_bits(result[2], propagated(clean, b, FLOAT64, "nearest"), FLOAT64)
    elif form == "vectors":
        for i, j in np.ndindex(5, 6):
            assert_bits(xl.mm(a[i], b[:, j], **p), expected["nearest"][i, j], FLOAT64)
    else:
        result = xl.mm_enclose(a, **p)
        assert_bits(result.lo, propagated(a, a.T, FLOAT64, "down"), FLOAT64)
        assert_bits(result.hi, propagated(a, a.T, FLOAT64, "up"), FLOAT64)


def test_a_long_inner_dimension(rng, engine):
    depth = 70_000
    a, b = floats(rng, FORMATS["float32"], (3, depth), 4), floats(rng, FORMATS["float32"], (depth, 1), 4)
    b[depth - 1], a[1, depth - 1], a[2, 7] = 1, np.inf, -np.inf
    a[2, depth - 1], b[7] = np.inf, 1
    result = xl.mm(a, b, nonfinite="propagate")
    assert_bits(result[:1], (exact(a[:1]) @ exact(b)).rounded(FORMATS["float32"], "nearest"), FORMATS["float32"])
    assert result[1, 0] == np.inf
    assert np.isnan(result[2, 0])


def test_more_terms_than_a_short_count_could_hold():
    a = np.full((1, 70_000), np.inf)
    assert xl.mm(a, np.ones((70_000, 1)), nonfinite="propagate")[0, 0] == np.inf
    assert np.isnan(xl.mm(a, np.zeros((70_000, 1)), nonfinite="propagate")[0, 0])
    a[0, -1] = -np.inf
    assert np.isnan(xl.mm(a, np.ones((70_000, 1)), nonfinite="propagate")[0, 0])


def test_integers_beside_special_floats():
    a, b = np.array([[2, 0, -3]]), np.array([[np.inf], [1.0], [1.0]])
    assert xl.mm(a, b, nonfinite="propagate")[0, 0] == np.inf
    assert np.isnan(xl.mm(np.array([[0, 1, 1]], dtype=object), b, nonfinite="propagate")[0, 0])
    assert xl.mm(np.array([[False, True, True]]), np.array([[1.0], [-np.inf], [5]]), nonfinite="propagate") == -np.inf
    assert xl.mm(np.array([[-(10**400)]], dtype=object), [[np.inf]], nonfinite="propagate")[0, 0] == -np.inf


def test_every_library(rng, library):
    fmt = FORMATS["float32"]
    a, b = sprinkled(rng, fmt, (4, 3), 0.2), sprinkled(rng, fmt, (3, 4), 0.2)
    result = xl.mm(library.make(a), library.make(b), nonfinite="propagate")
    assert_bits(library.host(result), propagated(a, b, fmt, "nearest"), fmt)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_parts_are_sums_of_real_terms(rng, name):
    # each part is a real inner product of length 2 K, and follows the policy as such
    fmt = format_of(name)
    a, b = np.zeros((5, 4), dtype=name), np.zeros((4, 6), dtype=name)
    for x in (a, b):
        x.real, x.imag = sprinkled(rng, fmt, x.shape, 0.06), sprinkled(rng, fmt, x.shape, 0.06)
    result = xl.mm(a, b, nonfinite="propagate")
    real = propagated(np.hstack([a.real, -a.imag]), np.vstack([b.real, b.imag]), fmt, "nearest")
    imag = propagated(np.hstack([a.real, a.imag]), np.vstack([b.imag, b.real]), fmt, "nearest")
    assert_bits(result.real, real, fmt)
    assert_bits(result.imag, imag, fmt)
    assert not parts(np.ones(1))[1].numbers.any()


# ---- raise ---------------------------------------------------------------------------------------------------------

CALLS = {
    "mm": (xl.mm, "b", lambda x: x),
    "mm_enclose": (xl.mm_enclose, "b", lambda x: x),
    "mm_nt": (xl.mm_nt, "bt", lambda x: np.ascontiguousarray(x.T)),
    "mm_enclose_nt": (xl.mm_enclose_nt, "bt", lambda x: np.ascontiguousarray(x.T)),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", CALLS)
def test_the_first_bad_entry_is_named(rng, backend, name, value):
    call, right, form = CALLS[name]
    a, b = floats(rng, FLOAT64, (4, 5), 5), floats(rng, FLOAT64, (5, 3), 5)
    bad = b.copy()
    bad[2, 1] = bad[4, 2] = value
    with pytest.raises(xl.NonFiniteError) as caught:
        call(a, form(bad))
    first = (2, 1) if right == "b" else (1, 2)
    assert (caught.value.operand, caught.value.index) == (right, first)
    assert f"{right}[{first[0]}, {first[1]}]" in str(caught.value)
    assert "propagate" in str(caught.value)
    a[3, 0] = a[1, 4] = value
    with pytest.raises(xl.NonFiniteError) as caught:
        call(a, form(bad))
    assert (caught.value.operand, caught.value.index) == ("a", (1, 4))
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, xl.ExactlaError)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_every_special_encoding_is_refused(fmt):
    for encoding in set(specials(fmt)) - {0, fmt.sign_bit if fmt.style != "fnuz" else 0}:
        a = from_encodings([[0, 1, encoding]], fmt)
        with pytest.raises(xl.NonFiniteError, match=r"a\[0, 2\]"):
            xl.mm(a, a.T)
        with pytest.raises(xl.NonFiniteError, match=r"b\[2, 0\]"):
            xl.mm(np.ones((1, 3), dtype=fmt.dtype), a.T)


def test_the_index_is_that_of_the_argument(rng):
    a = floats(rng, FLOAT64, (2, 3, 4, 5), 5)
    a[1, 0, 2, 3] = np.nan
    with pytest.raises(xl.NonFiniteError, match=r"a\[1, 0, 2, 3\]"):
        xl.mm(a, np.ones((5, 2)))
    vector = np.array([1.0, 2.0, np.inf])
    with pytest.raises(xl.NonFiniteError, match=r"b\[2\]"):
        xl.mm(np.ones(3), vector)
    with pytest.raises(xl.NonFiniteError, match=r"a\[2, 0\]"):
        xl.mm_enclose(vector.reshape(3, 1))
    view = np.array([[np.nan, 1.0], [2.0, 3.0]])[::-1, ::-1]
    with pytest.raises(xl.NonFiniteError, match=r"a\[1, 1\]"):
        xl.mm(view, np.eye(2))
    repeated = np.broadcast_to(np.array([[1.0], [np.nan]]), (4, 2, 3))
    with pytest.raises(xl.NonFiniteError, match=r"a3\[0, 1, 0\]"):
        xl.bmm(repeated, np.ones((4, 3, 2)))


def test_complex_entries(rng):
    a = np.ones((2, 3), dtype=complex)
    a[1, 2] = complex(0, np.inf)
    with pytest.raises(xl.NonFiniteError, match=r"a\[1, 2\]"):
        xl.mm(a, np.ones((3, 2)))
    a[1, 0] = complex(np.nan, 0)
    with pytest.raises(xl.NonFiniteError, match=r"a\[1, 0\]"):
        xl.mm(a, np.ones((3, 2)))


@pytest.mark.parametrize("position", range(4))
def test_intervals_name_the_operand(position):
    for call, names in (
        (xl.mm_interval, ("a_mid", "a_rad", "b_mid", "b_rad")),
        (xl.mm_interval_bounds, ("a_lo", "a_hi", "b_lo", "b_hi")),
    ):
        for value in (np.nan, np.inf):
            operands = [np.zeros((2, 2)) for _ in range(4)]
            operands[position][1, 0] = value
            with pytest.raises(xl.NonFiniteError, match=rf"{names[position]}\[1, 0\]"):
                call(*operands)


def test_bad_entries_of_an_empty_product():
    with pytest.raises(xl.NonFiniteError, match=r"b\[0, 1\]"):
        xl.mm(np.ones((0, 1)), np.array([[1.0, np.nan]]))


def test_libraries_name_the_entry(library):
    a = library.make(np.array([[1.0, np.nan]], dtype=np.float32))
    with pytest.raises(xl.NonFiniteError, match=r"a\[0, 1\]"):
        xl.mm(a, library.make(np.ones((2, 1), dtype=np.float32)))
