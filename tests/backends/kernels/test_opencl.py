"""The device kernels give the host kernels' bytes, as OpenCL C compiled by the device and as SPIR-V."""

import numpy as np
import pytest

from exactla.formats import FLOAT8_E4M3FN, FLOAT8_E5M2FNUZ, FLOAT16, FLOAT32, FLOAT64, INTEGER_FORMATS
from exactla.results import Rounding
from exactla_backends.kernels import tables
from tests.backends.kernels import building, compiling, opencl
from tests.backends.kernels.data import (
    assert_congruent,
    base_for,
    centred_residues,
    limbs_of,
    random_encodings,
    random_integers,
    scaled,
    values,
    wide_integers,
)
from tests.backends.kernels.library import Kernels, operand
from tests.oracle import FORMATS, encode

FORMATS_HERE = [FLOAT64, FLOAT32, FLOAT16, FLOAT8_E4M3FN, FLOAT8_E5M2FNUZ]


@pytest.fixture(scope="module", params=["text", "text4", "spirv"])
def device(request):
    reason = opencl.why_not() or (compiling.why_no_spirv() if request.param == "spirv" else None)
    if reason is not None:
        pytest.skip(f"kernels on an OpenCL device NOT EXERCISED: {reason}")
    if request.param == "spirv":
        return opencl.Device(spirv=compiling.spirv(opencl.DEFINES))
    return opencl.Device(lanes=4 if request.param == "text4" else 1)


@pytest.fixture
def host():
    variant = building.EVERYWHERE[2]
    reason = building.why_not(variant)
    if reason is not None:
        pytest.skip(f"kernels as {variant.name} NOT EXERCISED: {reason}")
    return Kernels(building.build(variant), variant.name)


@pytest.mark.parametrize("format", FORMATS_HERE, ids=str)
def test_scan_and_classes(device, host, rng, format):
    x = random_encodings(rng, format, (5, 77))
    lowest, highest, bad = device.scan(x, format)
    expected = host.scan(x, format)
    np.testing.assert_array_equal(lowest, np.minimum(expected[0], 1 << 30))
    np.testing.assert_array_equal(highest, np.maximum(expected[1], -(1 << 30)))
    assert bad == expected[2]
    np.testing.assert_array_equal(device.classify(x, format), host.classify(x, format))


@pytest.mark.parametrize("format", [*FORMATS_HERE, INTEGER_FORMATS["int32"], INTEGER_FORMATS["uint64"]], ids=str)
@pytest.mark.parametrize("octets", [1, 2])
def test_residues(device, host, rng, format, octets):
    if format in INTEGER_FORMATS.values():
        x = random_integers(rng, format, (5, 77))
    else:
        x = random_encodings(rng, format, (5, 77), spread=6)
    exponents, highest, _ = host.scan(x, format)
    bits = int((highest - exponents).max())
    base = base_for(256 if octets == 1 else 1 << 16, 100)
    numbers = scaled(values(x, format), exponents)
    limbs = tables.limbs_for(bits)
    few = [tables.residues8(base, limbs)] if octets == 1 else [tables.residues16(base, limbs)]
    for table in few + ([tables.residues16_blocks(base, bits)] if octets == 2 else []):
        planes, broken = device.residues(x, format, exponents, bits, table)
        assert_congruent(planes, numbers, base, digits=octets == 2)
        assert broken == 0


def test_residues_of_limbs(device, rng):
    numbers = wide_integers(rng, 1 << 90, (3, 50))
    base = base_for(256, 166)
    exponents = np.array([0, -40, -1], np.int64)
    planes, _ = device.residues(limbs_of(numbers, 3), None, exponents, 131, tables.residues8(base, 5))
    expected = np.array([[n << -int(e) for n in row] for row, e in zip(numbers, exponents, strict=True)], object)
    assert_congruent(planes, expected, base, digits=False)


@pytest.mark.parametrize("octets", [1, 2])
def test_integers(device, rng, octets):
    base = base_for(256 if octets == 1 else 1 << 16, 240)
    numbers = wide_integers(rng, base.product // 4, (3, 50))
    assert device.integers(centred_residues(numbers, base, octets), base) == numbers.ravel().tolist()


@pytest.mark.parametrize("octets", [1, 2])
def test_combine(device, rng, octets):
    base = base_for(256 if octets == 1 else 1 << 16, 60)
    x, y = (wide_integers(rng, base.product // 4, (3, 50)) for _ in range(2))
    found = device.combine(((-1, centred_residues(x, base, octets)), (1, centred_residues(y, base, octets))), base)
    np.testing.assert_array_equal(found, centred_residues(y - x, base, octets))


@pytest.mark.parametrize("format", FORMATS_HERE, ids=str)
def test_rounding(device, rng, format):
    base = base_for(256, 100)
    numbers = wide_integers(rng, base.product // 4, (6, 50))
    top = format.largest >> format.fraction_bits
    rows = rng.integers(-top // 2, top // 2 + 2, 6) - 60
    columns = rng.integers(-6, 6, 50)
    roundings = (Rounding.DOWN, Rounding.NEAREST)
    results = device.round(centred_residues(numbers, base, 1), base, (rows, columns), format, roundings)
    for found, rounding in zip(results, roundings, strict=True):
        for r, c in np.ndindex(numbers.shape):
            exponent = int(rows[r] + columns[c])
            assert int(found[r, c]) == encode(numbers[r, c], exponent, FORMATS[format.name], rounding.value)


def test_mark(device, host, rng):
    base = base_for(256, 20)
    signed, count, invalid = (rng.integers(-2, 3, (4, 40)), rng.integers(0, 3, (4, 40)), rng.integers(0, 2, (4, 40)))
    special = [centred_residues(x, base, 1) for x in (signed, count, invalid)]
    encodings = random_encodings(rng, FLOAT32, (4, 40), spread=3)
    found = device.mark(encodings, special, base, FLOAT32)
    host.mark(encodings, special, base, FLOAT32)
    np.testing.assert_array_equal(found, encodings)


def test_interval_pieces(device, host, rng):
    x = tuple(random_encodings(rng, FLOAT64, (4, 50), spread=5, lowest=1000) for _ in range(2))
    scans = [host.scan(part, FLOAT64) for part in x]
    exponents = np.minimum(scans[0][0], scans[1][0])
    bits = int((np.maximum(scans[0][1], scans[1][1]) - exponents).max())
    table = tables.residues8(base_for(256, 60), tables.limbs_for(bits + 3))
    found = device.interval_residues(x, FLOAT64, exponents, bits, table)
    sources = [operand(part, FLOAT64, exponents, bits) for part in x]
    expected = host.interval_residues(*sources, table, endpoints=True)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1:] == expected[1:]
