"""Intel's compiler for its GPUs makes matrix instructions of the products, from OpenCL C and from SPIR-V."""

import re

import pytest

from exactla_backends.kernels import modules, spirv
from exactla_backends.kernels.ways import BYTES, MATRIX_UNITS
from tests.backends.kernels import xe

DEVICES = {"dg2-g10": 8, "pvc": 16}


@pytest.fixture(scope="module", autouse=True)
def compiler():
    if xe.why_none():
        pytest.skip(f"kernels under Intel's compiler for GPUs NOT EXERCISED: {xe.why_none()}")


def options(way, octets):
    return [f"-D{name}={value}" for name, value in way.macros(octets).items()]


def matrix_instructions(listing):
    return len(re.findall(r"^\s*(?:\([^)]*\)\s*)?dpas\.8x8 ", listing, re.MULTILINE))


@pytest.mark.parametrize("octets", [1, 2])
@pytest.mark.parametrize("device", DEVICES)
def test_products_are_matrix_instructions(device, octets):
    way = MATRIX_UNITS[DEVICES[device]]
    listing = xe.instructions("multiply", modules.matrix_text(), device, options(way, octets))
    assert matrix_instructions(listing) == octets**2 * way.rows[octets - 1]


@pytest.mark.parametrize("octets", [1, 2])
@pytest.mark.parametrize("device", DEVICES)
def test_products_in_spirv_are_matrix_instructions(device, octets):
    if spirv.why_none():
        pytest.skip(f"kernels as SPIR-V NOT EXERCISED: {spirv.why_none()}")
    way = MATRIX_UNITS[DEVICES[device]]
    content = spirv.spirv(modules.matrix_text(), options(way, octets))
    listing = xe.instructions("multiply", content, device)
    assert matrix_instructions(listing) == octets**2 * way.rows[octets - 1]


def test_products_without_matrix_units():
    """The negative control."""
    listing = xe.instructions("multiply", modules.matrix_text(), "tgllp", options(BYTES, 1))
    assert "send" in listing
    assert matrix_instructions(listing) == 0
