"""Operands for benchmarks, the same in every run: normal entries, or entries whose exponents are spread wide."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bench.contestant import FloatArray, Problem

SEED = 20_250_601
WIDE_EXPONENTS = 300
"""Wide float64 entries have binary exponents uniform in +-300."""


def _normal(generator: np.random.Generator, shape: tuple[int, ...], dtype: npt.DTypeLike) -> FloatArray:
    entries: FloatArray = generator.standard_normal(shape).astype(dtype)
    return entries


def wide_exponents(dtype: npt.DTypeLike) -> int:
    """The spread of wide data: 300 for float64, the same part of the exponent range for other formats."""
    return WIDE_EXPONENTS * int(np.finfo(dtype).maxexp) // int(np.finfo(np.float64).maxexp)


def _wide(generator: np.random.Generator, shape: tuple[int, ...], dtype: npt.DTypeLike) -> FloatArray:
    spread = wide_exponents(dtype)
    significands = generator.uniform(0.5, 1.0, shape) * generator.choice([-1.0, 1.0], shape)
    exponents = generator.integers(-spread, spread, shape, endpoint=True)
    entries: FloatArray = np.ldexp(significands, exponents).astype(dtype)
    return entries


DATA: dict[str, Callable[[np.random.Generator, tuple[int, ...], npt.DTypeLike], FloatArray]] = {
    "normal": _normal,
    "wide": _wide,
}
"""Kinds of data by name; add one here and `--data` takes it."""


def product(data: str, dtype: npt.DTypeLike, m: int, k: int, n: int, *, member: int = 0) -> Problem:
    """The m x k x n problem of a kind; `member` gives independent problems of one shape."""
    generator = np.random.default_rng((SEED, sorted(DATA).index(data), m, k, n, member))
    entries = DATA[data]
    return Problem(entries(generator, (m, k), dtype), entries(generator, (k, n), dtype), data)
