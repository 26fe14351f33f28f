"""Settings of the calling context: they nest, end with their block, and are not seen by other threads or tasks."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import exactla as xl
from exactla import registry
from tests.test_memory import least_limit

EYE = np.eye(3)


def numpy_engines():
    return next(s.engines for s in xl.backends() if s.name == "numpy")


def engine_in_use():
    return xl.mm(EYE, EYE, return_info=True)[1].engine


def isolated(function):
    """Run in a copy of the context, so that setters do not outlive the test."""
    return contextvars.copy_context().run(function)


# ---- backends and engines ------------------------------------------------------------------------------------------


def test_backends_are_listed_with_their_engines():
    listed = {s.name: s for s in xl.backends()}
    assert listed["numpy"].available
    assert len(listed["numpy"].engines) >= 2
    assert "numpy" in str(listed["numpy"])
    for status in listed.values():
        assert status.available == (not status.reason) == bool(status.engines)


def test_engines_nest_and_end_with_their_block():
    default, names = engine_in_use(), numpy_engines()
    with xl.backend("numpy"):
        for outer in names:
            with xl.engine(outer):
                assert engine_in_use() == outer
                for inner in names:
                    with xl.engine(inner):
                        assert engine_in_use() == inner
                    assert engine_in_use() == outer
                with xl.engine(None):
                    assert engine_in_use() in names
    assert engine_in_use() == default


def test_backends_nest_and_end_with_their_block():
    with xl.backend("numpy"):
        assert xl.mm(EYE, EYE, return_info=True)[1].backend == "numpy"
        with xl.backend(None):
            xl.mm(EYE, EYE)
        assert xl.mm(EYE, EYE, return_info=True)[1].backend == "numpy"


def test_a_block_that_fails_restores_the_setting():
    default, other = engine_in_use(), numpy_engines()[-1]
    with pytest.raises(KeyError), xl.backend("numpy"), xl.engine(other):
        raise KeyError
    assert engine_in_use() == default


def test_threads_do_not_see_each_others_engines():
    default, names = engine_in_use(), numpy_engines()
    barrier = threading.Barrier(len(names))

    def work(name):
        with xl.backend("numpy"), xl.engine(name):
            barrier.wait(timeout=30)
            found = {engine_in_use() for _ in range(20)}
            barrier.wait(timeout=30)
        return found, engine_in_use()

    with xl.backend("numpy"), xl.engine(names[-1]), ThreadPoolExecutor(len(names)) as pool:
        results = list(pool.map(work, names))
    assert results == [({name}, default) for name in names]


def test_tasks_do_not_see_each_others_settings():
    names = numpy_engines()

    async def work(name, limit):
        found = []
        with xl.backend("numpy"), xl.engine(name), xl.workspace_limit(limit):
            for _ in range(5):
                await asyncio.sleep(0)
                info = xl.mm(EYE, EYE, return_info=True)[1]
                found.append((info.engine, info.workspace_bytes <= limit))
        return found

    async def main():
        return await asyncio.gather(*(work(name, 10**6 + k) for k, name in enumerate(names)))

    assert asyncio.run(main()) == [[(name, True)] * 5 for name in names]


@pytest.mark.parametrize("bad", [-1, 65])
def test_numbers_of_slices_that_are_none(bad):
    with pytest.raises(ValueError, match="number of slices is from 0 to 64"):
        xl.slices(bad)
    with pytest.raises(TypeError, match="the number of slices is an integer, got a"):
        xl.slices(1.5)


# ---- threads -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, 10**9])
def test_numbers_of_threads_that_are_none(bad):
    with pytest.raises(ValueError, match="number of threads is from 1 to"):
        xl.threads(bad)
    for other in ("2", 1.5, [1]):
        with pytest.raises(TypeError, match="the number of threads is an integer, got a"):
            xl.threads(other)


@pytest.mark.parametrize("number", [1, 2, np.int64(3), None])
def test_bytes_do_not_depend_on_the_number_of_threads(backend, number):
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, 150, 130)), rng.standard_normal((2, 130, 140))
    calls = (lambda: xl.mm_enclose(a, b), lambda: xl.mm_interval(a[0], abs(a[0]), b[0], abs(b[0])))
    expected = [xl.digest(*call()) for call in calls]
    with xl.threads(number):
        assert [xl.digest(*call()) for call in calls] == expected


# ---- checks --------------------------------------------------------------------------------------------------------


def test_the_operand_check_costs_one_synchronisation(backend):
    def syncs():
        return xl.mm_enclose(EYE, EYE, return_info=True)[1].host_syncs

    checked = syncs()
    with xl.operand_checks(False):
        assert syncs() == checked - 1
        with xl.operand_checks(True):
            assert syncs() == checked
        assert syncs() == checked - 1
    assert syncs() == checked


def test_the_setter_of_operand_checks():
    def body():
        checked = xl.mm(EYE, EYE, return_info=True)[1].host_syncs
        xl.set_operand_checks(False)
        unchecked = xl.mm(EYE, EYE, return_info=True)[1].host_syncs
        with xl.operand_checks(True):
            inside = xl.mm(EYE, EYE, return_info=True)[1].host_syncs
        xl.set_operand_checks(True)
        return checked, unchecked, inside, xl.mm(EYE, EYE, return_info=True)[1].host_syncs

    checked, unchecked, inside, again = isolated(body)
    assert (unchecked, inside, again) == (checked - 1, checked, checked)


@pytest.mark.parametrize("wrong", ["no", 0, None], ids=str)
def test_operand_checks_are_true_or_false(wrong):
    for call in (xl.operand_checks, xl.set_operand_checks):
        with pytest.raises(TypeError, match=f"enabled is True or False, got a {type(wrong).__name__}"):
            call(wrong)


def test_without_the_check_bytes_are_the_same(backend):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((5, 6)), rng.standard_normal((6, 5))
    with xl.operand_checks(False):
        unchecked = xl.digest(*xl.mm_enclose(a, b))
        with pytest.raises(xl.NonFiniteError, match=r"a\[0, 1\]"):
            xl.mm([[1.0, np.nan]], [[1.0], [1.0]])
    assert unchecked == xl.digest(*xl.mm_enclose(a, b))


@pytest.mark.parametrize("change", [1e300, 1e-300, np.nan, -np.inf])
def test_an_operand_that_is_written_to_during_a_call_is_noticed(backend, change):
    if "cpu" in registry.descriptions()[backend].copies_from:
        pytest.skip("arrays of the host are copied before the call looks at them")
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((300, 30)), rng.standard_normal((30, 300))

    def write(done, total):
        a[-1, 0] = change

    needed = xl.mm(a, b, return_info=True)[1].workspace_bytes
    with xl.workspace_limit(max(needed // 4, least_limit(lambda: xl.mm(a, b)))):
        assert xl.mm(a, b, return_info=True)[1].passes > 1
        with xl.progress(write), pytest.raises(xl.OperandChangedError, match="changed"):
            xl.mm(a, b)
        a[-1, 0] = 1.0
        with xl.operand_checks(False), xl.progress(write):
            xl.mm(a, b)


# ---- limit and progress --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, -(10**30)])
def test_limits_that_are_no_number_of_bytes(bad):
    for call in (xl.workspace_limit, xl.set_workspace_limit):
        with pytest.raises(ValueError, match="positive"):
            call(bad)
        for other in ("1 GiB", 1.5, [1]):
            with pytest.raises(TypeError, match="a workspace limit in bytes is an integer, got a"):
                call(other)


def test_limits_nest_and_end_with_their_block(backend):
    a = np.ones((200, 200))

    def passes():
        return xl.mm(a, a, return_info=True)[1].passes

    needed, least = xl.mm(a, a, return_info=True)[1].workspace_bytes, least_limit(lambda: xl.mm(a, a))
    assert passes() == 1
    with xl.workspace_limit((needed + least) // 2):
        some = passes()
        assert some > 1
        with xl.workspace_limit(np.int64((needed + 7 * least) // 8)):
            assert passes() > some
        with xl.workspace_limit(None):
            assert passes() == 1
        assert passes() == some
    assert passes() == 1


def test_the_setter_of_the_limit():
    def body():
        xl.set_workspace_limit(1)
        with pytest.raises(xl.WorkspaceError):
            xl.mm(EYE, EYE)
        xl.set_workspace_limit(None)
        return xl.mm(EYE, EYE)

    assert (isolated(body) == EYE).all()
    assert (xl.mm(EYE, EYE) == EYE).all()


def test_progress_counts_up_to_the_total(backend):
    a = np.ones((120, 20))
    i = a.astype(int)
    for call in (
        lambda: xl.mm(a, a.T, return_info=True),
        lambda: xl.mm_enclose(a, return_info=True),
        lambda: xl.mm_exact(i, i.T, return_info=True),
        lambda: xl.mm_interval(a, a, a.T, a.T, return_info=True),
        lambda: xl.bmm(np.stack([a] * 3), np.stack([a.T] * 3), return_info=True),
    ):
        seen: list[tuple[int, int]] = []
        limit = (call()[1].workspace_bytes + least_limit(call)) // 2
        with xl.workspace_limit(limit), xl.progress(lambda done, total, seen=seen: seen.append((done, total))):
            call()
        totals = {total for _, total in seen}
        assert len(totals) == 1
        assert len(seen) > 1
        assert [done for done, _ in seen] == list(range(1, totals.pop() + 1))


def test_progress_nests_and_may_stop_a_call():
    outer, inner = [], []
    with xl.progress(lambda *p: outer.append(p)):
        with xl.progress(lambda *p: inner.append(p)):
            xl.mm(EYE, EYE)
        with xl.progress(None):
            xl.mm(EYE, EYE)
        assert (len(outer), len(inner)) == (0, 1)
        xl.mm(EYE, EYE)
    xl.mm(EYE, EYE)
    assert len(outer) == 1

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), xl.progress(stop):
        xl.mm(EYE, EYE)
    assert (xl.mm(EYE, EYE) == EYE).all()
