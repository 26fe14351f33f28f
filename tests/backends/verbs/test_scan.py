"""`scan`: exponents and bits that make every entry an integer, and whether all entries are finite."""

import numpy as np
import pytest

from tests.backends.checks import check_scan, typed
from tests.backends.devices import every_encoding
from tests.operands import ALL_FORMATS, big_integers, floats, integers, whole_range
from tests.oracle import FORMATS, INTEGER_NAMES

FLOAT64 = FORMATS["float64"]
NARROW = [f for f in ALL_FORMATS if f.bits == 8]


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
@pytest.mark.parametrize("share", [0, 0.2, 1])
def test_every_float_format(rng, device, fmt, share):
    array = floats(rng, fmt, (2, 5, 7), round(share * whole_range(fmt)), zeros=0.3)
    assert check_scan(device, array).finite


@pytest.mark.parametrize("name", INTEGER_NAMES)
def test_every_integer_type(rng, device, name):
    assert check_scan(device, integers(rng, name, (4, 9))).finite


@pytest.mark.parametrize("bits", [1, 23, 24, 25, 48, 64, 200, 2000])
def test_python_integers(rng, device, bits):
    check_scan(device, big_integers(rng, (3, 4), bits))
    check_scan(device, np.array([[-(1 << bits), 1 << bits, (1 << bits) - 1]], dtype=object))


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_extremes_of_a_format_in_one_row(device, fmt):
    array = typed([1, 0, fmt.largest, fmt.sign_bit | fmt.largest], fmt)[None]
    assert check_scan(device, array).finite


def test_rows_without_entries_or_of_zeros(device):
    for shape in ((0, 3), (3, 0), (0, 3, 4), (2, 0, 3)):
        scanned = check_scan(device, np.zeros(shape))
        assert scanned.bits == 0
        assert scanned.finite
    assert check_scan(device, np.array([[0.0, -0.0], [0.0, 0.0]])).bits == 0
    assert check_scan(device, np.zeros((2, 3), int)).bits == 0
    assert check_scan(device, np.zeros((2, 3), object)).bits == 0


def test_a_row_of_zeros_costs_its_neighbours_nothing(device):
    assert check_scan(device, np.array([[2.0**-1074], [0.0], [2.0**1023]])).bits <= 53


def test_each_row_has_its_own_exponent(device):
    scanned = check_scan(device, np.array([[2.0**-1000, 3 * 2.0**-1000], [2.0**1000, 2.0**999]]))
    assert scanned.bits <= 1 + 53
    low, high = device.download(scanned.operands[0].exponents)[0].tolist()
    assert low < -1000 + 2
    assert high > 1000 - 54


@pytest.mark.parametrize("shape", [(3, 20_000), (20_000, 3), (1, 40_000), (700, 50)])
def test_rows_longer_and_shorter_than_a_piece_of_work(rng, device, shape):
    array = np.ones(shape)
    i, j = (int(rng.integers(n)) for n in shape)
    array[i, j] = 2.0**-300
    array[i, j - 1] = 2.0**300
    scanned = device.scan(array)
    assert scanned.bits >= 601
    assert int(device.download(scanned.operands[0].exponents)[0, i]) <= -300


def test_operands_of_one_side_share_exponents_and_bits(device):
    scanned = check_scan(device, np.array([[1.0, 2.0]]), np.array([[2.0**-40, 2.0**40]]))
    first, second = (device.download(x.exponents).tolist() for x in scanned.operands)
    assert first == second


@pytest.mark.parametrize(
    "arrays",
    [
        (np.array([[3]]), np.array([[0.125]])),
        (np.array([[2**70]], object), np.array([[0.125]])),
        (np.array([[0.125]], np.float32), np.array([[2.0**-1074]])),
        (np.array([[True]]), np.array([[-128]], np.int8)),
    ],
    ids=["int and float", "big int and float", "floats", "bool and int8"],
)
def test_operands_of_one_side_in_different_formats(device, arrays):
    check_scan(device, *arrays)
    check_scan(device, *arrays[::-1])


def test_sides_are_scanned_apart(device):
    small, large = np.array([[1.0]]), np.array([[2.0**500, 1.0]])
    sides = device.backend.scan([[device.operand(small)], [device.operand(large)]])
    assert sides[0].bits <= 53
    assert 501 <= sides[1].bits <= 501 + 53


@pytest.mark.parametrize("fmt", NARROW, ids=str)
def test_finite_for_every_encoding(device, fmt):
    for encoding, value in enumerate(every_encoding(fmt.name)):
        scanned = device.scan(np.array([[value]]))
        assert scanned.finite == fmt.is_finite(encoding), hex(encoding)


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_one_entry_that_is_not_finite_among_many(device, fmt):
    good = typed([0, 1, fmt.largest, fmt.largest | fmt.sign_bit], fmt)
    assert device.scan(good[None]).finite
    beyond = {fmt.nan, *(() if fmt.infinity is None else (fmt.infinity, fmt.infinity | fmt.sign_bit))}
    for encoding in beyond:
        bad = np.concatenate([good, typed([encoding], fmt), good])[None]
        assert not device.scan(bad).finite
        assert not device.scan(good[None], good[None]).operands[0].bits < 0
        assert not device.scan(np.stack([bad, bad[:, ::-1]])).finite


def test_entries_that_are_not_finite_count_as_zero(device):
    with_special = np.array([[1.0, np.inf, -3.0, np.nan], [-np.inf, np.nan, np.inf, np.nan]])
    scanned = check_scan(device, with_special)
    assert not scanned.finite
    assert scanned.bits <= 2 + 53


def test_the_second_operand_decides_too(device):
    assert not device.scan(np.ones((1, 2)), np.array([[1.0, np.inf]])).finite
    assert not device.scan(np.array([[1.0, np.inf]]), np.ones((1, 2))).finite


def test_strides_do_not_show(rng, device):
    array = floats(rng, FLOAT64, (6, 8), 300)
    for view in (array[::-1], array[:, ::-2], array.T, np.broadcast_to(array[0], (3, 8)), array[1:2]):
        check_scan(device, view)


@pytest.mark.parametrize("rows", [63, 64, 65, 200])
@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_rows_that_lie_across_memory(rng, device, fmt, rows):
    array = np.asfortranarray(floats(rng, fmt, (rows, 9), whole_range(fmt), zeros=0.3))
    assert check_scan(device, array).finite
    array[rows - 1, 3] = typed([fmt.nan if fmt.infinity is None else fmt.infinity], fmt)[0]
    assert not device.scan(array).finite
