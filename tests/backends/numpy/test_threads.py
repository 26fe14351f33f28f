"""Work on several threads: all of it is done, faults come back, and BLAS is left as it was."""

import multiprocessing
import threading
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import exactla as xl
from exactla_backends.numpy.threads import _BLAS, for_each, threads


def blas_threads():
    """Of the libraries that were there first: SciPy, which other tests load, brings its own."""
    known = {library.filepath for library in _BLAS._libraries}
    return [x["num_threads"] for x in threadpool_info() if x["filepath"] in known]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 500])
def test_every_piece_is_done_once(count):
    done: list[int] = []
    for_each(done.append, range(count))
    assert sorted(done) == list(range(count))


def test_the_first_fault_comes_back():
    def fail(n):
        if n in (3, 7):
            raise ZeroDivisionError(n)

    with pytest.raises(ZeroDivisionError, match="3"):
        for_each(fail, range(20))


def test_blas_is_left_as_it_was():
    before = blas_threads()
    for_each(lambda n: np.ones((50, 50)) @ np.ones((50, 50)), range(20))
    assert blas_threads() == before
    with pytest.raises(ZeroDivisionError):
        for_each(lambda n: 1 // n, range(20))
    assert blas_threads() == before


def test_the_number_of_threads_follows_the_limits_of_blas():
    with threadpool_limits(1):
        assert threads() == 1
        seen = set()
        for_each(lambda n: seen.add(threading.get_ident()), range(50))
        assert seen == {threading.get_ident()}
        assert set(blas_threads()) <= {1}


@pytest.mark.parametrize("number", [1, 3])
def test_the_number_of_threads_follows_the_setting(number):
    idents, blas = set(), set()
    everyone = threading.Barrier(number)

    def piece(n):
        if n < number:
            everyone.wait(30)  # each of the first pieces has a thread of its own
        idents.add(threading.get_ident())
        blas.update(blas_threads())

    with xl.threads(number):
        assert threads() == number
        for_each(piece, range(50))
    assert len(idents) == number
    assert blas <= {1}
    with xl.threads(1):
        for_each(piece, range(number, number + 1))
    assert blas <= {1}


def test_several_callers_at_once():
    done: list[list[int]] = [[] for _ in range(8)]
    callers = [threading.Thread(target=for_each, args=(d.append, range(200))) for d in done]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert [sorted(d) for d in done] == [list(range(200))] * 8


def test_blas_is_left_as_it_was_by_callers_that_overlap():
    # the one that came first goes first, and lives on
    before = blas_threads()
    inside, leave, end = ([threading.Event(), threading.Event()] for _ in range(3))

    def call(number):
        def piece(n):
            if n == 0:  # the other piece leaves a worker to the other caller
                inside[number].set()
                leave[number].wait(30)

        for_each(piece, range(2))
        end[number].set()
        end[1].wait(30)

    callers = [threading.Thread(target=call, args=(n,)) for n in range(2)]
    for number, thread in enumerate(callers):
        thread.start()
        if threads() > 1:  # else nothing overlaps, and nothing is set
            inside[number].wait(30)
        if number == 1:
            leave[0].set()
            end[0].wait(30)
            leave[1].set()
    for thread in callers:
        thread.join()
    assert blas_threads() == before


def _in_child(queue):
    done: list[int] = []
    for_each(done.append, range(100))
    queue.put(sorted(done) == list(range(100)))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
def test_a_forked_child_has_threads_of_its_own():
    for_each(lambda n: n, range(100))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads
        child.start()
    assert queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
