"""`tile_bytes` against the memory that calls really take, as tracemalloc or the device's allocations show it.

A plan is only as good as this estimate: with less than the truth, a limit does not hold.
"""

import gc
import sys
import tracemalloc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import exactla as xl
from exactla import registry, settings
from exactla_backends.cpu import memory as memory_for_residues

SLACK = 1 << 18
"""Bytes of Python objects, whatever the size of the work."""


@pytest.fixture(autouse=True)
def no_native_memory(monkeypatch):
    """Leave out of the estimates what a native library allocates, which tracemalloc does not see."""
    for status in xl.backends():
        if status.name == "cpu" and status.available:
            monkeypatch.setattr(registry.load("cpu"), "_tiles_bytes", lambda *sizes: 0)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def floats(rng, *shape, spread=20):
    return np.ldexp(rng.standard_normal(shape), rng.integers(-spread, spread + 1, shape))


def integers(rng, *shape, bits=62):
    return rng.integers(-(1 << bits), 1 << bits, shape)


class DeviceMemory:
    """Bytes of a device's memory, except for copies of the caller's arrays."""

    def __init__(self, backend):
        self.now = self.peak = 0
        self.backend = backend
        self.is_counting = True

    def take(self, nbytes):
        self.now += nbytes
        self.peak = max(self.peak, self.now)

    def release(self, nbytes):
        self.now -= nbytes

    @contextmanager
    def watched(self):
        view = self.backend.view

        def uncounted(source, **options):
            self.is_counting = False
            try:
                return view(source, **options)
            finally:
                self.is_counting = True

        with pytest.MonkeyPatch.context() as patch, self.noticing(patch):
            patch.setattr(self.backend, "view", uncounted)
            yield

    @contextmanager
    def noticing(self, patch):
        """Tell `take` and `release` of memory whose objects have weak references."""
        allocate = self.backend._device.allocate

        def counted(nbytes):
            memory = allocate(nbytes)
            if self.is_counting:
                self.take(nbytes)
                weakref.finalize(memory, self.release, nbytes)
            return memory

        patch.setattr(self.backend._device, "allocate", counted)
        yield


class PoolMemory(DeviceMemory):
    """Bytes of CuPy's pool, which tells of all that is taken and let go: its objects have no weak references."""

    @contextmanager
    def noticing(self, patch):
        import cupy

        watch, sizes = self, {}

        class Hook(cupy.cuda.MemoryHook):
            name = "workspace"

            def malloc_postprocess(self, *, size, mem_ptr, **_):
                if watch.is_counting:
                    sizes[mem_ptr] = size
                    watch.take(size)

            def free_postprocess(self, *, mem_ptr, **_):
                watch.release(sizes.pop(mem_ptr, 0))  # or nothing, where it was not counted

        with Hook():
            yield


def taken(call):
    """Bytes beside operands and results at the peak of a call, and its report; tables of constants have been made."""
    backend = registry.load(settings.forced_backend.get())
    gc.collect()
    if hasattr(backend, "_device"):
        memory = (PoolMemory if backend.name == "cuda" else DeviceMemory)(backend)
        with memory.watched():
            result, info = call()
        # results of integers are made on the host
        return memory.peak - sum(x.nbytes for x in _ends(result) if x.dtype.kind in "fc"), info
    if backend.name == "cpu":
        memory_for_residues.clear()
    tracemalloc.start()
    try:
        result, info = call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return peak - sum(map(size, _ends(result))), info


def _ends(result):
    return result if isinstance(result, tuple) else (result,)


def size(result):
    """Bytes of a result, and of the Python integers that it points to."""
    return result.nbytes + (sum(map(sys.getsizeof, result.flat)) if result.dtype == object else 0)


def check(call, *, tight=True):
    call()  # tables of constants are made once
    peak, info = taken(call)
    assert info.passes == 1
    assert peak <= info.workspace_bytes + SLACK
    # far too much would cut work into needlessly small blocks
    assert not tight or info.workspace_bytes <= 8 * peak + 64 * SLACK


