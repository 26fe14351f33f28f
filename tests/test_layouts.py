"""Views of any stride, vectors, stacks and broadcasting: the bytes of the contiguous copy, the shapes of matmul."""

import itertools

import numpy as np
import pytest

import exactla as xl
from tests.operands import (
    floats,
    operand,
)
from tests.oracle import (
    FORMATS,
    assert_complex,
    assert_enclosure,
    assert_product,
    same_bytes,
)

FLOAT32, FLOAT64 = FORMATS["float32"], FORMATS["float64"]


# ---- strides ------------------------------------------------------------------------------------------------------


def readonly(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def misaligned(x):
    memory = np.zeros(x.nbytes + 1, dtype=np.uint8)
    view = memory[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


def spread_out(x):
    wide = np.zeros((2 * x.shape[0] + 1, 3 * x.shape[1] + 2), dtype=x.dtype)
    wide[...] = np.ones((), dtype=x.dtype)
    view = wide[1::2, 2::3]
    view[...] = x
    return view


def field_of_a_record(x):
    record = np.zeros(x.shape, dtype=[("before", np.uint8), ("value", x.dtype)])
    record["value"] = x
    return record["value"]


VIEWS = {
    "readonly": readonly,
    "fortran": np.asfortranarray,
    "misaligned": misaligned,
    "spread_out": spread_out,
    "field": field_of_a_record,
    "negative_rows": lambda x: x[::-1].copy()[::-1],
    "negative_columns": lambda x: x[:, ::-1].copy()[:, ::-1],
    "negative_both": lambda x: np.asfortranarray(x[::-1, ::-1].copy())[::-1, ::-1],
}
VIEWED_TYPES = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "int64", "uint8", "bool", "int"]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", VIEWED_TYPES)
def test_a_view_gives_the_bytes_of_its_contiguous_copy(rng, backend, view, name):
    if name == "int" and view in ("misaligned", "field"):
        pytest.skip("NumPy keeps objects aligned")
    a, b = operand(rng, name, (5, 7)), operand(rng, name, (7, 4))
    expected = xl.mm_enclose(a, b)
    assert_enclosure(expected, a, b, FORMATS.get(name, FLOAT64))
    views = VIEWS[view](a), VIEWS[view](b)
    before = [v.copy() for v in views]
    for x, y in itertools.product((a, views[0]), (b, views[1])):
        result = xl.mm_enclose(x, y)
        same_bytes(result.lo, expected.lo)
        same_bytes(result.hi, expected.hi)
        same_bytes(xl.mm_enclose_nt(x, y.T).lo, expected.lo)
    for v, copy in zip(views, before, strict=True):
        assert v.tobytes() == copy.tobytes(), "an operand was written to"


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "int16", "uint64", "complex64", "complex128"])
def test_foreign_byte_order(rng, name):
    real = {"complex64": "float32", "complex128": "float64"}.get(name, name)
    a, b = operand(rng, real, (4, 5)).astype(name), operand(rng, real, (5, 3)).astype(name)
    expected = xl.mm(a, b)
    swapped = [x.astype(x.dtype.newbyteorder("S")) for x in (a, b)]
    same_bytes(xl.mm(*swapped), expected)
    same_bytes(xl.mm(swapped[0], b), expected)


@pytest.mark.parametrize("name", ["float64", "bfloat16", "int32", "bool"])
def test_broadcast_views(rng, backend, name):
    fmt = FORMATS.get(name, FLOAT64)
    row, column, one = operand(rng, name, (1, 6)), operand(rng, name, (6, 1)), operand(rng, name, (1, 1))
    for a in (np.broadcast_to(row, (5, 6)), np.broadcast_to(one, (5, 6))):
        for b in (np.broadcast_to(column, (6, 4)), np.broadcast_to(one, (6, 4))):
            assert_enclosure(xl.mm_enclose(a, b), a.copy(), b.copy(), fmt)


def test_overlapping_windows(rng):
    signal = floats(rng, FLOAT64, (40,), 20)
    windows = np.lib.stride_tricks.sliding_window_view(signal, 9)
    assert_enclosure(xl.mm_enclose(windows, windows.T), windows, windows.T, FLOAT64)
    assert_enclosure(xl.mm_enclose(windows), windows, windows.T, FLOAT64)


def test_one_array_as_both_operands(rng):
    a = floats(rng, FLOAT64, (6, 6), 40)
    assert_enclosure(xl.mm_enclose(a, a), a, a, FLOAT64)


def test_complex_strides(rng):
    a = (floats(rng, FLOAT64, (4, 6), 10) + 1j * floats(rng, FLOAT64, (4, 6), 10)).astype(np.complex128)
    b = a[::-1, ::2].T
    assert_complex(xl.mm(a[:, ::2], b), a[:, ::2], b, np.complex128, "nearest")
    assert_product(xl.mm(a.real, a.imag.T), a.real, a.imag.T, FLOAT64)


# ---- vectors, stacks, broadcasting --------------------------------------------------------------------------------

SHAPES = [(), (0,), (1,), (3,), (4,), (0, 3), (3, 0), (1, 1), (2, 3), (3, 4), (3, 2), (4, 3), (1, 3), (3, 1)]
SHAPES += [(0, 2, 3), (1, 2, 3), (1, 3, 4), (5, 2, 3), (5, 3, 4), (2, 3, 2), (5, 1, 3, 2), (1, 5, 2, 3), (2, 0, 3)]


@pytest.mark.parametrize("left", SHAPES, ids=str)
def test_shapes_and_broadcasting_are_those_of_matmul(rng, backend, left):
    for right in SHAPES:
        a, b = floats(rng, FLOAT64, left, 8), floats(rng, FLOAT64, right, 8)
        try:
            expected = np.matmul(np.zeros(left), np.zeros(right)).shape
        except ValueError:
            for call in (xl.mm, xl.mm_enclose):
                with pytest.raises(ValueError) as caught:  # noqa: PT011
                    call(a, b)
                if left and right:
                    assert str(left) in str(caught.value)
                    assert str(right) in str(caught.value)
            continue
        assert np.shape(xl.mm(a, b)) == expected
        assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)


@pytest.mark.parametrize(
    "stacks", [((4,), (4,)), ((1,), (4,)), ((3, 1), (2,)), ((2, 3), (1, 3)), ((0,), (1,)), ((), (5,))]
)
@pytest.mark.parametrize("name", ["float64", "float32", "int64"])
def test_stacks_are_multiplied_matrix_by_matrix(rng, backend, stacks, name):
    a, b = operand(rng, name, (*stacks[0], 3, 5), 200), operand(rng, name, (*stacks[1], 5, 2), 200)
    fmt = FORMATS.get(name, FLOAT64)
    result = xl.mm_enclose(a, b)
    assert_enclosure(result, a, b, fmt)
    for index in np.ndindex(result.lo.shape[:-2]):
        x = np.broadcast_to(a, (*result.lo.shape[:-2], 3, 5))[index]
        y = np.broadcast_to(b, (*result.lo.shape[:-2], 5, 2))[index]
        same_bytes(xl.mm_enclose(x, y).lo, result.lo[index])


def test_a_batch_of_stride_zero(rng):
    a, b = floats(rng, FLOAT64, (3, 4), 10), floats(rng, FLOAT64, (6, 4, 2), 10)
    repeated = np.broadcast_to(a, (6, 3, 4))
    assert_enclosure(xl.mm_enclose(repeated, b), repeated, b, FLOAT64)
    assert_enclosure(xl.bmm_enclose(repeated, b), repeated, b, FLOAT64)
    same_bytes(xl.mm(a, b), xl.mm(repeated, b))
