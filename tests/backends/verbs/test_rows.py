"""`gather`, `scatter` and `repeat`: single rows of operands, single entries of results, matrices many times."""

import numpy as np
import pytest

from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from tests.backends.checks import in_units
from tests.backends.devices import base_for, engine_for
from tests.operands import big_integers, floats
from tests.oracle import FORMATS

FLOAT64 = FORMATS["float64"]
ROWS = [(1, 2), (0, 0), (1, 2), (1, 0), (0, 3)]


def check_gather(device, array, rows):
    """Rows of a scanned operand are matrices of one row each, with the exponents and tops that they had."""
    (operand,) = device.scan(array).operands
    found = device.backend.gather(operand, rows)
    index = tuple(np.array(rows).T)
    values = np.asarray(array).reshape(operand.shape)[index][:, None]
    assert found.shape == values.shape
    assert (found.format, found.bits, found.finite) == (operand.format, operand.bits, operand.finite)
    for name in ("exponents", "tops"):
        before, after = (device.download(getattr(x, name)) for x in (operand, found))
        assert (after == before[index][:, None]).all()
    assert (device.integers(found) == in_units(device, found, values)).all()


@pytest.mark.parametrize("rows", [ROWS, ROWS[:1], [(i, j) for i in range(2) for j in range(4)]], ids=len)
def test_gathered_rows(rng, device, rows):
    check_gather(device, floats(rng, FLOAT64, (2, 4, 5), 80), rows)
    check_gather(device, floats(rng, FORMATS["bfloat16"], (2, 4, 5), 30), rows)
    check_gather(device, big_integers(rng, (2, 4, 5), 90), rows)
    check_gather(device, rng.integers(-99, 100, (2, 4, 5)), rows)


def test_gathered_rows_of_any_strides(rng, device):
    array = floats(rng, FLOAT64, (8, 10, 9), 20)
    check_gather(device, array[::4, 9:1:-2, ::2], ROWS)
    check_gather(device, array.transpose(1, 2, 0)[3:5, 2:6], ROWS)


def test_gathered_parts(rng, device):
    array = rng.standard_normal((2, 4, 5)) + 1j * rng.standard_normal((2, 4, 5))
    operands = [device.operand(array, part=p) for p in ("real", "imag")]
    (scanned,) = device.backend.scan([operands])
    for operand, part in zip(scanned.operands, (array.real, array.imag), strict=True):
        found = device.backend.gather(operand, ROWS)
        values = part[tuple(np.array(ROWS).T)][:, None]
        assert (device.integers(found) == in_units(device, found, values)).all()


def test_gathered_rows_are_a_copy(device):
    array = np.ones((1, 2, 3))
    (operand,) = device.scan(array).operands
    found = device.backend.gather(operand, [(0, 1)])
    array[0, 1, 1] = 0
    assert device.integers(found).tolist() == [[[1, 1, 1]]]


def test_gathered_rows_multiply_in_pairs(rng, device):
    # what an entry is recomputed from
    a, b = rng.integers(-9, 10, (2, 4, 5)), rng.integers(-9, 10, (2, 3, 5))
    base = base_for(256, 30)
    engine = engine_for(device.backend, base)
    sides = [
        device.backend.gather(device.scan(x.astype(object)).operands[0], rows)
        for x, rows in ((a, [(0, 1), (1, 3)]), (b, [(1, 0), (0, 2), (1, 2)]))
    ]
    planes = [device.backend.residues(x, base, engine)[0] for x in sides]
    found = device.backend.multiply([(1, *planes)], ([0, 1, 1, 0], [0, 1, 2, 2]), base, engine)
    wanted = [a[0, 1] @ b[1, 0], a[1, 3] @ b[0, 2], a[1, 3] @ b[1, 2], a[0, 1] @ b[1, 2]]
    assert device.backend.integers(found, base).ravel().tolist() == wanted


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_scattered_entries(device, name):
    format, base = FLOAT_FORMATS[name], base_for(256, 20)

    def rounded(numbers):
        numbers = np.array(numbers)
        pairs, rows, columns = numbers.shape
        index = (range(pairs), [0] * pairs)
        place = (device.exponents(np.zeros((pairs, rows))), device.exponents(np.zeros((1, columns))), index, 0)
        return device.backend.round(device.planes(numbers, base), base, place, format, (Rounding.NEAREST,))[0]

    into = np.arange(12).reshape(2, 2, 3) - 6
    places = [(1, 0, 2), (0, 1, 1), (1, 1, 0)]
    values = np.array([7, 0, -7]).reshape(3, 1, 1)
    buffer = rounded(into)
    device.backend.scatter(buffer, places, rounded(values))
    into[tuple(np.array(places).T)] = values.ravel()
    assert (device.encodings(buffer, format, (12,)) == device.encodings(rounded(into), format, (12,))).all()


@pytest.mark.parametrize("stacks", [1, 2, 5])
def test_a_repeated_matrix(rng, device, stacks):
    for array in (floats(rng, FLOAT64, (1, 3, 4), 30), big_integers(rng, (1, 3, 4), 70), rng.integers(0, 9, (1, 3, 4))):
        found = device.backend.repeat(device.operand(array), stacks)
        assert found.shape == (stacks, 3, 4)
        (scanned,) = device.backend.scan([[found]])
        (operand,) = scanned.operands
        wanted = in_units(device, operand, np.broadcast_to(array, (stacks, 3, 4)))
        assert (device.integers(operand) == wanted).all()


def test_a_repeated_matrix_beside_a_stack(rng, device):
    # midpoints of their own and one matrix of radii share their rows' exponents
    many, one = floats(rng, FLOAT64, (3, 2, 4), 30), floats(rng, FLOAT64, (1, 2, 4), 30)
    pair = device.operand(many), device.backend.repeat(device.operand(one), 3)
    (scanned,) = device.backend.scan([pair])
    for operand, array in zip(scanned.operands, (many, np.broadcast_to(one, (3, 2, 4))), strict=True):
        assert (device.integers(operand) == in_units(device, operand, array)).all()