def check_blocks(call):
    """Fewer bytes are enough, and no block takes more of them than the limit."""
    _, whole = call()
    for part in (0.5, 0.2):
        limit = int(whole.workspace_bytes * part)
        with xl.workspace_limit(limit):
            peak, info = taken(call)
        assert peak <= limit + SLACK
        assert info.workspace_bytes <= limit


SHAPES = [(100, 100, 100), (2, 20_000, 2), (300, 3, 300), (1, 2000, 200), (300, 700, 1), (1, 1, 1), (30, 30, 30)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_real_products(rng, engine, shape):
    if engine == "int64" and np.prod(shape) > 50_000:
        return  # minutes of work
    a, b = floats(rng, *shape[:2]), floats(rng, *shape[1:])
    check(lambda: xl.mm_enclose(a, b, return_info=True))
    check(lambda: xl.mm(a, b, return_info=True))
    check(lambda: xl.mm_enclose(a, return_info=True))


@pytest.mark.parametrize("spread", [150, 600])
@pytest.mark.parametrize("shape", [(40, 50, 40), (120, 2, 120), (2, 3000, 2)], ids=str)
def test_wide_products(rng, backend, shape, spread):
    a, b = floats(rng, *shape[:2], spread=spread), floats(rng, *shape[1:], spread=spread)
    # the bits that leading ones may leave over are in the plan, needed or not
    check(lambda: xl.mm_enclose(a, b, return_info=True), tight=False)
    # zeros are uncertain, so that each block is computed with all bits
    twice, opposite = np.hstack([a, a]), np.vstack([b, -b])
    check(lambda: xl.mm_enclose(twice, opposite, return_info=True), tight=False)
    check(lambda: xl.mm_enclose(twice * (1 + 1j), opposite, return_info=True), tight=False)


def test_stacks(rng, backend):
    a, b = floats(rng, 20, 30, 40), floats(rng, 20, 40, 30)
    check(lambda: xl.bmm_enclose(a, b, return_info=True))


@pytest.mark.parametrize("stacks", [((2, 1), (1, 30)), ((1, 30), (2, 1)), ((12, 1), (12,)), ((30,), (1,))], ids=str)
def test_stacks_that_broadcast(rng, backend, stacks):
    a, b = floats(rng, *stacks[0], 10, 200), floats(rng, *stacks[1], 200, 10)
    check(lambda: xl.mm_enclose(a, b, return_info=True))


@pytest.mark.parametrize(("rows", "depth"), [(80, 80), (300, 2), (2, 9000)])
def test_complex_products(rng, backend, rows, depth):
    a, b = (floats(rng, *s) + 1j * floats(rng, *s) for s in ((rows, depth), (depth, rows)))
    check(lambda: xl.mm_enclose(a, b, return_info=True))
    check(lambda: xl.mm_enclose(a, b.real, return_info=True))


@pytest.mark.parametrize(("rows", "depth"), [(80, 80), (400, 2), (2, 40_000)])
def test_products_with_special_entries(rng, backend, rows, depth):
    a, b = floats(rng, rows, depth), floats(rng, depth, rows)
    a[0, 0] = np.inf
    # two contractions have their scratch side by side in the estimate
    check(lambda: xl.mm(a, b, nonfinite="propagate", return_info=True), tight=False)
    # a wide row beside it, for which there are no leading bits
    a[1, :2] = 2.0**-400, 2.0**400
    check(lambda: xl.mm(a, b, nonfinite="propagate", return_info=True), tight=False)


@pytest.mark.parametrize(
    ("rows", "depth", "bits"), [(100, 100, 6), (100, 100, 62), (450, 1, 6), (450, 1, 62), (2, 9000, 6), (2, 9000, 62)]
)
def test_exact_products(rng, backend, rows, depth, bits):
    a, b = integers(rng, rows, depth, bits=bits), integers(rng, depth, rows, bits=bits)
    check(lambda: xl.mm_exact(a, b, return_info=True))


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_exact_products_of_big_integers(rng, threads):
    a = integers(rng, 200, 2).astype(object) ** 4
    with xl.backend("numpy"), xl.threads(threads):
        check(lambda: xl.mm_exact(a, a.T, return_info=True))


INTERVALS = [(m, *s) for m in ("rump", "sharp", "hull") for s in ((60, 60), (240, 1))] + [("sharp", 2, 2000)]


@pytest.mark.parametrize(("method", "rows", "depth"), [*INTERVALS, ("hull", 500, 1), ("hull", 300, 3)])
def test_interval_products(rng, backend, method, rows, depth):
    m, r = floats(rng, rows, depth), abs(floats(rng, rows, depth)) * 2.0**30
    check(lambda: xl.mm_interval(m, r, m.T, r.T, method=method, return_info=True))


@pytest.mark.parametrize(("rows", "depth"), [(40, 40), (2, 600)])
def test_intervals_of_one_wide_side(rng, backend, rows, depth):
    m, r, ones = floats(rng, rows, depth, spread=200), np.full((rows, depth), 2.0**200), np.ones((depth, rows))
    check(lambda: xl.mm_interval(m, r, ones, 2 * ones, method="hull", return_info=True))


# ---- blocks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(150, 150, 150), (2, 20_000, 2), (500, 3, 500)], ids=str)
def test_blocks_of_real_products(rng, backend, shape):
    a, b = floats(rng, *shape[:2]), floats(rng, *shape[1:])
    check_blocks(lambda: xl.mm_enclose(a, b, return_info=True))
    check_blocks(lambda: xl.mm_enclose(a, return_info=True))


def test_blocks_of_wide_products(rng, backend):
    a, b = floats(rng, 40, 50, spread=150), floats(rng, 50, 40, spread=150)
    check_blocks(lambda: xl.mm_enclose(a, b, return_info=True))
    check_blocks(lambda: xl.mm_enclose(np.hstack([a, a]), np.vstack([b, -b]), return_info=True))


@pytest.mark.parametrize(("rows", "depth"), [(100, 80), (2, 20_000)])
def test_blocks_of_complex_products(rng, backend, rows, depth):
    a, b = (floats(rng, *s) + 1j * floats(rng, *s) for s in ((rows, depth), (depth, rows)))
    check_blocks(lambda: xl.mm_enclose(a, b, return_info=True))
    a[0, 0] = np.inf
    check_blocks(lambda: xl.mm_enclose(a, b, nonfinite="propagate", return_info=True))


@pytest.mark.parametrize(("rows", "depth"), [(150, 60), (2, 20_000)])
def test_blocks_of_exact_products(rng, backend, rows, depth):
    a, b = integers(rng, rows, depth, bits=40), integers(rng, depth, rows, bits=6)
    check_blocks(lambda: xl.mm_exact(a, b, return_info=True))


@pytest.mark.parametrize(("method", "rows", "depth"), [("rump", 60, 60), ("sharp", 60, 60), ("hull", 40, 20)])
def test_blocks_of_interval_products(rng, backend, method, rows, depth):
    m, r = floats(rng, rows, depth), abs(floats(rng, rows, depth)) * 2.0**30
    check_blocks(lambda: xl.mm_interval(m, r, m.T, r.T, method=method, return_info=True))


def test_blocks_of_stacks(rng, backend):
    a, b = floats(rng, 20, 30, 40), floats(rng, 20, 40, 30)
    check_blocks(lambda: xl.bmm_enclose(a, b, return_info=True))
    check_blocks(lambda: xl.mm_enclose(a[:, None], b, return_info=True))


# ---- negative control ----------------------------------------------------------------------------------------------


def test_an_estimate_that_forgets_a_copy_is_noticed(monkeypatch, rng, backend):
    device = registry.load(backend)
    true = device.tile_bytes
    a, b = floats(rng, 1, 2000), floats(rng, 2000, 200)
    with xl.threads(1):  # many threads seldom work all at a time
        check(lambda: xl.mm(a, b, return_info=True))
        monkeypatch.setattr(device, "tile_bytes", lambda *sizes: true(*sizes) // 3)
        with pytest.raises(AssertionError):
            check(lambda: xl.mm(a, b, return_info=True))
