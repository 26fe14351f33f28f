"""Numbers of multiple precision that live on a device which runs kernels on this host, beside those of the host."""

import operator

import pytest

import exactla as xl
from exactla import MPArray
from tests.libraries import fake_cupy


@pytest.fixture(autouse=True)
def memory():
    """More than the pretended device says that it has."""
    with xl.workspace_limit(1 << 34):
        yield


def there(array):
    with fake_cupy.Device(1):
        return fake_cupy.asarray(array)


def numbers(rng, shape):
    return rng.standard_normal(shape) * 2.0 ** rng.integers(-70, 70, shape)


def assert_same(found, expected):
    assert found.device == fake_cupy.Device(1)
    assert xl.digest(found) == xl.digest(expected)


def test_arrays(ampere, rng):
    x, y = numbers(rng, (4, 6)), numbers(rng, (4, 6))
    a, b = (MPArray.from_float(there(v)) for v in (x, y))
    p, q = (MPArray.from_float(v) for v in (x, y))
    for change in (
        lambda v, w: v + w,
        lambda v, w: v - w[1],
        lambda v, w: (v + w) - w - v,
        lambda v, w: v[::-1, [2, 0]],
        lambda v, w: v.T,
        lambda v, w: -v * 7**90,
        lambda v, w: v @ w.T,
        lambda v, w: (v * 3).rounded(40),
        lambda v, w: abs(v).normalized(),
    ):
        assert_same(change(a, b), change(p, q))
    assert (a.bits, str(a), bool(a[0, 0])) == (p.bits, str(p), True)
    assert type(a.to_float()) is fake_cupy.ndarray


def test_comparisons(ampere, rng):
    x, y = (rng.integers(-2, 3, (4, 5)).astype(float) for _ in range(2))
    for compare in (operator.eq, operator.lt, operator.ge):
        found = compare(MPArray.from_float(there(x)), MPArray.from_float(there(y)))
        assert type(found) is fake_cupy.ndarray
        assert (found.memory == compare(x, y)).all()


@pytest.mark.parametrize("size", [3, 37])
def test_factors_and_solutions(ampere, rng, size):
    x, y = numbers(rng, (size, size)), numbers(rng, (size, 2))
    found, expected = xl.lu_factor(there(x), precision=150), xl.lu_factor(x, precision=150)
    assert found.info.backend == "cuda"
    assert_same(found.L, expected.L)
    assert_same(found.U, expected.U)
    assert_same(found.solve(there(y), refine=1), expected.solve(y, refine=1))


def test_inverses_are_made_there(ampere, rng):
    x = numbers(rng, (20, 20))
    assert_same(xl.lu_factor(there(x), precision=90).inv(), xl.lu_factor(x, precision=90).inv())


def test_numbers_of_the_host_come_back(ampere, rng):
    x = numbers(rng, (5, 5))
    with xl.backend("cuda"):
        found = xl.lu_factor(x, precision=90)
        assert found.info.backend == "cuda"
        assert found.L.device == found.solve(x).device == (MPArray.from_float(x) @ x).device == "cpu"
    assert xl.digest(found.U) == xl.digest(xl.lu_factor(x, precision=90).U)
