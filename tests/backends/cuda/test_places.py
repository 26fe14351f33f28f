"""Streams, devices and memory: products are the same anywhere, and after there was no memory for one.

On a CUDA device where there is one, else on devices that are pretended.
"""

import numpy as np
import pytest

import exactla as xl
from tests.backends.cuda.emulation import compiler
from tests.backends.cuda.emulation.installing import installed

SHAPES = {"direct": (20, 40, 30), "general": (3, 2100, 5), "blocks": (12, 20, 30)}


@pytest.fixture(scope="module")
def cupy():
    module = pytest.importorskip("cupy") if _has_device() else None
    if module is not None:
        yield module
        return
    reason = compiler.why_not()
    if reason is not None:
        pytest.skip(f"CUDA kernels on the host NOT EXERCISED: {reason}")
    with (
        installed((8, 0)),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("exactla_backends.device.backend.extreme_products_are_exact", lambda *_: True)
        import cupy as pretended

        yield pretended


def _has_device():
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:  # a driver may raise anything
        return False


class Problem:
    """Operands on the host, with the reference's answer, and the call for them."""

    def __init__(self, name):
        m, k, n = SHAPES[name]
        rng = np.random.default_rng(3)
        self.operands = rng.standard_normal((m, k)), rng.standard_normal((k, n))
        self.limit = 60_000 if name == "blocks" else None
        with xl.backend("numpy"):
            self.expected = xl.mm_enclose(*self.operands)

    def arrays(self, cupy):
        return [cupy.asarray(x) for x in self.operands]

    def check(self, cupy, arrays):
        with xl.workspace_limit(self.limit):
            found = xl.mm_enclose(*arrays)
        for one, other in zip(found, self.expected, strict=True):
            assert one.device == arrays[0].device
            with one.device:
                np.testing.assert_array_equal(cupy.asnumpy(one).view("u8"), other.view("u8"))


@pytest.fixture(params=SHAPES)
def problem(request):
    return Problem(request.param)


def test_a_second_stream(cupy, problem):
    arrays = problem.arrays(cupy)
    cupy.cuda.get_current_stream().synchronize()
    problem.check(cupy, arrays)
    for _ in range(2):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            problem.check(cupy, arrays)
            stream.synchronize()
    problem.check(cupy, arrays)


def test_a_device_that_is_not_the_current_one(cupy, problem):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("NOT EXERCISED: one CUDA device")
    here = problem.arrays(cupy)
    with cupy.cuda.Device(1):
        there = problem.arrays(cupy)
    for arrays in (here, there, here, there):
        problem.check(cupy, arrays)
        assert cupy.cuda.runtime.getDevice() == 0


class Scarce:
    """An allocator that has nothing to give from one allocation on."""

    def __init__(self, cupy, count):
        self.left = count
        self.allocate = cupy.get_default_memory_pool().malloc

    def __call__(self, size):
        if self.left == 0:
            raise MemoryError(f"{size} bytes")
        self.left -= 1
        return self.allocate(size)


def test_memory_that_is_not_there(cupy, problem):
    """Whichever allocation it is that fails: the error is raised, and the next call is right."""
    arrays = problem.arrays(cupy)
    problem.check(cupy, arrays)
    for count in (*range(8), 13, 21, 34, 89, 500, 5000):
        scarce = Scarce(cupy, count)
        cupy.cuda.set_allocator(scarce)
        try:
            problem.check(cupy, arrays)
        except MemoryError:
            pass
        else:
            if scarce.left:
                break
        finally:
            cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
        problem.check(cupy, arrays)
    else:
        pytest.fail("a call allocates without end")
    assert count >= 3
