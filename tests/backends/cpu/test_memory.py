"""Memory that is kept for later calls: never that of an array in use, and never more than is allowed."""

import gc
import signal
import threading

import numpy as np
import pytest

from exactla_backends.cpu.memory import Pool

LEAST, MOST = 1000, 5000


@pytest.fixture
def pool():
    return Pool(LEAST, MOST)


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_once_no_array_uses_it(pool):
    first = pool.octets(2000)
    place = address(first)
    other = pool.octets(2000)
    assert address(other) != place
    del first
    assert address(pool.octets(1500)) == place


@pytest.mark.parametrize("view", [lambda x: x[10:], lambda x: x.view(np.int32).reshape(5, -1)[1:, ::2], np.asarray])
def test_memory_of_a_view_is_in_use(pool, view):
    kept = view(pool.octets(2000))
    kept[...] = 7
    others = [pool.octets(2000) for _ in range(3)]
    for other in others:
        other[...] = 1
    gc.collect()
    assert (kept == 7).all()


def test_small_memory_is_not_kept(pool):
    assert pool.octets(LEAST - 1).base is None
    assert pool.octets(0).size == 0


def test_no_more_is_kept_than_allowed(pool):
    arrays = [pool.octets(size) for size in (1000, 2000, 2000, 2000, 9000)]
    assert [isinstance(array.base, memoryview) for array in arrays] == [True, True, True, False, False]
    del arrays
    pool.octets(1000)
    assert sum(block.size for block in pool._unused) <= MOST


def test_what_was_unused_for_longest_makes_room(pool):
    first, second = pool.octets(1000), pool.octets(1500)
    del first
    del second
    pool.octets(3500)
    assert [block.size for block in pool._unused] == [1500]


def test_interrupts_while_arrays_are_collected_are_neither_lost_nor_block(pool):
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timers here")
    caught, armed = 0, False

    def interrupt(*_):
        nonlocal armed
        if armed:
            armed = False
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
    try:
        while caught < 100:
            try:
                armed = True
                while True:
                    pool.octets(2000)
            except KeyboardInterrupt:
                caught += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert pool._lock.acquire(timeout=1)


def test_cleared_memory_is_not_used_again(pool):
    array = pool.octets(2000)
    array[...] = 7
    pool.clear()
    assert (array == 7).all()
    del array
    pool.clear()
    assert pool._unused == []


def test_much_larger_memory_is_not_used_for_less(pool):
    place = address(pool.octets(4000))
    small = pool.octets(1000)
    assert address(small) != place
    assert address(pool.octets(3000)) == place


def test_threads_share_memory(pool):
    def work(number):
        for i in range(200):
            array = pool.octets(1000 + 10 * (i % 7))
            array[...] = number
            if (array != number).any():
                wrong.append(number)

    wrong: list[int] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
