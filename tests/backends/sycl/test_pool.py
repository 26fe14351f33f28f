"""Memory that nothing refers to any more is used again, as long as there is little of it."""

import sys

import numpy as np
import pytest
from dpctl.memory import MemoryUSMDevice

import exactla as xl
from exactla_backends.sycl import pool as pool_module
from exactla_backends.sycl.device import SyclDevice
from exactla_backends.sycl.pool import Pool

SIZE = 4096


@pytest.fixture
def queue():
    return SyclDevice().queue


def test_memory_is_given_out_again_when_nothing_refers_to_it(queue):
    pool = Pool()
    memory = pool.take(queue, SIZE)
    address = memory._pointer
    assert pool.take(queue, SIZE)._pointer != address
    del memory
    assert pool.take(queue, SIZE)._pointer == address


def test_memory_of_another_size_is_other_memory(queue):
    pool = Pool()
    pool.take(queue, SIZE)
    assert pool.free_bytes == SIZE
    memory = pool.take(queue, 2 * SIZE)
    assert pool.free_bytes == SIZE
    assert memory.nbytes == 2 * SIZE


def test_the_oldest_memory_goes_back_to_the_system_first(queue):
    pool = Pool(5 * SIZE)
    memories = [pool.take(queue, SIZE) for _ in range(5)]
    addresses = [memory._pointer for memory in memories]
    while memories:
        del memories[0]
    assert pool.free_bytes == 5 * SIZE
    memories.append(pool.take(queue, 2 * SIZE))
    assert pool.free_bytes == 3 * SIZE
    assert pool.take(queue, SIZE)._pointer == addresses[-1]


def test_memory_beyond_the_limit_is_not_kept(queue):
    pool = Pool(SIZE)
    assert pool.take(queue, 2 * SIZE).nbytes == 2 * SIZE
    assert pool.free_bytes == 0
    lent = pool.take(queue, SIZE)
    pool.take(queue, SIZE)
    assert pool.free_bytes == 0
    del lent
    assert pool.free_bytes == SIZE


def test_a_signal_is_not_lost_where_memory_is_given_back(queue):
    """What a callback raises would be: so none runs bytecode."""
    pool = Pool()
    seen = []

    def count(frame, event, argument):
        if event == "call" and frame.f_code.co_filename == pool_module.__file__:
            seen.append(frame.f_code.co_name)

    memory = pool.take(queue, SIZE)
    sys.setprofile(count)
    try:
        del memory
    finally:
        sys.setprofile(None)
    assert seen == []
    assert pool.free_bytes == SIZE


def test_a_result_keeps_its_memory():
    dpnp = pytest.importorskip("dpnp")
    rng = np.random.default_rng(1)
    x, y = (dpnp.asarray(rng.standard_normal((40, 40)).astype(np.float32)) for _ in range(2))
    first = xl.mm(x, y)
    before = dpnp.asnumpy(first)
    xl.mm(y, x)
    assert np.array_equal(dpnp.asnumpy(first), before)


def test_a_view_of_a_result_keeps_its_memory():
    """dpctl's views share the memory of an array, and not the object that stands for it."""
    dpnp = pytest.importorskip("dpnp")
    x = dpnp.asarray(np.random.default_rng(1).standard_normal((40, 40)))
    first = xl.mm(x, x)
    before = dpnp.asnumpy(first)
    view = MemoryUSMDevice(first.get_array().usm_data)
    del first
    xl.mm(x, -x)
    assert np.array_equal(view.copy_to_host().view(np.float64).reshape(40, 40), before)
