"""Residues of floats, integers and limbs, against Python integers and the NumPy backend."""

import numpy as np
import pytest

from exactla.backend import Operand
from exactla.core.moduli import ResidueBase
from exactla.formats import FLOAT16, FLOAT32, FLOAT64, FLOAT_FORMATS, INTEGER_FORMATS
from exactla_backends.kernels import tables
from exactla_backends.numpy import engines
from exactla_backends.numpy.backend import NumpyBackend
from tests.backends.kernels.data import (
    assert_congruent,
    base_for,
    bases,
    limbs_of,
    random_encodings,
    random_integers,
    scaled,
    values,
    wide_integers,
)
from tests.backends.kernels.library import operand

SHAPES = [(1, 1), (3, 64), (5, 65), (20, 7), (9, 33), (2, 200)]


def scanned(kernels, x, format):
    """An operand with the exponents that the kernels find, and its integers."""
    lowest, highest, _ = kernels.scan(x, format)
    exponents = np.where(highest < -(1 << 39), 0, lowest)
    bits = int(np.where(highest < -(1 << 39), 0, highest - lowest).max(initial=0))
    return operand(x, format, exponents, bits), scaled(values(x, format), exponents)


def table_for(base, x, octets):
    if octets == 1:
        return tables.residues8(base, tables.limbs_for(x.bits))
    if tables.limbs_for(x.bits) > 8:
        return tables.residues16_blocks(base, x.bits)
    return tables.residues16(base, tables.limbs_for(x.bits))


@pytest.mark.parametrize("format", [*FLOAT_FORMATS.values(), *INTEGER_FORMATS.values()], ids=str)
@pytest.mark.parametrize("octets", [1, 2])
def test_every_format(kernels, rng, format, octets):
    shape = (5, 75)
    if format in FLOAT_FORMATS.values():
        x = random_encodings(rng, format, shape, spread=min(12, (format.largest >> format.fraction_bits)))
    else:
        x = random_integers(rng, format, shape)
    x[2] = 0
    source, numbers = scanned(kernels, x, format)
    base = base_for(256 if octets == 1 else 1 << 16, 90)
    planes, broken = kernels.residues(source, table_for(base, source, octets), shape[1])
    assert_congruent(planes, numbers, base, digits=octets == 2)
    assert broken == 0


