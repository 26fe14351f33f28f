"""Rounds exact values man * 2**exp outward to float64, for peers whose results are not floats. Integers decide."""

import math
from collections.abc import Iterable

import numpy as np

from bench.contestant import Bounds

Dyadic = tuple[int, int]


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


def round_down(value: Dyadic) -> float:
    """The largest float64 that is at most man * 2**exp."""
    x = _nearest(value)
    return math.nextafter(x, -math.inf) if _compare(x, value) > 0 else x


def round_up(value: Dyadic) -> float:
    """The smallest float64 that is at least man * 2**exp."""
    man, exp = value
    return -round_down((-man, exp))


def outward(ends: Iterable[tuple[Dyadic, Dyadic]], shape: tuple[int, int]) -> Bounds:
    """Bounds of the entries, in C order, as float64 arrays."""
    pairs = [(round_down(lower), round_up(upper)) for lower, upper in ends]
    lo, hi = np.array(pairs, dtype=np.float64).reshape(*shape, 2).transpose(2, 0, 1)
    return lo, hi
