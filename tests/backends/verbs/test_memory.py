"""The memory half of the contract: views, blocks, results, counts."""

from math import prod

import numpy as np
import pytest

from exactla.arrays import read
from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from tests.backends.checks import fractions_of, in_units
from tests.backends.devices import base_for, engine_cases, float_dtype
from tests.operands import big_integers, floats
from tests.oracle import FORMATS

FLOAT64 = FORMATS["float64"]


def check_view(device, array, expected, **options):
    """The view of an array, once it is scanned, holds the entries of `expected` [S, R, K]."""
    (scanned,) = device.backend.scan([[device.operand(array, **options)]])
    (operand,) = scanned.operands
    assert operand.shape == expected.shape
    assert (device.integers(operand) == in_units(device, operand, expected)).all()


def test_vectors_matrices_and_stacks(rng, device):
    for shape in ((5,), (1,), (3, 4), (2, 3, 4), (2, 1, 3, 4), (2, 3, 2, 1, 4)):
        array = floats(rng, FLOAT64, shape, 9)
        rows = array.reshape(-1, *((1, *shape)[-2:]))
        check_view(device, array, rows)
        check_view(device, array, rows if len(shape) == 1 else rows.swapaxes(1, 2), transpose=True)


def test_big_integers(rng, device):
    for shape in ((5,), (3, 4), (2, 3, 4)):
        array = big_integers(rng, shape, 80)
        rows = array.reshape(-1, *((1, *shape)[-2:]))
        check_view(device, array, rows)
        check_view(device, array, rows if len(shape) == 1 else rows.swapaxes(1, 2), transpose=True)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_parts_of_complex_arrays(rng, device, name):
    parts = [rng.standard_normal((3, 4)).astype(f"f{np.dtype(name).itemsize // 2}") for _ in range(2)]
    array = np.empty((3, 4), name)
    array.real, array.imag = parts
    check_view(device, array, parts[0][None], part="real")
    check_view(device, array, parts[1][None], part="imag")
    check_view(device, array[::-1, ::2], parts[1][None, ::-1, ::2], part="imag")
    check_view(device, array, parts[1].T[None], part="imag", transpose=True)


def test_a_repeated_matrix_is_given_once_or_as_often_as_it_is_there(rng, device):
    matrix = floats(rng, FLOAT64, (3, 4), 9)
    for shape in ((5, 3, 4), (2, 5, 3, 4)):
        array = np.broadcast_to(matrix, shape)
        operand = device.operand(array)
        assert operand.shape in ((1, 3, 4), (prod(shape[:-2]), 3, 4))
        check_view(device, array, np.broadcast_to(matrix, operand.shape))
    partly = np.broadcast_to(floats(rng, FLOAT64, (2, 1, 3, 4), 9), (2, 5, 3, 4))
    assert device.operand(partly).shape == (10, 3, 4)
    check_view(device, partly, partly.reshape(10, 3, 4))


def test_any_strides(rng, device):
    array = floats(rng, FLOAT64, (4, 6, 8), 9)
    for view in (array[::2], array[:, ::-1], array[..., 1::3], array.T, array.transpose(1, 0, 2), array[:, 2:2]):
        check_view(device, view, np.ascontiguousarray(view))
        check_view(device, view, np.ascontiguousarray(view.swapaxes(1, 2)), transpose=True)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 2, 3), (2, 0, 3), (2, 3, 0), (2, 0, 3, 4), (0, 5, 3, 4)])
def test_views_of_nothing(device, shape):
    stacks, (rows, columns) = prod(shape[:-2]), (1, *shape)[-2:]
    assert device.operand(np.zeros(shape)).shape == (stacks, rows, columns)
    assert device.operand(np.zeros(shape, object)).shape == (stacks, rows, columns)
    if len(shape) > 1:
        assert device.operand(np.zeros(shape), transpose=True).shape == (stacks, columns, rows)


def test_a_view_is_not_a_copy(device):
    if device.copies_host_arrays:
        pytest.skip("arrays of the host are copied to this device")
    array = np.ones((2, 3))
    operand = device.operand(array)
    array[1, 2] = np.inf
    assert device.backend.first_nonfinite(operand) == 5


