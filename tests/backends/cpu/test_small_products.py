"""Small products by digits, on each instruction set: entries around whole digits, sums at their largest, any shape."""

import numpy as np
import pytest

from exactla.arrays import read
from exactla.formats import FLOAT64
from exactla.results import Rounding
from tests.oracle import FORMATS, exact

native = pytest.importorskip("exactla_backends.cpu.native.library")
if native.path() is None:
    pytest.skip("this installation has no native library", allow_module_level=True)
direct = pytest.importorskip("exactla_backends.cpu.direct")

ENDS = (Rounding.DOWN, Rounding.UP)
RUNNING = [name for name, runs in native.listed() if runs]
DIGIT = 28


@pytest.fixture(params=RUNNING)
def small(request):
    return direct.Direct(native.Instructions(native.load(), request.param))


def check(small, a, b, *, transposed=False, sure=True):
    """A product has the oracle's bits, or is left to the general path if not `sure`."""
    found = small.product(read(a, "a"), read(b, "b"), transposed, FLOAT64, ENDS)
    if found is None and not sure:
        return
    assert found is not None
    value = exact(a) @ (exact(b).T if transposed else exact(b))
    for encodings, rounding in zip(found, ENDS, strict=True):
        np.testing.assert_array_equal(encodings, value.rounded(FORMATS["float64"], rounding.value))


def spread(rng, shape, bits):
    """Floats that are integers of up to so many bits, one of each row or column all of them, of both signs."""
    numbers = [int(rng.integers(0, 1 << 53)) | 1 << 52 | 1 for _ in range(int(np.prod(shape)))]
    shifts = rng.integers(0, max(bits - 53, 0) + 1, shape)
    values = np.ldexp(np.array(numbers, float).reshape(shape), shifts if bits >= 53 else bits - 53)
    values = np.trunc(values) * rng.choice([-1.0, 1.0], shape)
    values[0, :] = values[:, 0] = -np.ldexp(float((1 << 53) - 1), bits - 53) if bits >= 53 else 1.0 - (1 << bits)
    values[-1, -1] = 1.0
    return values


@pytest.mark.parametrize("bits", [1, 27, 28, 29, 55, 56, 57, 83, 84, 85, 111, 112, 113])
def test_bits_around_whole_digits(small, rng, bits):
    check(small, spread(rng, (5, 9), bits), spread(rng, (9, 19), bits), sure=bits < 100)
    check(small, spread(rng, (5, 9), bits), spread(rng, (9, 19), 20))


@pytest.mark.parametrize("bits", [28, 53, 80])
@pytest.mark.parametrize("depth", [31, 32, 41, 42, 43, 63, 64, 126, 127, 128, 129])
def test_sums_at_their_largest(small, depth, bits):
    """All products of one sign and as large as they get, where a longer sum of digits would not fit."""
    largest = np.full((2, depth), np.ldexp(float((1 << min(bits, 53)) - 1), bits - min(bits, 53)))
    largest[0, 0] = largest[1, -1] = 1.0
    check(small, largest, largest.T)
    check(small, -largest, largest.T)


@pytest.mark.parametrize("rows", [1, 3, 4, 17])
@pytest.mark.parametrize("columns", [1, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65])
def test_shapes(small, rng, rows, columns):
    for depth in (1, 2, 13):
        check(small, rng.standard_normal((rows, depth)), rng.standard_normal((depth, columns)))


def test_deep_rows_are_cut_into_blocks(small, rng):
    check(small, rng.integers(-9, 9, (6, 100)).astype(float), rng.integers(-9, 9, (100, 5)).astype(float))


@pytest.mark.parametrize("dtype", ["int8", "uint64", "int64", "float32", "float16", "bool"])
def test_types_of_entries(small, rng, dtype):
    kinds = np.dtype(dtype)
    if kinds.kind in "iu":
        limits = np.iinfo(kinds)
        a, b = (rng.integers(limits.min, limits.max, s, dtype=kinds, endpoint=True) for s in ((6, 7), (7, 20)))
    else:
        a, b = (rng.standard_normal(s).astype(kinds) for s in ((6, 7), (7, 20)))
    check(small, a, b)


def test_strides(small, rng):
    whole = rng.standard_normal((40, 60))
    check(small, whole[::3, 5:25:2], whole[20:0:-2, ::4])
    check(small, whole[1:9, 1:9].T, whole[1:9, 30:50])
    check(small, whole[:8, :11], whole[20:37, 40:51], transposed=True)
    check(small, np.broadcast_to(whole[0, :12], (5, 12)), whole[:12, :6])


def test_what_is_not_finite_is_left(small):
    a = np.array([[1.0, np.nan]])
    assert small.product(read(a, "a"), read(a.T, "b"), False, FLOAT64, ENDS) is None
