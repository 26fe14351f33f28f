"""The operands of the benchmarks: the same in every run, with the spread that they are said to have."""

import numpy as np
import pytest

from bench import data


@pytest.mark.parametrize("kind", sorted(data.DATA))
def test_a_problem_is_the_same_each_time_and_members_differ(kind: str) -> None:
    first, again = data.product(kind, "float64", 5, 6, 7), data.product(kind, "float64", 5, 6, 7)
    other = data.product(kind, "float64", 5, 6, 7, member=1)
    assert np.array_equal(first.a, again.a)
    assert np.array_equal(first.b, again.b)
    assert not np.array_equal(first.a, other.a)
    assert first.shape == (5, 6, 7)
    assert first.multiplications == 210


@pytest.mark.parametrize(("dtype", "spread"), [("float64", 300), ("float32", 37), ("float16", 4)])
def test_wide_exponents_fill_their_range(dtype: str, spread: int) -> None:
    problem = data.product("wide", dtype, 200, 200, 1)
    exponents = np.frexp(problem.a)[1]
    assert problem.dtype == dtype
    assert data.wide_exponents(dtype) == spread
    assert (exponents.min(), exponents.max()) in {(-spread, spread), (-spread, spread + 1)}  # rounding may carry
