"""Facts of a matrix of integers: right for both kinds of entries, and found once."""

import math

import numpy as np
import pytest

from exactla.core import integers
from exactla.core.elimination import determinant
from exactla.core.integers import IntegerMatrix


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (np.array([[3, -9], [4, 0]]), 9),
        (np.array([[-(1 << 63), 1], [0, 5]]), 1 << 63),
        (np.array([[1 << 100, 1], [0, -(1 << 101)]], object), 1 << 101),
    ],
)
def test_the_largest_magnitude(entries, expected):
    assert IntegerMatrix(entries).largest == expected


@pytest.mark.parametrize("dtype", [np.int64, object])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_rough_bounds_are_bounds(rng, n, dtype):
    for top in (1, 9, 1 << 40):
        matrix = IntegerMatrix(rng.integers(-top, top + 1, (n, n)).astype(dtype))
        assert abs(determinant(matrix.entries.tolist())) <= 2**matrix.rough_bound


def test_a_rough_bound_is_close_to_that_of_equal_entries():
    """Hadamard's bound for entries of 1 and -1 is n**(n/2)."""
    matrix = IntegerMatrix(np.ones((64, 64), np.int64))
    assert 0 <= matrix.rough_bound - 32 * math.log2(64) <= 64


def test_entries_are_looked_through_once(rng, monkeypatch):
    passes = []
    for name in ("largest", "hadamard"):
        plain = getattr(integers, name)

        def counted(*args, plain=plain, name=name):
            passes.append(name)
            return plain(*args)

        monkeypatch.setattr(integers, name, counted)
    matrix = IntegerMatrix(rng.integers(1, 9, (5, 5)))
    matrix.prepare()
    for _ in range(2):
        assert matrix.bounds.determinant > 0
        assert matrix.rough_bound > 0
        assert len(matrix) == 5
    assert sorted(passes) == ["hadamard", "largest"]
