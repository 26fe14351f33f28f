"""Every public product call, on small operands: what a backend has to serve."""

from collections.abc import Callable
from typing import Any

import numpy as np

import exactla as xl

_RNG = np.random.default_rng(11)


def _floats(*shape: int, dtype: Any = np.float64) -> Any:
    return np.ldexp(_RNG.standard_normal(shape), _RNG.integers(-20, 20, shape)).astype(dtype)


A, B, SQUARE = _floats(3, 4), _floats(4, 2), _floats(3, 3)
SINGLE = _floats(3, 4, dtype=np.float32)
HALF = _floats(3, 4).clip(-9, 9).astype(np.float16)
STACK, OTHER = _floats(2, 3, 4), _floats(2, 4, 2)
COMPLEX = A + 1j * _floats(3, 4)
INTEGERS = _RNG.integers(-99, 99, (3, 4))
WIDE = INTEGERS.astype(object) ** 13
SPECIAL = A.copy()
SPECIAL[0, 1], SPECIAL[1, 2], SPECIAL[2, 0] = np.inf, np.nan, -np.inf
RADII = (abs(_floats(3, 4)), abs(_floats(4, 2)))
LOW, HIGH = np.minimum(A, _floats(3, 4)), np.maximum(A, 1.0)
LOW = np.minimum(LOW, HIGH)

CALLS: dict[str, Callable[[], Any]] = {
    "mm_enclose": lambda: xl.mm_enclose(A, B),
    "mm_enclose of one operand": lambda: xl.mm_enclose(A),
    "mm_enclose in another format": lambda: xl.mm_enclose(A, B, dtype=np.float32),
    "mm_enclose of complex operands": lambda: xl.mm_enclose(COMPLEX, COMPLEX.T),
    "mm_enclose of a complex and a real operand": lambda: xl.mm_enclose(COMPLEX, B),
    "mm_enclose of a real and a complex operand": lambda: xl.mm_enclose(A, COMPLEX.T),
    "mm_enclose of integers": lambda: xl.mm_enclose(INTEGERS, B),
    "mm_enclose of Python integers": lambda: xl.mm_enclose(WIDE, B),
    "mm_enclose of special entries": lambda: xl.mm_enclose(SPECIAL, B, nonfinite="propagate"),
    "mm_enclose of vectors": lambda: xl.mm_enclose(A[0], B[:, 0]),
    "mm_enclose of broadcast stacks": lambda: xl.mm_enclose(STACK[:, None], OTHER),
    "mm_enclose of nothing": lambda: xl.mm_enclose(A[:, :0], B[:0]),
    "mm_enclose_nt": lambda: xl.mm_enclose_nt(A, B.T),
    "bmm_enclose": lambda: xl.bmm_enclose(STACK, OTHER),
    "mm": lambda: xl.mm(A, B),
    "mm downwards": lambda: xl.mm(A, B, rounding="down"),
    "mm upwards": lambda: xl.mm(A, B, rounding="up"),
    "mm towards zero": lambda: xl.mm(A, B, rounding="zero"),
    "mm of mixed formats": lambda: xl.mm(SINGLE, HALF.T),
    "mm of complex operands": lambda: xl.mm(COMPLEX, COMPLEX.T, dtype=np.complex64),
    "mm of complex special entries": lambda: xl.mm(SPECIAL + 1j, COMPLEX.T, nonfinite="propagate"),
    "mm of bool": lambda: xl.mm(INTEGERS > 0, B),
    "mm_nt": lambda: xl.mm_nt(A, B.T),
    "bmm": lambda: xl.bmm(STACK, OTHER),
    "mm_exact": lambda: xl.mm_exact(INTEGERS, INTEGERS.T),
    "mm_exact of Python integers": lambda: xl.mm_exact(WIDE, WIDE.T),
    "mm_interval": lambda: xl.mm_interval(A, RADII[0], B, RADII[1]),
    "mm_interval by Rump": lambda: xl.mm_interval(A, RADII[0], B, RADII[1], method="rump"),
    "mm_interval hull": lambda: xl.mm_interval(A, 2 * RADII[0] + 1, B, 2 * RADII[1] + 1, method="hull"),
    "mm_interval_bounds": lambda: xl.mm_interval_bounds(LOW, HIGH, LOW.T, HIGH.T),
    "mm_interval_bounds hull": lambda: xl.mm_interval_bounds(LOW, HIGH, LOW.T, HIGH.T, method="hull"),
}  # fmt: skip
