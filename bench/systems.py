"""Linear systems for benchmarks, the same in every run: integers, mostly int64, else Python integers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.contestant import Problem
from bench.data import SEED

Array = np.ndarray[Any, np.dtype[Any]]
Generator = np.random.Generator

BITS = 24
"""Entries of random systems are below 2**(BITS - 1) in magnitude."""


def _random(generator: Generator, n: int) -> Array:
    return generator.integers(-(1 << (BITS - 1)), 1 << (BITS - 1), (n, n))


def _pascal(n: int) -> Array:
    return np.array([[math.comb(i + j, i) for j in range(n)] for i in range(n)], object)


def _hilbert(n: int) -> Array:
    """Each row times the least common multiple of its denominators."""
    return np.array([_cleared([i + j + 1 for j in range(n)]) for i in range(n)], object)


def _lotkin(n: int) -> Array:
    found = _hilbert(n)
    found[0] = 1
    return found


def _cleared(denominators: list[int]) -> list[int]:
    common = math.lcm(*denominators)
    return [common // d for d in denominators]


def _hadamard(n: int) -> Array:
    """Sylvester's, of the largest power of two up to n."""
    found = np.ones((1, 1), np.int64)
    while 2 * len(found) <= n:
        found = np.block([[found, found], [found, -found]])
    return found


def _sparse(generator: Generator, n: int) -> Array:
    """Like a basis of a linear program: a permuted diagonal, and a few more entries a column, mostly 1 and -1."""
    found = np.zeros((n, n), np.int64)
    found[generator.permutation(n), np.arange(n)] = generator.choice([1, 1, 1, -1, 2, 7], n)
    count = 3 * n
    values = generator.choice([1, 1, 1, -1, -1, -1, 2, -3, 10, 100], count)
    found[generator.integers(0, n, count), generator.integers(0, n, count)] += values
    return found


MATRICES: dict[str, Callable[[Generator, int], Array]] = {
    "random": _random,
    "planted": _random,
    "pascal": lambda _, n: _pascal(n),
    "hilbert": lambda _, n: _hilbert(n),
    "lotkin": lambda _, n: _lotkin(n),
    "hadamard": lambda _, n: _hadamard(n),
    "sparse": _sparse,
}
"""Kinds of systems by name; a planted one has a solution of small integers."""


def system(kind: str, n: int, columns: int) -> Problem:
    """The system a x = b of a kind, with so many right-hand sides."""
    generator = np.random.default_rng((SEED, sorted(MATRICES).index(kind), n, columns))
    a: Any = MATRICES[kind](generator, n)
    b: Any = generator.integers(-(1 << (BITS - 1)), 1 << (BITS - 1), (len(a), columns))
    if kind == "planted":
        b = a @ generator.integers(-5, 6, (len(a), columns))
    return Problem(a, b, kind)
