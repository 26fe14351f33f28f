"""`truncate`: rows keep their leading bits, and what is dropped is less than one unit of the row."""

from fractions import Fraction

import numpy as np
import pytest

from tests.backends.checks import fractions_of
from tests.backends.devices import base_for
from tests.operands import floats
from tests.oracle import FORMATS

FLOAT64 = FORMATS["float64"]
BITS = [1, 2, 24, 31, 53, 54, 150, 299]


def check_truncate(device, operand, array, bits):
    """A scanned operand, cut to some bits, holds its entries to within a unit of their rows; returns it."""
    found = device.backend.truncate(operand, bits)
    assert (found.shape, found.format, found.finite) == (operand.shape, operand.format, operand.finite)
    before, after = (device.download(x.exponents).astype(object) for x in (operand, found))
    tops = device.download(operand.tops).astype(object)
    assert (after == np.maximum(before, tops - bits)).all()
    assert found.bits == min(operand.bits, bits)
    kept = device.integers(found)
    for place in np.ndindex(operand.shape):
        scaled = fractions_of(array).reshape(operand.shape)[place] / Fraction(2) ** int(after[place[:2]])
        assert abs(scaled - kept[place]) < 1
        assert abs(kept[place]) <= 1 << found.bits  # a negative one may be rounded down
        if after[place[:2]] == before[place[:2]]:
            assert scaled == kept[place]
    return found


@pytest.mark.parametrize("bits", BITS)
def test_rows_keep_their_leading_bits(rng, device, bits):
    a = rng.choice([-1, 1], (2, 5, 6)) * np.ldexp(rng.uniform(1, 2, (2, 5, 6)), np.arange(0, -360, -60))
    a[1] = a[1, :, rng.permutation(6)].T
    a[0, 1] = 0
    a[0, 2] = np.ldexp(1.0, range(6))  # narrow
    a[1, 3] *= 2.0**-700  # tiny as a whole
    (operand,) = device.scan(a).operands
    assert operand.bits > 300
    found = check_truncate(device, operand, a, bits)
    # rows of normal numbers keep no fewer bits than they are allowed
    cut = device.download(found.exponents) > device.download(operand.exponents)
    assert cut.sum() == 8 + (bits < 6)  # the narrow row has 6
    largest = abs(device.integers(found)).max(axis=2)
    assert all(n >> (bits - 1) for n in largest[cut])


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float8_e5m2"])
def test_narrow_formats(rng, device, name):
    fmt = FORMATS[name]
    a = floats(rng, fmt, (1, 4, 5), 100)
    (operand,) = device.scan(a).operands
    check_truncate(device, operand, a, 9)


def test_parts_that_share_their_rows_are_cut_alike(rng, device):
    arrays = floats(rng, FLOAT64, (1, 3, 4), 200), floats(rng, FLOAT64, (1, 3, 4), 200)
    operands = device.scan(*arrays).operands
    exponents = [
        device.download(check_truncate(device, x, a, 60).exponents) for x, a in zip(operands, arrays, strict=True)
    ]
    assert (exponents[0] == exponents[1]).all()


def test_an_operand_of_fewer_bits_stays_as_it_is(rng, device):
    a = floats(rng, FLOAT64, (1, 3, 4), 3)
    (operand,) = device.scan(a).operands
    assert device.backend.truncate(operand, operand.bits) is operand
    assert device.backend.truncate(operand, operand.bits - 1) is not operand
    (numbers,) = device.scan(np.arange(12).reshape(1, 3, 4)).operands
    assert device.backend.truncate(numbers, 150) is numbers


def test_blocks_and_rows_of_what_was_cut(rng, device):
    a = floats(rng, FLOAT64, (2, 4, 5), 200)
    (operand,) = device.scan(a).operands
    whole = device.backend.truncate(operand, 80)
    kept = device.integers(whole)
    part = device.backend.block(whole, slice(1, 2), slice(1, 3), slice(2, 5))
    assert (device.integers(part) == kept[1:2, 1:3, 2:5]).all()
    rows = device.backend.gather(whole, [(1, 3), (0, 0)])
    assert (device.integers(rows) == kept[[1, 0], [3, 0]][:, None]).all()


@pytest.mark.parametrize("limit", [256, 1 << 22])
@pytest.mark.parametrize(("value", "broken"), [(2.0**500, 1), (-np.inf, 1), (np.nan, 1), (2.0**-500, 0), (1.5, 0)])
def test_entries_that_change(device, value, broken, limit):
    # past the row's top or no longer finite: counted; what is dropped is not looked at
    a = np.array([[[1.0, 2.0**-300, 3.0]]])
    (operand,) = device.scan(a).operands
    found = device.backend.truncate(operand, 60)
    late = a.copy()
    late[0, 0, 1] = value
    changed = found._replace(buffer=device.operand(late).buffer)
    base = device.base(limit, 60) if limit > 256 else base_for(limit, 60)
    _, count = device.backend.residues(changed, base, device.backend.engines[0])
    assert device.backend.total([count]) == broken
