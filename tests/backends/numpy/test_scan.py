"""How far the NumPy scan goes beyond its postcondition: it counts trailing zeros, so that round numbers are cheap."""

import numpy as np
import pytest

from exactla_backends.numpy import scan
from tests.backends.devices import open_device


@pytest.mark.parametrize(
    ("rows", "bits"),
    [
        ([[1.0, 1.0]], 1),
        ([[4.0, 1.0]], 3),
        ([[3.0, 1024.0]], 11),
        ([[2.0**-1022]], 1),
        ([[1 + 2.0**-52]], 53),
        ([[1.0], [2.0**1000], [2.0**-1000]], 1),
        ([[0.0, 0.0]], 0),
    ],
    ids=str,
)
def test_bits_of_floats(rows, bits):
    assert open_device("numpy").scan(np.array(rows)).bits == bits


@pytest.mark.parametrize(("rows", "bits"), [([[5, -3]], 3), ([[0, 0]], 0), ([[-128]], 8), ([[127]], 7)], ids=str)
def test_bits_of_integers(rows, bits):
    assert open_device("numpy").scan(np.array(rows, np.int8)).bits == bits


def test_no_exponent_reaches_the_mark_for_none():
    assert scan.NONE > 1 << 20
