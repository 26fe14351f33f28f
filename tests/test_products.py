"""The product calls bit for bit against the exact oracle: dimensions, spreads, roundings, forms of the call."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import exactla as xl
from exactla import registry
from tests.operands import (
    ALL_FORMATS,
    all_ties,
    cancelling,
    floats,
    from_encodings,
    near_ties,
    operand,
    whole_range,
)
from tests.oracle import (
    FORMATS,
    ROUNDINGS,
    assert_bits,
    assert_enclosure,
    assert_ends,
    assert_product,
    exact,
    same_bytes,
)

FLOAT32, FLOAT64 = FORMATS["float32"], FORMATS["float64"]
EIGHT_BITS = [f for f in ALL_FORMATS if f.bits == 8]


# ---- dimensions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(1, 34))
def test_every_dimension(rng, backend, n):
    for shape in ((n, 3, 2), (2, n, 3), (3, 2, n), (n, n, n)):
        rows, depth, columns = shape
        a, b = floats(rng, FLOAT64, (rows, depth), 20), floats(rng, FLOAT64, (depth, columns), 20)
        assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)
        a, b = floats(rng, FLOAT32, (rows, depth), 20), floats(rng, FLOAT32, (depth, columns), 20)
        assert_product(xl.mm(a, b), a, b, FLOAT32)


@pytest.mark.parametrize("shape", [(300, 7, 5), (5, 1000, 3), (2, 4, 513), (129, 130, 65)])
def test_larger_dimensions(rng, backend, shape):
    rows, depth, columns = shape
    a, b = floats(rng, FLOAT64, (rows, depth), 30), floats(rng, FLOAT64, (depth, columns), 30)
    assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)


@pytest.mark.parametrize("depth", [0, 1, 2, 1040, 1041, (1 << 17) - 1, (1 << 17) + 1, 300_000])
@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16", "int64", "bool"])
def test_any_inner_dimension(rng, backend, depth, name):
    a, b = operand(rng, name, (2, depth)), operand(rng, name, (depth, 1))
    fmt, value = FORMATS.get(name, FLOAT64), exact(a) @ exact(b)
    assert_ends(xl.mm_enclose(a, b), (value, value), fmt)
    assert_bits(xl.mm(a, b), value.rounded(fmt, "nearest"), fmt)


@pytest.mark.parametrize("value", ["largest", "smallest"])
@pytest.mark.parametrize("fmt", [FLOAT64, FLOAT32, FORMATS["float8_e5m2"]], ids=str)
def test_long_sums_of_the_most_extreme_entries(fmt, value):
    depth = 200_000
    entry = from_encodings([fmt.largest if value == "largest" else 1], fmt)
    a, b = np.repeat(entry, depth).reshape(1, depth), np.repeat(entry, depth).reshape(depth, 1)
    a[0, ::3] = -a[0, ::3]
    assert_enclosure(xl.mm_enclose(a, b), a, b, fmt)


# ---- exponent spreads ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
@pytest.mark.parametrize("share", [0, 0.01, 0.1, 0.3, 0.7, 1])
def test_exponent_spreads_up_to_the_whole_range_of_the_format(rng, engine, fmt, share):
    spread = round(share * whole_range(fmt))
    a, b = floats(rng, fmt, (5, 8), spread), floats(rng, fmt, (8, 6), spread)
    assert_enclosure(xl.mm_enclose(a, b), a, b, fmt)
    for rounding in ROUNDINGS:
        assert_product(xl.mm(a, b, rounding=rounding), a, b, fmt, rounding)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
@pytest.mark.parametrize("share", [0, 0.2, 1])
def test_cancellation(rng, backend, fmt, share):
    a, b = cancelling(rng, fmt, 5, 4, 6, round(share * whole_range(fmt)))
    assert_enclosure(xl.mm_enclose(a, b), a, b, fmt)
    for rounding in ROUNDINGS:
        assert_product(xl.mm(a, b, rounding=rounding), a, b, fmt, rounding)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_the_extreme_encodings_of_a_format(fmt):
    magnitudes = [0, 1, 2, 1 << fmt.fraction_bits, (1 << fmt.fraction_bits) - 1, fmt.largest, fmt.largest - 1]
    negative = [m | fmt.sign_bit for m in magnitudes if m or fmt.style != "fnuz"]
    values = from_encodings(magnitudes + negative, fmt)
    column, row = values.reshape(-1, 1), values.reshape(1, -1)
    assert_enclosure(xl.mm_enclose(column, row), column, row, fmt)
    for rounding in ROUNDINGS:
        assert_product(xl.mm(column, row, rounding=rounding), column, row, fmt, rounding)


@pytest.mark.parametrize("fmt", EIGHT_BITS, ids=str)
def test_all_products_of_two_values_of_an_8_bit_format(fmt):
    every = from_encodings([e for e in range(256) if fmt.is_finite(e)], fmt)
    column, row = every.reshape(-1, 1), every.reshape(1, -1)
    assert_product(xl.mm(column, row), column, row, fmt)


# ---- rounding into another format ---------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ALL_FORMATS, ids=str)
@pytest.mark.parametrize("source", ALL_FORMATS, ids=str)
def test_four_roundings_into_another_format(rng, source, target):
    a, b = floats(rng, source, (6, 5), 10), floats(rng, source, (5, 7), 10)
    assert_enclosure(xl.mm_enclose(a, b, dtype=target.dtype), a, b, target)
    for rounding in ROUNDINGS:
        result = xl.mm(a, b, rounding=rounding, dtype=target.dtype)
        assert_product(result, a, b, target, rounding)


@pytest.mark.parametrize("target", ALL_FORMATS, ids=str)
def test_wide_operands_into_every_format(rng, backend, target):
    # cheaper plans for wide operands have to decide the same roundings, near zero and past the largest value too
    for spread, shape in itertools.product((70, 300, 2000), ((6, 3, 7), (9, 40, 8))):
        rows, depth, columns = shape
        a, b = floats(rng, FLOAT64, (rows, depth), spread), floats(rng, FLOAT64, (depth, columns), spread)
        value = exact(a) @ exact(b)
        assert_ends(xl.mm_enclose(a, b, dtype=target.dtype), (value, value), target)
        for rounding in ROUNDINGS:
            result = xl.mm(a, b, rounding=rounding, dtype=target.dtype)
            assert_bits(result, value.rounded(target, rounding), target)


@pytest.mark.parametrize("target", [f for f in ALL_FORMATS if f.infinity is None], ids=str)
def test_small_sums_between_bounds_that_overflow_to_one_nan(backend, target):
    # without infinities both signs overflow to the same NaN: two equal roundings then prove nothing
    a, b = np.array([[2.0**-390, 2.0**-650], [1.0, 2.0**-500]]), np.array([[0.0, 1.0], [2.0**540, 2.0**600]])
    for rounding in ROUNDINGS:
        assert_product(xl.mm(a, b, rounding=rounding, dtype=target.dtype), a, b, target, rounding)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_wide_operands_that_cancel(rng, backend, fmt):
    for share in (0.3, 1):
        a, b = cancelling(rng, fmt, 9, 20, 8, round(share * whole_range(fmt)))
        value = exact(a) @ exact(b)
        assert_ends(xl.mm_enclose(a, b), (value, value), fmt)
        for rounding in ROUNDINGS:
            assert_bits(xl.mm(a, b, rounding=rounding), value.rounded(fmt, rounding), fmt)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("target", ALL_FORMATS, ids=str)
def test_ties_and_their_neighbours_over_the_whole_range_of_a_format(rng, target, rounding):
    a, b = near_ties(rng, target, 250)
    assert_product(xl.mm(a, b, rounding=rounding, dtype=target.dtype), a, b, target, rounding)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("target", EIGHT_BITS, ids=str)
def test_every_value_and_every_tie_of_an_8_bit_format(target, rounding):
    ties = all_ties(target)
    a = np.hstack([ties, np.ones_like(ties)])
    b = np.array([[1.0, 1.0, 1.0], [0.0, 2.0**-1074, -(2.0**-1074)]])
    assert_product(xl.mm(a, b, rounding=rounding, dtype=target.dtype), a, b, target, rounding)


@pytest.mark.parametrize(
    "number",
    [2**53 + 1, 2**53 + 3, 2**1024 - 2**970, 2**1024 - 2**970 - 1, 2**1024, 2**1025 - 1, 2**1025, 2**1026 - 1, 10**400],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_on_the_ties_of_float64_and_at_its_overflow(number, sign):
    a, b = np.array([[sign * number]], dtype=object), np.array([[1]], dtype=object)
    assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)
    for rounding in ROUNDINGS:
        assert_product(xl.mm(a, b, rounding=rounding), a, b, FLOAT64, rounding)


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("float32"), "<f4", "single"])
def test_a_dtype_may_be_a_name_a_type_or_a_dtype(dtype):
    assert np.asarray(xl.mm(np.eye(2), np.eye(2), dtype=dtype)).dtype == np.float32


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_a_dtype_may_be_named_or_given_as_the_type_of_ml_dtypes(fmt):
    for dtype in (fmt.name, fmt.dtype, fmt.dtype.type):
        assert xl.mm(np.eye(2), np.eye(2), dtype=dtype).dtype == fmt.dtype


def test_a_rounding_may_be_the_member_of_the_enumeration():
    a = np.array([[1.0, 2.0**-60]])
    assert xl.mm(a, np.ones((2, 1)), rounding=xl.Rounding.UP)[0, 0] == np.nextafter(1, 2)


# ---- the forms of the call ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 5, 3), (1, 1, 1), (3, 0, 2), (0, 4, 2), (17, 33, 9)])
@pytest.mark.parametrize("name", ["float64", "float32", "float8_e4m3fn", "int64"])
def test_the_transposed_form(rng, backend, shape, name):
    rows, depth, columns = shape
    a, bt = operand(rng, name, (rows, depth)), operand(rng, name, (columns, depth))
    fmt = FORMATS.get(name, FLOAT64)
    assert_enclosure(xl.mm_enclose_nt(a, bt), a, bt.T, fmt)
    for rounding in ROUNDINGS:
        assert_product(xl.mm_nt(a, bt, rounding=rounding), a, bt.T, fmt, rounding)
    assert_product(xl.mm_nt(a, bt, dtype="float32"), a, bt.T, FLOAT32)


def test_the_transposed_form_of_stacks(rng):
    a, bt = floats(rng, FLOAT64, (2, 1, 3, 5), 30), floats(rng, FLOAT64, (4, 2, 5), 30)
    assert_enclosure(xl.mm_enclose_nt(a, bt), a, np.swapaxes(bt, -1, -2), FLOAT64)
    assert_product(xl.mm_nt(a, bt), a, np.swapaxes(bt, -1, -2), FLOAT64)


@pytest.mark.parametrize("batch", [0, 1, 6])
@pytest.mark.parametrize("name", ["float64", "bfloat16", "uint64"])
def test_the_batched_form(rng, backend, batch, name):
    a, b = operand(rng, name, (batch, 3, 4), 100), operand(rng, name, (batch, 4, 5), 100)
    fmt = FORMATS.get(name, FLOAT64)
    assert_enclosure(xl.bmm_enclose(a, b), a, b, fmt)
    for rounding in ROUNDINGS:
        assert_product(xl.bmm(a, b, rounding=rounding), a, b, fmt, rounding)


@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (3, 0), (0, 3), (2, 4, 3), (20, 2)])
@pytest.mark.parametrize("name", ["float64", "float16", "int32", "bool"])
def test_the_gram_matrix(rng, backend, shape, name):
    a = operand(rng, name, shape, 60)
    result = xl.mm_enclose(a)
    assert_enclosure(result, a, np.swapaxes(a, -1, -2), FORMATS.get(name, FLOAT64))
    same_bytes(result.lo, np.swapaxes(result.lo, -1, -2))
    narrow = xl.mm_enclose(a, dtype="bfloat16")
    assert_enclosure(narrow, a, np.swapaxes(a, -1, -2), FORMATS["bfloat16"])


def test_the_gram_matrix_of_a_wide_range(rng):
    a = floats(rng, FLOAT64, (4, 9), whole_range(FLOAT64))
    assert_enclosure(xl.mm_enclose(a), a, a.T, FLOAT64)


# ---- information --------------------------------------------------------------------------------------------------


def test_info_tells_how_a_product_was_computed(rng, engine):
    a, b = floats(rng, FLOAT64, (6, 9), 20), floats(rng, FLOAT64, (9, 4), 20)
    enclosure, info = xl.mm_enclose(a, b, return_info=True)
    assert_enclosure(enclosure, a, b, FLOAT64)
    assert info.engine == engine
    assert info.backend in {s.name for s in xl.backends()}
    assert info.moduli >= 1
    assert info.capacity >= info.bits > 0
    assert info.passes >= 1
    assert info.lossless is True
    assert info.host_syncs >= 1
    assert info.workspace_bytes > 0
    assert info.hull is None
    assert engine in str(info)
    one, many = (replace(info, moduli=n, passes=n, host_syncs=n) for n in (1, 2))
    assert all(words in str(one) for words in ("1 modulus ", "1 block,", "1 host sync,"))
    assert all(words in str(many) for words in ("2 moduli ", "2 blocks,", "2 host syncs,"))
    bt = b.T.copy()
    for _, again in (
        xl.mm(a, b, return_info=True),
        xl.mm_nt(a, bt, return_info=True),
        xl.mm_enclose_nt(a, bt, return_info=True),
        xl.bmm(a[None], b[None], return_info=True),
        xl.bmm_enclose(a[None], b[None], return_info=True),
    ):
        assert again.engine == engine


def test_an_enclosure_is_a_named_tuple(rng):
    a = floats(rng, FLOAT64, (2, 2), 5)
    result = xl.mm_enclose(a, a)
    assert isinstance(result, xl.Enclosure)
    lo, hi = result
    assert lo is result.lo
    assert hi is result.hi
    assert isinstance(result, tuple)


# ---- negative controls --------------------------------------------------------------------------------------------


def spoil(monkeypatch, change):
    """Have the NumPy backend's residue products changed."""
    numpy_backend = registry.load("numpy")
    right = numpy_backend.multiply
    monkeypatch.setattr(numpy_backend, "multiply", lambda *args, **kwargs: change(right(*args, **kwargs)))


def one_unit(planes):
    planes = planes.copy()
    planes[:, 0, 0, 0] += 1
    return planes


def without_the_last_plane(planes):
    planes = planes.copy()
    planes[-1] = 0
    return planes


@pytest.mark.parametrize("change", [one_unit, without_the_last_plane])
def test_a_spoiled_residue_is_noticed(rng, monkeypatch, change):
    a, b = rng.integers(1, 100, (3, 20)).astype(float), rng.integers(1, 100, (20, 3)).astype(float)
    with xl.backend("numpy"):
        assert_product(xl.mm(a, b), a, b, FLOAT64)
        spoil(monkeypatch, change)
        with pytest.raises(AssertionError, match="entries differ"):
            assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)


def test_bytes_are_compared():
    a = np.ones((3, 4))
    with pytest.raises(AssertionError):
        same_bytes(a, np.where(np.arange(12).reshape(3, 4) == 7, np.nextafter(a, 2), a))
    with pytest.raises(AssertionError):
        same_bytes(a, a.astype(np.float32))
    with pytest.raises(AssertionError):
        same_bytes(a, a.T)
