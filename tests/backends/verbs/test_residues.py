"""`residues`: from every format to planes of centred residues, and the count of entries that break their scan."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactla.core.moduli import ResidueBase
from tests.backends.checks import broken_entries, check_residues, typed
from tests.backends.devices import Device, base_for, engine_cases, engine_for, every_encoding, with_device
from tests.operands import ALL_FORMATS, big_integers, floats, integers, whole_range
from tests.oracle import FORMATS, INTEGER_NAMES

FLOAT64 = FORMATS["float64"]


def bases(device: Device):
    """A short base at each limit of each engine, with even and small moduli among them."""
    for engine, limit in engine_cases(device.backend):
        yield engine, base_for(limit, 30)
        yield engine, ResidueBase((limit, limit - 1, 9, 5))
    yield device.backend.engines[0], ResidueBase((device.smallest_modulus,))


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_every_float_format(rng, device, fmt):
    array = floats(rng, fmt, (2, 3, 5), whole_range(fmt), zeros=0.2)
    for engine, base in bases(device):
        check_residues(device, base, engine, array)


@pytest.mark.parametrize("fmt", [f for f in ALL_FORMATS if f.bits == 8], ids=str)
def test_every_encoding(device, fmt):
    values = every_encoding(fmt.name)[None]
    check_residues(device, base_for(256, 60), device.backend.engines[0], values)


@pytest.mark.parametrize("name", INTEGER_NAMES)
def test_every_integer_type(rng, device, name):
    for engine, base in bases(device):
        check_residues(device, base, engine, integers(rng, name, (3, 8)))


@pytest.mark.parametrize("bits", [1, 23, 24, 25, 47, 48, 63, 64, 65, 1000, 4000])
def test_python_integers(rng, device, bits):
    edges = [sign * ((1 << bits) + d) for sign in (1, -1) for d in (-1, 0, 1)]
    for engine, base in bases(device):
        check_residues(device, base, engine, np.array([edges], object), big_integers(rng, (1, 6), bits))


@given(
    st.lists(st.integers(-(2**3000), 2**3000), min_size=1, max_size=8),
    st.lists(st.sampled_from([256, 255, 253, 251, 247, 5, 2**16 - 257, 2**22 - 3]), min_size=1, unique=True),
)
@with_device
def test_integers_of_any_size(device, numbers, moduli):
    base = ResidueBase(tuple(m for m in moduli if m <= device.largest_modulus) or (257,))
    check_residues(device, base, engine_for(device.backend, base), np.array([numbers], object))


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_largest_and_smallest_in_one_row(device, fmt):
    array = typed([fmt.largest, 1, fmt.largest | fmt.sign_bit, 1 | (0 if fmt.style == "fnuz" else fmt.sign_bit)], fmt)
    check_residues(device, device.base(1 << 22, 60), device.backend.engines[0], array)


def test_a_base_of_many_moduli(device):
    # past the groups in which sums are formed
    base = base_for(2000, 1400)
    assert len(base.moduli) > 128
    check_residues(device, base, device.backend.engines[0], np.array([[3**800, -(3**800), 1]], object))


@pytest.mark.parametrize(
    "arrays",
    [
        (np.array([[3, -5]]), np.array([[0.125, 2.0**-70]])),
        (np.array([[3, -(2**70)]], object), np.array([[0.125, 1.0]])),
        (np.array([[0.125, -1.5]], np.float16), np.array([[2.0**-1074, 2.0**1000]])),
    ],
    ids=["int and float", "big int and float", "floats"],
)
def test_operands_that_share_their_exponents_in_different_formats(device, arrays):
    engine = device.backend.engines[0]
    check_residues(device, device.base(1 << 22, 60), engine, *arrays)
    check_residues(device, device.base(1 << 22, 60), engine, *arrays[::-1])


def test_entries_that_are_not_finite_count_as_zero(device):
    array = np.array([[1.0, np.nan, -3.0, np.inf, -np.inf]])
    check_residues(device, base_for(256, 60), device.backend.engines[0], array)


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_no_entries(device, shape):
    check_residues(device, base_for(256, 20), device.backend.engines[0], np.zeros(shape))


def test_a_block_is_the_block_of_the_planes(rng, device):
    backend, engine = device.backend, device.backend.engines[0]
    base = base_for(256, 60)
    (operand,) = device.scan(floats(rng, FLOAT64, (3, 6, 7), 90)).operands
    whole = device.operand_planes(backend.residues(operand, base, engine)[0], base, operand.shape)
    index = (slice(1, 3), slice(2, 5), slice(3, 7))
    block = backend.block(operand, *index)
    part = device.operand_planes(backend.residues(block, base, engine)[0], base, block.shape)
    assert (part == whole[:, *index]).all()


# ---- operands that change after their scan -------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_a_bit_above_or_below_the_scan_is_counted(device, fmt):
    one = typed([fmt.bias << fmt.fraction_bits] * 4, fmt)
    higher, lower = one.copy(), one.copy()
    higher[[0, 2]] = typed([fmt.largest], fmt)
    lower[[0, 1, 3]] = typed([1], fmt)
    limit = device.backend.engines[0].modulus_limits[0]
    assert broken_entries(device, one[None], one[None], limit) == 0
    assert broken_entries(device, one[None], higher[None], limit) == 2
    assert broken_entries(device, one[None], lower[None], limit) == 3


@pytest.mark.parametrize("name", INTEGER_NAMES[1:])
def test_an_integer_above_the_scan_is_counted(device, name):
    limit = device.backend.engines[0].modulus_limits[0]
    small = np.array([[3, 1, 2]], name)
    large = np.array([[4, 3, np.iinfo(name).max]], name)
    assert broken_entries(device, small, large, limit) == 2
    assert broken_entries(device, large, small, limit) == 0
    if name.startswith("int"):
        least = np.array([[np.iinfo(name).min, -4, -3]], name)
        assert broken_entries(device, small, least, limit) == 2


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_an_entry_that_became_special_is_counted(device, special):
    # it would silently be taken as 0
    limit = device.backend.engines[0].modulus_limits[0]
    assert broken_entries(device, np.ones((1, 3)), np.array([[1.0, special, 1.0]]), limit) == 1