@pytest.mark.parametrize("octets", [1, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_base(kernels, rng, octets, shape):
    x = random_encodings(rng, FLOAT64, shape, spread=30)
    source, numbers = scanned(kernels, x, FLOAT64)
    for base in bases(octets):
        planes, broken = kernels.residues(source, table_for(base, source, octets), shape[1])
        assert_congruent(planes, numbers, base, digits=octets == 2)
        assert broken == 0


@pytest.mark.parametrize("format", [FLOAT16, FLOAT32, FLOAT64], ids=str)
def test_whole_exponent_range(kernels, rng, format):
    x = random_encodings(rng, format, (3, 130))
    source, numbers = scanned(kernels, x, format)
    base = base_for(1 << 16, 100)
    for table in (tables.residues16_blocks(base, source.bits), tables.residues16(base, tables.limbs_for(source.bits))):
        planes, broken = kernels.residues(source, table, 130)
        assert_congruent(planes, numbers, base, digits=True)
        assert broken == 0


@pytest.mark.parametrize("bits", [1, 31, 32, 63, 64, 65, 250, 480])
def test_limbs_modulo_bytes(kernels, rng, bits):
    numbers = wide_integers(rng, (1 << bits) - 1, (4, 70))
    limbs = limbs_of(numbers, tables.limbs_for(bits))
    base = base_for(256, 100)
    for more in (0, 1):
        table = tables.residues8(base, min(tables.limbs_for(bits) + more, 16))
        planes, _ = kernels.residues(operand(limbs, None, np.zeros(4, np.int64), bits), table, 70)
        assert_congruent(planes, numbers, base, digits=False)


@pytest.mark.parametrize("bits", [20, 500, 512, 3000])
def test_limbs_modulo_digits(kernels, rng, bits):
    numbers = wide_integers(rng, (1 << bits) - 1, (3, 40))
    base = base_for(1 << 16, 100)
    table = tables.residues16(base, tables.limbs_for(bits))
    source = operand(limbs_of(numbers, table.limbs), None, np.zeros(3, np.int64), bits)
    planes, _ = kernels.residues(source, table, 40)
    assert_congruent(planes, numbers, base, digits=True)


def test_limbs_beside_floats(kernels, rng):
    """Rows of limbs take the exponents of the floats that they were scanned with."""
    numbers = wide_integers(rng, 1 << 70, (4, 40))
    exponents = np.array([0, -1, -32, -75], np.int64)
    base = base_for(256, 160)
    table = tables.residues8(base, tables.limbs_for(150))
    planes, _ = kernels.residues(operand(limbs_of(numbers, 3), None, exponents, 150), table, 40)
    expected = np.array([[n << -int(e) for n in row] for row, e in zip(numbers, exponents, strict=True)], object)
    assert_congruent(planes, expected, base, digits=False)


def test_as_the_reference(kernels, rng):
    x = random_encodings(rng, FLOAT64, (8, 300), spread=25)
    (expected,) = NumpyBackend().scan([[Operand(x[None], FLOAT64, (1, 8, 300))]])
    (reference,) = expected.operands
    base = base_for(256, 166)
    planes, _ = NumpyBackend().residues(reference, base, engines.ENGINES[0])
    source = operand(x, FLOAT64, reference.exponents[0], reference.bits)
    found, _ = kernels.residues(source, tables.residues8(base, tables.limbs_for(reference.bits)), 300)
    np.testing.assert_array_equal(found, planes[:, 0])


@pytest.mark.parametrize("octets", [1, 2])
def test_padding_and_rows(kernels, rng, octets):
    """Entries from the depth up to that of the planes are 0, and rows outside the range are left alone."""
    for shape in ((5, 70), (11, 12)):
        x = random_encodings(rng, FLOAT64, shape, spread=5)
        source, numbers = scanned(kernels, x, FLOAT64)
        base = base_for(256 if octets == 1 else 1 << 16, 60)
        planes, _ = kernels.residues(source, table_for(base, source, octets), 128, begin=2)
        assert (planes[:, :2] == 99).all()
        assert (planes[:, 2:, shape[1] :] == 0).all()
        assert_congruent(planes[:, 2:, : shape[1]], numbers[2:], base, digits=octets == 2)


@pytest.mark.parametrize("view", [lambda x: x[::-1], lambda x: x[:, ::-2], lambda x: x[:, 3:80:7], lambda x: x.T])
def test_any_strides(kernels, rng, view):
    x = view(random_encodings(rng, FLOAT32, (90, 90), spread=20))
    source, numbers = scanned(kernels, x, FLOAT32)
    base = base_for(256, 60)
    planes, _ = kernels.residues(source, table_for(base, source, 1), x.shape[1])
    assert_congruent(planes, numbers, base, digits=False)


@pytest.mark.parametrize("octets", [1, 2])
def test_broken_scans_are_counted(kernels, rng, octets):
    x = random_encodings(rng, FLOAT64, (4, 100), spread=3)
    source, _ = scanned(kernels, x, FLOAT64)
    base = base_for(256 if octets == 1 else 1 << 16, 60)
    table = table_for(base, source, octets)
    changed = x.copy()
    changed[1, 7] = 0x7FE << 52  # too large
    changed[2, 99] = 1  # too small
    changed[3, 50] = 0x7FF << 52  # infinity counts as 0
    late = operand(changed, FLOAT64, source.kept[1], source.bits)
    assert kernels.residues(source, table, 100)[1] == 0
    assert kernels.residues(late, table, 100)[1] == 2
    if octets == 2:
        assert kernels.residues(late, tables.residues16_blocks(base, source.bits), 100)[1] == 2


def test_low_bits_are_cut_downwards(kernels, rng):
    """A plan that keeps only leading bits gets the floor of each entry in units of its row's exponent."""
    x = random_encodings(rng, FLOAT64, (3, 90), spread=40)
    _, highest, _ = kernels.scan(x, FLOAT64)
    exponents = highest - 50
    base = base_for(256, 60)
    planes, broken = kernels.residues(operand(x, FLOAT64, exponents, 50), tables.residues8(base, 2), 90)
    assert_congruent(planes, scaled(values(x, FLOAT64), exponents), base, digits=False)
    assert broken > 0


def test_a_wrong_table_is_noticed(kernels, rng):
    """The negative control: one weight off by one, and the check fails."""
    x = random_encodings(rng, FLOAT64, (2, 64), spread=10)
    source, numbers = scanned(kernels, x, FLOAT64)
    base = ResidueBase((251, 241, 239))
    table = tables.residues8(base, tables.limbs_for(source.bits))
    weights = table.weights.copy()
    weights[1, 0] += 1
    spoilt = tables.ResidueTable(table.moduli, table.limbs, False, table.constants, weights)
    planes, _ = kernels.residues(source, spoilt, 64)
    with pytest.raises(AssertionError, match="modulus 241"):
        assert_congruent(planes, numbers, base, digits=False)
