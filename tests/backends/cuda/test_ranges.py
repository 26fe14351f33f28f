"""Ranges of rows, and entries that lose bits, by the kernels of `elements.cu` against the reference and Fractions."""

from fractions import Fraction
from typing import Literal

import numpy as np
import pytest

from exactla.formats import FLOAT_FORMATS, INTEGER_FORMATS
from tests.backends.checks import fractions_of
from tests.backends.devices import float_dtype, open_device
from tests.backends.kernels.data import random_encodings, random_integers

FLOATS = ("float64", "float32", "bfloat16", "float8_e4m3fnuz")
INTEGERS = ("int64", "uint8")
ORDERS: tuple[Literal["C", "F"], ...] = ("C", "F")
LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2),
    "some": lambda x: x[::-1, 1::2, ::-3],
    "repeated": lambda x: np.broadcast_to(x[:, :1], x.shape),
}


def numbers(rng, name, shape):
    """Entries of any kind, in some rows narrow, and in one of them zeros."""
    if name in INTEGERS:
        return random_integers(rng, INTEGER_FORMATS[name], shape).view(name)
    format = FLOAT_FORMATS[name]
    x = random_encodings(rng, format, shape)
    x[:, ::3] = random_encodings(rng, format, x[:, ::3].shape, spread=6, lowest=1)
    x[:, 1] = 0
    return x.view(float_dtype(name))


def finite(x):
    with np.errstate(invalid="ignore"):
        return np.isfinite(x.astype(np.float64))


def entries(cuda, x):
    """An array as the kernels read it, where it lies on this host."""
    return cuda.elements.Entries(x.ctypes.data, *x.strides, *x.shape)


def ranges(cuda, x, name):
    """What `xl_cuda_exponents` finds: exponents and tops of rows, bits, and entries that are not finite."""
    format = {**FLOAT_FORMATS, **INTEGER_FORMATS}[name]
    found, cells = np.full((2, *x.shape[:2]), 77, np.int64), np.zeros(3, np.int32)
    place = cuda.elements.Place(0, "sm_80")
    cuda.elements.exponents(place, format, entries(cuda, x), found.ctypes.data, cells.ctypes.data).run(0)
    bits, all_bits, nonfinite = cells.tolist()
    assert all_bits == np.maximum(found[1] - found[0], 0).sum()
    return found[0], found[1], bits, nonfinite


def counts(cuda, x, name, exponents):
    """What `xl_cuda_count_dropped` finds, given exponents whose matrices lie apart."""
    apart = np.full((x.shape[0], x.shape[1] + 3), 99, np.int64)
    apart[:, : x.shape[1]] = exponents
    found, place = np.zeros(x.shape[:2], np.int32), cuda.elements.Place(0, "sm_80")
    where = cuda.elements.Exponents(apart.ctypes.data, apart.shape[1])
    cuda.elements.count_dropped(place, FLOAT_FORMATS[name], entries(cuda, x), where, found.ctypes.data).run(0)
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_ranges(rng, ampere, name, layout):
    x = LAYOUTS[layout](numbers(rng, name, (2, 37, 70)))
    (wanted,) = open_device("numpy").scan(x).operands
    low, high, bits, nonfinite = ranges(ampere, x, name)
    (scanned,) = (device := open_device("cuda")).scan(x).operands
    for exponents, tops in ((low, high), (device.download(scanned.exponents), device.download(scanned.tops))):
        np.testing.assert_array_equal(exponents, wanted.exponents)
        if name not in INTEGERS:  # of which the reference takes the widest row for all
            np.testing.assert_array_equal(tops, wanted.tops)
    assert bits == scanned.bits == wanted.bits
    assert nonfinite == (0 if name in INTEGERS else (~finite(x)).sum())
    assert scanned.finite is (nonfinite == 0)
    assert (low[:, 1] == 0).all() or name in INTEGERS or layout != "rows"


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 33, 1), (1, 1, 700), (2, 8, 32), (70, 2, 3)], ids=str)
@pytest.mark.parametrize("order", ORDERS)
def test_shapes(rng, ampere, shape, order):
    """Blocks of threads that are full, and that are not, along rows, the inner dimension and stacks."""
    x = np.asarray(numbers(rng, "float64", (*shape[:1], shape[1] + 1, shape[2])), order=order)[:, 1:]
    (wanted,) = open_device("numpy").scan(x).operands
    low, high, bits, nonfinite = ranges(ampere, x, "float64")
    np.testing.assert_array_equal(np.stack([low, high]), np.stack([wanted.exponents, wanted.tops]))
    assert (bits, nonfinite) == (wanted.bits, (~finite(x)).sum())
    x = np.where(finite(x), x, 0)
    np.testing.assert_array_equal(counts(ampere, x, "float64", low), 0)
    np.testing.assert_array_equal(counts(ampere, x, "float64", low + 1) > 0, (x != 0).any(axis=2))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FLOATS)
def test_entries_that_lose_bits(rng, ampere, name, layout):
    """Below exponents from under the lowest bit to above the highest, and far away from both."""
    x = numbers(rng, name, (2, 21, 40))
    x = LAYOUTS[layout](np.where(finite(x), x, np.zeros((), x.dtype)))
    (wanted,) = open_device("numpy").scan(x).operands
    rows = rng.choice([0.0, 0.3, 0.5, 1.0], x.shape[:2])
    exponents = wanted.exponents + np.rint(rows * (wanted.tops - wanted.exponents)).astype(np.int64)
    exponents += rng.choice([-1, 0, 1, -200, 200], x.shape[:2], p=[0.1, 0.6, 0.1, 0.1, 0.1])
    units = [Fraction(2) ** int(e) for e in np.broadcast_to(exponents[..., None], x.shape).flat]
    whole = [(v / unit).denominator == 1 for v, unit in zip(fractions_of(x).flat, units, strict=True)]
    expected = (~np.reshape(whole, x.shape)).sum(axis=2)
    assert 0 < (expected > 0).sum() < expected.size
    np.testing.assert_array_equal(counts(ampere, x, name, exponents), expected)


def test_long_rows_are_shared_by_blocks(rng, ampere, monkeypatch):
    """Parts that the length of a row is no multiple of, of operands in either order."""
    monkeypatch.setattr(ampere.elements, "SCAN_LEAST", 64)
    monkeypatch.setattr(ampere.backend, "LITTLE_DEPTH", 0)
    for order in ORDERS:
        x = rng.standard_normal((2, 9, 333)).copy(order)
        (wanted,) = open_device("numpy").scan(x).operands
        ampere.gpu.launches.clear()
        (found,) = (device := open_device("cuda")).scan(x).operands
        assert {launch.grid[1] for launch in ampere.gpu.launches if launch.kernel == "xl_cuda_scan"} == {6}
        np.testing.assert_array_equal(device.download(found.exponents), wanted.exponents)
        np.testing.assert_array_equal(device.download(found.tops), wanted.tops)
        lost = counts(ampere, x, "float64", wanted.tops - 50)
        steps = np.ldexp(1.0, (wanted.tops - 50).astype(int))[..., None]
        np.testing.assert_array_equal(lost, (np.rint(x / steps) != x / steps).sum(axis=2))
