"""The workspace limit: work is cut into blocks that cannot be seen, or refused before anything is allocated."""

import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import exactla as xl
from tests.operands import floats, integers
from tests.oracle import FORMATS, assert_enclosure, same_bytes

FLOAT32, FLOAT64 = FORMATS["float32"], FORMATS["float64"]


def peak(function):
    """Bytes that NumPy and Python held at once beyond what they held before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def least_limit(call):
    """The bytes that the smallest block of a call needs, as its error says."""
    with xl.workspace_limit(1), pytest.raises(xl.WorkspaceError) as caught:
        call()
    assert caught.value.allowed == 1
    assert f"{caught.value.needed:,}" in str(caught.value)
    return caught.value.needed


CALLS = {
    "mm": lambda a, b: (xl.mm(a, b),),
    "enclose": xl.mm_enclose,
    "nt": lambda a, b: (xl.mm_nt(a, b.T),),
    "gram": lambda a, b: xl.mm_enclose(a),
    "propagate": lambda a, b: (xl.mm(np.where(a == a[2, 3], np.inf, a), b, nonfinite="propagate"),),
    "batch": lambda a, b: (xl.bmm(np.stack([a, -a, a]), np.stack([b] * 3)),),
    "repeated": lambda a, b: (xl.mm(np.broadcast_to(a, (4, *a.shape)), b),),
    "sharp": lambda a, b: xl.mm_interval(a, np.abs(a), b, np.abs(b) / 2),
    "hull": lambda a, b: xl.mm_interval(a, 2 * np.abs(a), b, 2 * np.abs(b), method="hull"),
    "complex": lambda a, b: (xl.mm(a + 1j * a[::-1], b),),
}


@pytest.mark.parametrize("name", CALLS)
def test_blocks_do_not_show(rng, engine, name):
    a, b = floats(rng, FLOAT64, (5, 7), 12, zeros=0), floats(rng, FLOAT64, (7, 4), 12, zeros=0)
    expected = CALLS[name](a, b)
    needed = least_limit(lambda: CALLS[name](a, b))
    for factor in (1, 3, 15):
        with xl.workspace_limit(needed * factor):
            for x, y in zip(CALLS[name](a, b), expected, strict=True):
                same_bytes(x, y)


@pytest.mark.parametrize("share", [0.3, 0.7])
@pytest.mark.parametrize("name", CALLS)
def test_larger_blocks_do_not_show(rng, backend, name, share):
    a, b = floats(rng, FLOAT64, (23, 30), 12, zeros=0), floats(rng, FLOAT64, (30, 19), 12, zeros=0)
    expected = CALLS[name](a, b)
    needed = least_limit(lambda: CALLS[name](a, b))
    with xl.workspace_limit(max(needed, int(share * 6e6))):
        for x, y in zip(CALLS[name](a, b), expected, strict=True):
            same_bytes(x, y)


def test_the_smallest_block_is_enough_and_one_byte_less_is_not(rng, backend):
    a, b = floats(rng, FLOAT64, (5, 300), 12), floats(rng, FLOAT64, (300, 4), 12)
    needed = least_limit(lambda: xl.mm_enclose(a, b))
    with xl.workspace_limit(needed):
        result, info = xl.mm_enclose(a, b, return_info=True)
    assert_enclosure(result, a, b, FLOAT64)
    assert info.workspace_bytes == needed
    assert info.passes >= 20
    with xl.workspace_limit(needed - 1), pytest.raises(xl.WorkspaceError) as caught:
        xl.mm_enclose(a, b)
    assert (caught.value.needed, caught.value.allowed) == (needed, needed - 1)
    assert isinstance(caught.value, MemoryError)


def test_the_workspace_in_use_stays_within_the_limit(rng, backend):
    a, b = floats(rng, FLOAT64, (30, 40), 12), floats(rng, FLOAT64, (40, 30), 12)
    needed = least_limit(lambda: xl.mm(a, b))
    for extra in (30_000, 300_000, 2_000_000):
        with xl.workspace_limit(needed + extra):
            info = xl.mm(a, b, return_info=True)[1]
        assert info.workspace_bytes <= needed + extra


@pytest.mark.parametrize("form", ["enclose", "long", "wide", "complex", "propagate", "sharp", "hull", "exact"])
def test_the_workspace_that_is_measured_stays_within_the_limit(rng, backend, form):
    spread = 2000 if form == "wide" else 12
    shape = {"long": (4, 40_000, 3), "wide": (15, 30, 20)}.get(form, (90, 80, 100))
    a, b = floats(rng, FLOAT64, shape[:2], spread), floats(rng, FLOAT64, shape[1:], spread)
    x, y = integers(rng, "int64", a.shape), integers(rng, "int64", b.shape)
    radius_a, radius_b = np.abs(a), 2 * np.abs(b)
    special = np.where(a == a[3, 4], np.inf, a)
    complex_a, complex_b = a + 1j * a[::-1], b + 1j * b[::-1]
    call = {
        "complex": lambda: xl.mm_enclose(complex_a, complex_b),
        "propagate": lambda: xl.mm_enclose(special, b, nonfinite="propagate"),
        "sharp": lambda: xl.mm_interval(a, radius_a, b, radius_b),
        "hull": lambda: xl.mm_interval(a, radius_a, b, radius_b, method="hull"),
        "exact": lambda: xl.mm_exact(x, y),
    }.get(form, lambda: xl.mm_enclose(a, b))
    call()  # tables are made once
    results = 4 * shape[0] * shape[2] * 8  # both ends of both parts
    limit = max(8 << 20, least_limit(call))
    with xl.workspace_limit(limit):
        assert peak(call) <= results + limit


def test_an_impossible_product_is_refused_before_anything_is_allocated(backend):
    a = np.broadcast_to(np.float64(1.5), (100_000, 8))  # the result would take 80 GB

    def refused():
        with pytest.raises(xl.WorkspaceError):
            xl.mm_enclose(a)

    with xl.workspace_limit(100):
        assert peak(refused) < 30_000_000
        with pytest.raises(xl.WorkspaceError, match=r"workspace_limit"):
            xl.mm_interval(a, a, a.T, a.T)
        with pytest.raises(xl.WorkspaceError):
            xl.mm_exact(a.astype(np.int8), np.ones((8, 3), np.int8))


@pytest.mark.parametrize("shape", [(0, 5000, 3), (3, 5000, 0), (1, 5000, 0), (0, 5000, 0), (0, 0, 0), (4, 0, 4)])
def test_an_empty_sum_or_result_needs_no_workspace_for_its_terms(rng, backend, shape):
    rows, depth, columns = shape
    a, b = floats(rng, FLOAT64, (rows, depth), 12), floats(rng, FLOAT64, (depth, columns), 12)
    with xl.workspace_limit(250_000):
        assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)
        assert_enclosure(xl.mm_interval(a, np.zeros_like(a), b, np.zeros_like(b), method="hull"), a, b, FLOAT64)
        assert xl.mm(a + 1j, b).shape == (rows, columns)


def test_long_inner_dimensions_are_cut(rng, backend):
    a, b = integers(rng, "int8", (2, 200_000)), integers(rng, "int8", (200_000, 2))
    expected, whole = xl.mm_exact(a, b, return_info=True)
    limit = max(2_000_000, least_limit(lambda: xl.mm_exact(a, b)))
    assert limit < whole.workspace_bytes
    with xl.workspace_limit(limit):
        result, info = xl.mm_exact(a, b, return_info=True)
    same_bytes(result, expected)
    assert info.workspace_bytes <= limit


PROGRAM = """
import json, resource, sys
import numpy as np, exactla as xl
n, depth, limit = map(int, sys.argv[2:])
rng = np.random.default_rng(1)
a = rng.standard_normal((n, depth)).astype(np.float32)
b = rng.standard_normal((depth, n)).astype(np.float32)
chosen = xl.backend(sys.argv[1])
chosen.__enter__()
xl.mm(a[:50], b[:, :50])
unit = 1 if sys.platform == "darwin" else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
with xl.workspace_limit(limit):
    result, info = xl.mm(a, b, return_info=True)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
rows = [0, n // 3, n - 1]
same = np.array_equal(result[rows], xl.mm(a[rows], b))
print(json.dumps([after - before, result.nbytes, info.passes, bool(same)]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no getrusage")
def test_the_memory_of_a_large_product_of_small_inner_dimension(backend):
    n, depth, limit = 5000, 3, 100 << 20
    command = [sys.executable, "-c", PROGRAM, backend, str(n), str(depth), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    growth, result_bytes, passes, same = json.loads(done.stdout)
    assert same
    assert passes > 1
    held = 2 if backend == "sycl" else 1  # whose device's results are copied, within the same memory here
    assert growth <= held * result_bytes + limit + (20 << 20)
