"""What numbers of multiple precision on a CUDA device have to do: the same as those of the host, and stay there."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import exactla as xl
from exactla import MPArray

Move = Callable[[Any], Any]
"""An array of NumPy on the device, or the other way round."""


def numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.standard_normal(shape) * 2.0 ** rng.integers(-70, 70, shape)


def assert_same(found: MPArray, expected: MPArray, like: Any) -> None:
    assert type(found.limbs) is type(like)
    assert found.device == like.device
    assert xl.digest(found) == xl.digest(expected)


def arrays(rng: np.random.Generator, there: Move, host: Move) -> None:
    x, y = numbers(rng, (4, 6)), numbers(rng, (4, 6))
    like = there(x)
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
        assert_same(change(a, b), change(p, q), like)
    assert (a.bits, str(a), bool(a[0, 0])) == (p.bits, str(p), True)
    assert (host(a.to_float()) == x).all()
    assert xl.digest(a.to_device("cpu")) == xl.digest(p)


def comparisons(rng: np.random.Generator, there: Move, host: Move) -> None:
    x, y = (rng.integers(-2, 3, (4, 5)).astype(float) for _ in range(2))
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        found = compare(MPArray.from_float(there(x)), MPArray.from_float(there(y)))
        assert type(found) is type(there(x))
        assert found.dtype == np.bool_
        assert (host(found) == compare(x, y)).all()


def factors_and_solutions(rng: np.random.Generator, there: Move, size: int) -> None:
    x, y = numbers(rng, (size, size)), numbers(rng, (size, 2))
    found, expected = xl.lu_factor(there(x), precision=150), xl.lu_factor(x, precision=150)
    assert found.info.backend == "cuda"
    assert_same(found.L, expected.L, there(x))
    assert_same(found.U, expected.U, there(x))
    assert_same(found.solve(there(y), refine=1), expected.solve(y, refine=1), there(x))
    assert_same(found.inv(), expected.inv(), there(x))


def numbers_of_the_host_come_back(rng: np.random.Generator) -> None:
    x = numbers(rng, (5, 5))
    with xl.backend("cuda"):
        found = xl.lu_factor(x, precision=90)
        assert found.info.backend == "cuda"
        assert found.L.device == found.solve(x).device == (MPArray.from_float(x) @ x).device == "cpu"
    assert xl.digest(found.U) == xl.digest(xl.lu_factor(x, precision=90).U)