INDICES = [
    (slice(0, 2), slice(0, 5), slice(0, 7)),
    (slice(1, 2), slice(2, 4), slice(3, 7)),
    (slice(0, 1), slice(4, 5), slice(0, 1)),
    (slice(0, 2), slice(0, 5), slice(0, 0)),
    (slice(0, 0), slice(1, 1), slice(0, 7)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_blocks(rng, device, index):
    for array in (floats(rng, FLOAT64, (2, 5, 7), 90), big_integers(rng, (2, 5, 7), 70)):
        (operand,) = device.scan(array).operands
        part = device.backend.block(operand, *index)
        assert part.shape == array[index].shape
        assert part.bits == operand.bits
        assert part.format == operand.format
        assert (device.download(part.exponents) == device.download(operand.exponents)[index[:2]]).all()
        assert (device.integers(part) == in_units(device, part, array[index])).all()


def test_blocks_of_operands_that_are_not_scanned(rng, device):
    array = floats(rng, FLOAT64, (2, 5, 7), 9)
    part = device.backend.block(device.operand(array), *INDICES[1])
    (scanned,) = device.backend.scan([[part]])
    assert (device.integers(scanned.operands[0]) == in_units(device, scanned.operands[0], array[INDICES[1]])).all()


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_results_are_put_together_from_blocks(device, name):
    backend, format = device.backend, FLOAT_FORMATS[name]
    numbers = np.arange(12).reshape(2, 2, 3) - 6
    result = backend.allocate((2, 2, 3), format)
    base = base_for(256, 20)
    for t in range(2):
        for c in (slice(0, 1), slice(1, 3)):
            block = numbers[t : t + 1, :, c]
            place = (device.exponents([[0, 0]]), device.exponents(np.zeros((1, block.shape[2]))), ([0], [0]), 0)
            (part,) = backend.round(device.planes(block, base), base, place, format, (Rounding.NEAREST,))
            backend.store(result, (slice(t, t + 1), slice(0, 2), c), part)
    like = read(np.zeros(1, float_dtype(name)), "x")
    restored = backend.restore([result], format, (4, 3), like)
    assert restored.dtype == float_dtype(name)
    assert (fractions_of(restored) == numbers.reshape(4, 3)).all()


def test_results_of_two_parts_are_complex(device):
    backend, base = device.backend, base_for(256, 20)
    place = (device.exponents([[0]]), device.exponents([[0, 0]]), ([0], [0]), 0)
    for name in ("float32", "float64"):
        parts = [
            backend.round(device.planes([[row]], base), base, place, FLOAT_FORMATS[name], (Rounding.UP,))[0]
            for row in ([1, 2], [-3, 4])
        ]
        like = read(np.zeros(1, float_dtype(name)), "x")
        restored = backend.restore(parts, FLOAT_FORMATS[name], (2,), like)
        assert restored.dtype == np.dtype(f"c{2 * np.dtype(name).itemsize}")
        assert restored.tolist() == [1 - 3j, 2 + 4j]


def test_totals(device):
    backend = device.backend
    assert backend.total([]) == 0
    (operand,) = device.scan(np.ones((1, 3))).operands
    count = backend.residues(operand, base_for(256, 9), backend.engines[0])[1]
    assert backend.total([count, count]) == 0
    first, second = device.scan(np.array([[1.0, 5.0, 3.0]]), np.array([[0.0, 9.0, 1.0]])).operands
    invalid = backend.interval_pieces(first, second, endpoints=True).invalid
    assert backend.total([invalid, count, invalid]) == 4


def test_free_memory(device):
    free = device.backend.free_bytes()
    assert isinstance(free, int)
    assert free > 1 << 20


def test_the_scope_of_an_array(device):
    with device.backend.scope(read(np.zeros(2), "x")):
        pass


def test_every_engine_is_exact(device):
    assert device.backend.engines
    for engine, limit in engine_cases(device.backend):
        assert device.backend.engine_is_exact(engine, limit), engine.name
        assert engine.depth(limit) >= 1
        assert engine.depth(limit) * (limit // 2) ** 2 <= 1 << engine.accumulator_bits
