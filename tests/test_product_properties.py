"""Products of drawn operands (hypothesis): any format, spread, shape and rounding, bit for bit against the oracle."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import exactla as xl
from tests.operands import ALL_FORMATS, big_integers, cancelling, floats, from_encodings, integers, whole_range
from tests.oracle import (
    FORMATS,
    INTEGER_NAMES,
    ROUNDINGS,
    assert_complex,
    assert_enclosure,
    assert_product,
    encodings,
    format_of,
    same_bytes,
)

FLOAT64 = FORMATS["float64"]
bounded = settings(deadline=None, max_examples=150, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
few = settings(bounded, max_examples=40)

formats = st.sampled_from(ALL_FORMATS)
seeds = st.integers(0, 2**32 - 1)
dimensions = st.integers(0, 12)
shares = st.one_of(st.just(0.0), st.floats(0, 0.1), st.floats(0, 1), st.just(1.0))
roundings = st.sampled_from(ROUNDINGS)


@st.composite
def entries(draw, fmt, rows, columns):
    """A matrix of finite encodings, each drawn on its own, so that hypothesis can shrink to the simplest entry."""
    magnitudes = st.one_of(
        st.sampled_from([0, 1, 1 << fmt.fraction_bits, fmt.largest]),
        st.integers(0, fmt.largest),
    )
    drawn = draw(st.lists(st.tuples(magnitudes, st.booleans()), min_size=rows * columns, max_size=rows * columns))
    bits = [m | (fmt.sign_bit if s and (m or fmt.style != "fnuz") else 0) for m, s in drawn]
    return from_encodings(np.array(bits, dtype=fmt.word).reshape(rows, columns), fmt)


@bounded
@given(data=st.data(), fmt=formats, rounding=roundings)
def test_small_products_of_any_encodings(data, fmt, rounding):
    rows, depth, columns = (data.draw(st.integers(1, 3)) for _ in range(3))
    a, b = data.draw(entries(fmt, rows, depth)), data.draw(entries(fmt, depth, columns))
    assert_enclosure(xl.mm_enclose(a, b), a, b, fmt)
    assert_product(xl.mm(a, b, rounding=rounding), a, b, fmt, rounding)


@bounded
@given(seed=seeds, fmt=formats, share=shares, rows=dimensions, depth=dimensions, columns=dimensions, rounding=roundings)
def test_any_shape_and_spread(seed, fmt, share, rows, depth, columns, rounding):
    rng = np.random.default_rng(seed)
    spread = round(share * whole_range(fmt))
    a, b = floats(rng, fmt, (rows, depth), spread), floats(rng, fmt, (depth, columns), spread)
    assert_enclosure(xl.mm_enclose(a, b), a, b, fmt)
    assert_product(xl.mm(a, b, rounding=rounding), a, b, fmt, rounding)


@bounded
@given(seed=seeds, left=formats, right=formats, target=formats, shares=st.tuples(shares, shares), rounding=roundings)
def test_mixed_formats_and_spreads_into_any_format(seed, left, right, target, shares, rounding):
    rng = np.random.default_rng(seed)
    a = floats(rng, left, (4, 6), round(shares[0] * whole_range(left)))
    b = floats(rng, right, (6, 3), round(shares[1] * whole_range(right)))
    assert_product(xl.mm(a, b, rounding=rounding, dtype=target.dtype), a, b, target, rounding)
    assert_enclosure(xl.mm_enclose(a, b, dtype=target.dtype), a, b, target)


@bounded
@given(seed=seeds, fmt=formats, share=shares, rounding=roundings)
def test_sums_that_cancel(seed, fmt, share, rounding):
    a, b = cancelling(np.random.default_rng(seed), fmt, 3, 5, 4, round(share * whole_range(fmt)))
    assert_enclosure(xl.mm_enclose(a, b), a, b, fmt)
    assert_product(xl.mm(a, b, rounding=rounding), a, b, fmt, rounding)


@few
@given(seed=seeds, depth=st.integers(0, 300_000), fmt=formats, share=st.floats(0, 0.05))
@example(seed=1, depth=0, fmt=FLOAT64, share=0.0)
@example(seed=2, depth=300_000, fmt=FLOAT64, share=0.05)
@example(seed=3, depth=131_073, fmt=FORMATS["float8_e5m2"], share=1.0)
def test_any_inner_dimension(seed, depth, fmt, share):
    rng = np.random.default_rng(seed)
    spread = round(share * whole_range(fmt))
    a, b = floats(rng, fmt, (1, depth), spread), floats(rng, fmt, (depth, 1), spread)
    assert_enclosure(xl.mm_enclose(a, b), a, b, fmt)


@bounded
@given(seed=seeds, left=st.sampled_from(INTEGER_NAMES), right=st.sampled_from(INTEGER_NAMES), target=formats)
def test_integers_into_any_format(seed, left, right, target):
    rng = np.random.default_rng(seed)
    a, b = integers(rng, left, (3, 7)), integers(rng, right, (7, 4))
    assert_enclosure(xl.mm_enclose(a, b, dtype=target.dtype), a, b, target)


@bounded
@given(data=st.data(), bits=st.integers(1, 2000), rounding=roundings)
def test_python_integers(data, bits, rounding):
    numbers = st.integers(-(2**bits), 2**bits)
    a = np.array(data.draw(st.lists(numbers, min_size=4, max_size=4)), dtype=object).reshape(2, 2)
    b = np.array(data.draw(st.lists(numbers, min_size=4, max_size=4)), dtype=object).reshape(2, 2)
    assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)
    assert_product(xl.mm(a, b, rounding=rounding, dtype="float32"), a, b, FORMATS["float32"], rounding)


@few
@given(seed=seeds, bits=st.integers(1, 400), share=shares)
def test_python_integers_times_floats(seed, bits, share):
    rng = np.random.default_rng(seed)
    a, b = big_integers(rng, (3, 4), bits), floats(rng, FLOAT64, (4, 3), round(share * whole_range(FLOAT64)))
    assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)


cores = st.tuples(*[st.integers(0, 4)] * 3)
stack_shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@bounded
@given(
    seed=seeds,
    left=stack_shapes,
    right=stack_shapes,
    core=st.tuples(*[st.integers(0, 4)] * 3),
    vectors=st.integers(0, 3),
)
def test_stacks_broadcast_as_in_matmul(seed, left, right, core, vectors):
    rng = np.random.default_rng(seed)
    rows, depth, columns = core
    a = floats(rng, FLOAT64, (depth,) if vectors & 1 else (*left, rows, depth), 10)
    b = floats(rng, FLOAT64, (depth,) if vectors & 2 else (*right, depth, columns), 10)
    try:
        np.matmul(np.zeros(a.shape), np.zeros(b.shape))
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            xl.mm_enclose(a, b)
        return
    assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)


@bounded
@given(seed=seeds, fmt=formats, share=shares, data=st.data())
def test_rows_columns_and_batches_do_not_see_each_other(seed, fmt, share, data):
    rng = np.random.default_rng(seed)
    a, b = floats(rng, fmt, (2, 6, 5), 4), floats(rng, fmt, (2, 5, 7), 4)
    spread = round(share * whole_range(fmt))
    a[0, data.draw(st.integers(0, 5))] = floats(rng, fmt, (5,), spread)
    b[1, :, data.draw(st.integers(0, 6))] = floats(rng, fmt, (5,), spread)
    rows = slice(*sorted(data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))))
    columns = slice(*sorted(data.draw(st.tuples(st.integers(0, 7), st.integers(0, 7)))))
    whole = xl.mm_enclose(a, b)
    for batch in range(2):
        part = xl.mm_enclose(a[batch, rows], b[batch, :, columns])
        same_bytes(part.lo, whole.lo[batch, rows, columns])
        same_bytes(part.hi, whole.hi[batch, rows, columns])


@bounded
@given(seed=seeds, fmt=formats, share=shares)
def test_roundings_and_enclosure_agree(seed, fmt, share):
    rng = np.random.default_rng(seed)
    spread = round(share * whole_range(fmt))
    a, b = floats(rng, fmt, (4, 5), spread), floats(rng, fmt, (5, 4), spread)
    lo, hi = xl.mm_enclose(a, b)
    down, up, nearest, zero = (encodings(xl.mm(a, b, rounding=r)) for r in ("down", "up", "nearest", "zero"))
    assert (encodings(lo) == down).all()
    assert (encodings(hi) == up).all()
    assert ((nearest == down) | (nearest == up)).all()
    assert ((zero == down) | (zero == up)).all()


@bounded
@given(seed=seeds, fmt=formats, share=shares, order=st.permutations(range(9)))
def test_the_order_of_the_terms_does_not_show(seed, fmt, share, order):
    rng = np.random.default_rng(seed)
    spread = round(share * whole_range(fmt))
    a, b = floats(rng, fmt, (3, 9), spread), floats(rng, fmt, (9, 3), spread)
    same_bytes(xl.mm(a, b), xl.mm(a[:, order], b[order]))


@bounded
@given(seed=seeds, share=shares, name=st.sampled_from(["complex64", "complex128"]), rounding=roundings)
def test_complex_products(seed, share, name, rounding):
    fmt = format_of(name)
    rng = np.random.default_rng(seed)
    spread = round(share * whole_range(fmt))
    a, b = np.empty((3, 4), dtype=name), np.empty((4, 2), dtype=name)
    for x in (a, b):
        x.real, x.imag = floats(rng, fmt, x.shape, spread), floats(rng, fmt, x.shape, spread)
    assert_complex(xl.mm(a, b, rounding=rounding), a, b, name, rounding)
    result = xl.mm_enclose(a, b)
    assert_complex(result.lo, a, b, name, "down")
    assert_complex(result.hi, a, b, name, "up")


@bounded
@given(data=st.data(), target=formats, rounding=roundings)
def test_values_halfway_between_two_neighbours(data, target, rounding):
    significands = st.integers(0, (1 << target.precision) - 1)
    halves = st.tuples(significands, st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 1]))
    numbers = [(2 * s + half) * sign for s, half, sign in data.draw(st.lists(halves, min_size=1, max_size=20))]
    step = data.draw(st.integers(target.least_exponent, target.least_exponent + target.exponent_fields))
    a = np.array(numbers, dtype=object).reshape(-1, 1)
    b = np.array([[2.0 ** max(step - 1, -1074)]])
    assert_product(xl.mm(a, b, rounding=rounding, dtype=target.dtype), a, b, target, rounding)
