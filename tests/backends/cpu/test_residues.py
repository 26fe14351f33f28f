"""Residues of matrices whose planes no cache holds: made some rows at a time, and left in long runs."""

import numpy as np
import pytest

import exactla as xl

pytestmark = pytest.mark.usefixtures("native")

SHAPES = [(70, 700), (33, 2048), (9, 5000), (3, 20_000)]
"""Rows at a time: as many as a piece has, fewer, and so few that residues are written where they stay."""


@pytest.fixture(scope="module")
def native():
    library = pytest.importorskip("exactla_backends.cpu.native.library")
    if library.path() is None:
        pytest.skip("this installation has no native library")


def both(a, b):
    digests = []
    for name in ("numpy", "cpu"):
        with xl.backend(name):
            digests.append(xl.digest(*xl.mm_enclose(a, b)))
    return digests


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("transposed", [False, True])
def test_operands(rng, shape, dtype, transposed):
    _, depth = shape
    a, b = (rng.standard_normal(size) * 1000 for size in (shape, (depth, 40)))
    if transposed:
        a, b = (np.asfortranarray(x) for x in (a, b))
    expected, found = both(a.astype(dtype), b.astype(dtype))
    assert found == expected


@pytest.mark.parametrize("shape", SHAPES[:2])
def test_moduli_of_two_octets(rng, shape):
    a, b = (np.ldexp(rng.standard_normal(size), rng.integers(-400, 400, size)) for size in (shape, shape[::-1]))
    expected, found = both(a, b)
    assert found == expected


def test_stacks(rng):
    a, b = rng.standard_normal((3, 40, 900)), rng.standard_normal((3, 900, 50))
    expected, found = both(a[:, ::-1], b[..., ::-1])
    assert found == expected
