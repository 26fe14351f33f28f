"""Small products checked against exact fractions: what `exactla devices` and `exactla demo` rely on.

Independent of how exactla computes: products are summed in rational arithmetic.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import exactla as xl

Matrix = npt.NDArray[np.float64]


def sample() -> tuple[Matrix, Matrix]:
    """Operands of 6 x 67 and 67 x 4: subnormals, signs, zeros, cancellation, exponents from -1074 to 900, overflow."""
    bits = np.random.PCG64(20240229)
    a = _uniform(bits, (6, 67))
    b = _uniform(bits, (67, 4))
    a[1] = np.ldexp(a[1], np.arange(67) * 10 - 320)
    b[:, 1] = np.ldexp(b[:, 1], 300 - np.arange(67) * 10)
    a[2] = np.ldexp(a[2], -1040)
    a[3, 33:66] = a[3, :33]
    b[33:66] = -b[:33]
    a[4] = 0
    a[5, 5], b[5, 3] = 2.0**700, -(2.0**900)
    return a, b


def uniform(seed: int, shape: tuple[int, ...]) -> Matrix:
    """Numbers from -1/2 to 1/2, multiples of 2**-53: the same for a seed with every version of NumPy."""
    return _uniform(np.random.PCG64(seed), shape)


def enclosure_fault(a: Matrix, b: Matrix, lo: npt.NDArray[Any], hi: npt.NDArray[Any]) -> str | None:
    """What is wrong with float64 ends said to enclose a @ b most tightly; None where nothing is."""
    shape = (a.shape[0], b.shape[1])
    if lo.shape != shape or hi.shape != shape:
        return f"the ends have shapes {lo.shape} and {hi.shape}, not {shape}"
    left = [[Fraction(x) for x in row] for row in a.tolist()]
    right = [[Fraction(x) for x in column] for column in b.T.tolist()]
    for i, row in enumerate(left):
        for j, column in enumerate(right):
            exact = sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0))
            if not _is_tightest(exact, float(lo[i, j]), float(hi[i, j])):
                return f"entry [{i}, {j}]: [{lo[i, j]!r}, {hi[i, j]!r}] is not the tightest enclosure"
    return None


def product_fault() -> str | None:
    """Enclose the sample product with the settings in force; what went wrong, or None."""
    a, b = sample()
    try:
        lo, hi = xl.mm_enclose(a, b)
    except Exception as error:  # a broken device may raise anything: that is a finding, not the end of the table
        return f"{type(error).__name__}: {error}"
    return enclosure_fault(a, b, lo, hi)


def _uniform(bits: np.random.PCG64, shape: tuple[int, ...]) -> Matrix:
    # Only the raw stream of a bit generator is promised to stay the same.
    raw = np.asarray(bits.random_raw(math.prod(shape)), dtype=np.uint64)
    return np.ldexp((raw >> np.uint64(11)).astype(np.float64), -53).reshape(shape) - 0.5


def _is_tightest(exact: Fraction, lo: float, hi: float) -> bool:
    # Python compares fractions with floats, infinities too, exactly.
    return exact == lo if lo == hi else lo < exact < hi and math.nextafter(lo, math.inf) == hi
