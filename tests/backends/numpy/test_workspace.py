"""`tile_bytes` against the memory that calls really take, as tracemalloc sees it.

A plan is only as good as this estimate: with less than the truth, a limit does not hold.
"""

import gc
import tracemalloc

import numpy as np
import pytest

import exactla as xl

SLACK = 1 << 18
"""Bytes of Python objects, whatever the size of the work."""


@pytest.fixture(autouse=True)
def forced():
    with xl.backend("numpy"):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def floats(rng, *shape, spread=20):
    return np.ldexp(rng.standard_normal(shape), rng.integers(-spread, spread + 1, shape))


def integers(rng, *shape, bits=62):
    return rng.integers(-(1 << bits), 1 << bits, shape)


def taken(call):
    """Bytes beside operands and results at the peak of a call, and its report."""
    call()  # tables of constants are made once
    gc.collect()
    tracemalloc.start()
    try:
        result, info = call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    results = result if isinstance(result, tuple) else (result,)
    return peak - sum(r.nbytes for r in results), info


def check(call):
    peak, info = taken(call)
    assert info.passes == 1
    assert peak <= info.workspace_bytes + SLACK
    # far too much would cut work into needlessly small blocks
    assert info.workspace_bytes <= 8 * peak + 64 * SLACK


SHAPES = [(100, 100, 100), (2, 20_000, 2), (300, 3, 300), (1, 2000, 200), (300, 700, 1), (1, 1, 1), (30, 30, 30)]
CASES = [(s, e) for s in SHAPES for e in ("fp64", "fp32")] + [((30, 30, 30), "int64"), ((100, 3, 100), "int64")]


@pytest.mark.parametrize(("shape", "engine_name"), CASES, ids=str)
def test_real_products(rng, shape, engine_name):
    a, b = floats(rng, *shape[:2]), floats(rng, *shape[1:])
    with xl.engine(engine_name):
        check(lambda: xl.mm_enclose(a, b, return_info=True))
        check(lambda: xl.mm(a, b, return_info=True))


def test_wide_spreads(rng):
    a, b = floats(rng, 40, 50, spread=1000), floats(rng, 50, 40, spread=1000)
    check(lambda: xl.mm_enclose(a, b, return_info=True))


def test_stacks(rng):
    a, b = floats(rng, 20, 30, 40), floats(rng, 20, 40, 30)
    check(lambda: xl.bmm_enclose(a, b, return_info=True))


@pytest.mark.parametrize("stacks", [((2, 1), (1, 30)), ((1, 30), (2, 1)), ((12, 1), (12,)), ((30,), (1,))], ids=str)
def test_stacks_that_broadcast(rng, stacks):
    a, b = floats(rng, *stacks[0], 10, 200), floats(rng, *stacks[1], 200, 10)
    check(lambda: xl.mm_enclose(a, b, return_info=True))


@pytest.mark.parametrize(("rows", "depth"), [(80, 80), (300, 2), (2, 9000)])
def test_complex_products(rng, rows, depth):
    a, b = (floats(rng, *s) + 1j * floats(rng, *s) for s in ((rows, depth), (depth, rows)))
    check(lambda: xl.mm_enclose(a, b, return_info=True))
    check(lambda: xl.mm_enclose(a, b.real, return_info=True))


@pytest.mark.parametrize(("rows", "depth"), [(80, 80), (400, 2), (2, 40_000)])
def test_products_with_special_entries(rng, rows, depth):
    a, b = floats(rng, rows, depth), floats(rng, depth, rows)
    a[0, 0] = np.inf
    check(lambda: xl.mm(a, b, nonfinite="propagate", return_info=True))


@pytest.mark.parametrize(
    ("rows", "depth", "bits"), [(100, 100, 6), (100, 100, 62), (450, 1, 6), (450, 1, 62), (2, 9000, 6), (2, 9000, 62)]
)
def test_exact_products(rng, rows, depth, bits):
    a, b = integers(rng, rows, depth, bits=bits), integers(rng, depth, rows, bits=bits)
    check(lambda: xl.mm_exact(a, b, return_info=True))


def test_exact_products_of_big_integers(rng):
    a = integers(rng, 200, 2).astype(object) ** 4
    check(lambda: xl.mm_exact(a, a.T, return_info=True))


@pytest.mark.parametrize(
    ("method", "rows", "depth"),
    [(m, *s) for m in ("rump", "sharp", "hull") for s in ((60, 60), (240, 1))] + [("sharp", 2, 2000)],
)
def test_interval_products(rng, method, rows, depth):
    m, r = floats(rng, rows, depth), abs(floats(rng, rows, depth)) * 2.0**30
    check(lambda: xl.mm_interval(m, r, m.T, r.T, method=method, return_info=True))
