"""The exact product in Python's integers, and its tightest bracket: what every claim is measured against.

Shares no code with exactla. Slow, for small products.
"""

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from bench.contestant import Bounds, FloatArray, Problem

Dyadic = tuple[int, int]
"""man, exp of the exact value man * 2**exp."""

Integers = list[list[int]]


def scale_rows(x: FloatArray) -> tuple[Integers, list[int]]:
    """Integers and an exponent for each row with x[i, j] = integers[i][j] * 2**exponents[i]."""
    precision = int(np.finfo(x.dtype).nmant) + 1
    significands, exponents = np.frexp(x.astype(np.float64))
    integers = np.ldexp(significands, precision).astype(np.int64)
    least = [int(e[s != 0].min(initial=2000)) for s, e in zip(significands, exponents, strict=True)]
    rows = [
        [man << (exp - low) if man else 0 for man, exp in zip(row, powers, strict=True)]
        for row, powers, low in zip(integers.tolist(), exponents.tolist(), least, strict=True)
    ]
    return rows, [low - precision for low in least]


def tightest(problem: Problem, dtype: npt.DTypeLike) -> Bounds:
    """The tightest pair of a float type around a @ b."""
    a, row_exponents = scale_rows(problem.a)
    b, column_exponents = scale_rows(problem.b.T)
    sums = np.array(a, dtype=object) @ np.array(b, dtype=object).T
    exponents = [r + c for r in row_exponents for c in column_exponents]
    values = zip(map(int, sums.flat), exponents, strict=True)
    lo, hi = outward(((value, value) for value in values), (len(row_exponents), len(column_exponents)))
    return -_narrow_up(-lo, dtype), _narrow_up(hi, dtype)


def outward(ends: Iterable[tuple[Dyadic, Dyadic]], shape: tuple[int, int]) -> Bounds:
    """Lower and upper ends of entries in C order, rounded outward to float64 arrays."""
    pairs = [(round_down(lower), -round_down((-upper[0], upper[1]))) for lower, upper in ends]
    lo, hi = np.array(pairs, dtype=np.float64).reshape(*shape, 2).transpose(2, 0, 1)
    return lo, hi


def round_down(value: Dyadic) -> float:
    """The largest float64 that is at most man * 2**exp."""
    x = _nearest(value)
    return math.nextafter(x, -math.inf) if _compare(x, value) > 0 else x


def _nearest(value: Dyadic) -> float:
    man, exp = value
    try:
        return float(man << exp) if exp >= 0 else man / (1 << -exp)
    except OverflowError:
        return math.copysign(math.inf, man)


def _compare(x: float, value: Dyadic) -> int:
    """Sign of x - man * 2**exp."""
    if math.isinf(x):
        return 1 if x > 0 else -1
    man, exp = value
    num, den = x.as_integer_ratio()
    difference = num - (man * den << exp) if exp >= 0 else (num << -exp) - man * den
    return (difference > 0) - (difference < 0)


def _narrow_up(x: FloatArray, dtype: npt.DTypeLike) -> FloatArray:
    """Float64 values rounded up to another float type; rounding up twice is rounding up once."""
    with np.errstate(over="ignore"):
        nearest: FloatArray = x.astype(dtype)
        above: FloatArray = np.nextafter(nearest, np.array(np.inf, dtype))
    return np.where(nearest.astype(np.float64) < x, above, nearest)
