"""What products of long integers take on the NumPy backend, beside what is announced for them."""

import numpy as np
import pytest

import exactla as xl
from exactla.core.planning import arithmetic, sum_bits
from exactla.registry import load
from exactla_backends.numpy import wide_tables
from tests.test_memory import peak

SHAPES = [
    (1, 1, 1, 1, 1), (3, 3, 4, 4, 4), (1, 1, 1, 100, 100), (30, 20, 10, 2, 2), (9, 9, 9, 100, 100), (1, 1, 600, 100, 3),
    (2, 90, 2, 3, 200), (64, 64, 64, 1, 1), (1, 3, 1, 1, 300), (100, 100, 100, 2, 2),
]  # fmt: skip


@pytest.mark.parametrize("name", ["fp64", "fp32", "int64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_take_about_what_is_announced(rng, name, shape):
    rows, columns, depth, left, right = shape
    verbs = load("numpy").multiprecision
    bits = sum_bits(64 * left, 64 * right, depth) + 1
    try:
        plan = arithmetic(verbs, bits, name)
    except xl.EngineLimitError:
        pytest.skip("the moduli of the engine do not hold the sums")
    a, b = (rng.integers(0, 1 << 64, s, np.uint64) for s in ((rows, depth, left), (columns, depth, right)))
    count = (bits + 2) // 64 + 1
    wide_tables._powers.cache_clear()
    wide_tables._reconstruction.cache_clear()
    taken = peak(lambda: verbs.product(a, b, count, plan.base, plan.engine)) - 8 * rows * columns * count
    needed = verbs.product_bytes(rows, columns, depth, plan.base, plan.engine)
    assert taken <= needed <= 4 * taken + 20_000


def test_a_small_product_fits_a_small_limit(rng):
    a, b = (xl.MPArray.from_float(rng.random(s)).to_components(2) for s in ((3, 4), (4, 3)))
    expected = xl.mp_mm(a, b)
    with xl.backend("numpy"), xl.workspace_limit(100_000):
        assert np.array_equal(xl.mp_mm(a, b), expected)
        factors = xl.lu_factor([[2, 1], [1, 3]], precision=100)
    assert factors.info.workspace_bytes < 100_000
