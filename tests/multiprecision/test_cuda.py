"""Numbers of multiple precision on the CUDA devices of CuPy, where there are any."""

from collections.abc import Iterator
from typing import Any

import pytest

import exactla as xl
from tests.array_libraries import ArrayLibrary, missing, opened
from tests.multiprecision import device_checks


@pytest.fixture
def cupy() -> Iterator[ArrayLibrary]:
    reason = missing("cupy")
    if reason is not None:
        pytest.skip(f"NOT EXERCISED: {reason}")
    with opened("cupy") as library:
        yield library


def test_arrays(cupy: ArrayLibrary, rng: Any) -> None:
    device_checks.arrays(rng, cupy.make, cupy.host)


def test_comparisons(cupy: ArrayLibrary, rng: Any) -> None:
    device_checks.comparisons(rng, cupy.make, cupy.host)


@pytest.mark.parametrize("size", [3, 37, 130])
def test_factors_and_solutions(cupy: ArrayLibrary, rng: Any, size: int) -> None:
    device_checks.factors_and_solutions(rng, cupy.make, size)


def test_numbers_of_the_host_come_back(cupy: ArrayLibrary, rng: Any) -> None:
    device_checks.numbers_of_the_host_come_back(rng)


def test_exact_solutions(cupy: ArrayLibrary, rng: Any) -> None:
    matrix, right = rng.standard_normal((9, 9)), rng.standard_normal(9)
    a, b = (xl.MPArray.from_float(cupy.make(x)) for x in (matrix, right))
    x = xl.solve(a, b)
    assert x == xl.solve(matrix, right)
    assert type(x.round()) is type(a.limbs)
    with pytest.raises(TypeError, match="convert one of them"):
        xl.solve(a, right)
    assert xl.solve(a, right.tolist()) == x
