"""The reference of the benchmarks against Fractions, at the edges of the formats too."""

from fractions import Fraction

import numpy as np
import pytest

from bench import data, exact
from bench.contestant import Problem


def _product(problem: Problem, i: int, j: int) -> Fraction:
    pairs = zip(problem.a[i].tolist(), problem.b[:, j].tolist(), strict=True)
    return sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))


@pytest.mark.parametrize("result", ["float16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kind", sorted(data.DATA))
def test_the_bracket_is_the_tightest(kind: str, dtype: str, result: str) -> None:
    problem = data.product(kind, dtype, 4, 6, 3)
    lo, hi = exact.tightest(problem, result)
    for i, j in np.ndindex(4, 3):
        value, lower, upper = _product(problem, i, j), lo[i, j], hi[i, j]
        if np.isfinite(lower):
            assert Fraction(float(lower)) <= value
        if np.isfinite(upper):
            assert value <= Fraction(float(upper))
        exactly = np.isfinite(lower) and Fraction(float(lower)) == value
        with np.errstate(over="ignore"):
            assert upper == (lower if exactly else np.nextafter(lower, np.array(np.inf, result)))


@pytest.mark.parametrize(
    ("man", "exp", "expected"),
    [
        (1, -1074, 5e-324),
        (1, -1075, 0.0),
        (-1, -1075, -5e-324),
        ((1 << 53) + 1, 0, 2.0**53),
        (-(1 << 53) - 1, 0, -(2.0**53) - 2),
        (1, 1024, np.finfo(np.float64).max),
        (-1, 1024, -np.inf),
        (3, -5000, 0.0),
        (0, 10, 0.0),
    ],
)
def test_round_down(man: int, exp: int, expected: float) -> None:
    assert exact.round_down((man, exp)) == expected


def test_rows_of_zeros_are_scaled() -> None:
    rows, exponents = exact.scale_rows(np.array([[0.0, -0.0], [0.0, 3.0]]))
    assert rows[0] == [0, 0]
    assert Fraction(rows[1][1]) * Fraction(2) ** exponents[1] == 3
