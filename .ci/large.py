"""A product that fills a device: encloses square float64 matrices in a bounded workspace, and checks a few results.

Whole rows would take the host hours: what is checked are entries of some random rows, against exact sums of Python
integers. Prints the time and the most memory that was taken beside operands and results.

    python .ci/large.py [SIZE [GIBIBYTES]]
"""

import sys
from fractions import Fraction
from math import inf, nextafter
from time import perf_counter
from typing import Any

import cupy
import numpy as np

import exactla as xl

ROWS, COLUMNS = 4, 48
BITS = 53


class Peak(cupy.cuda.MemoryHook):  # type: ignore[misc]  # CuPy has no types
    """The most bytes that were in use at once."""

    name = "peak"

    def __init__(self) -> None:
        self.pool = cupy.get_default_memory_pool()
        self.bytes = 0

    def malloc_postprocess(self, **_: Any) -> None:
        self.bytes = max(self.bytes, self.pool.used_bytes())


def integers(x: Any) -> tuple[list[int], int]:
    """Numbers as integers times 2**exponent."""
    significands, exponents = np.frexp(x)
    lowest = int(exponents.min())
    whole = (significands * 2.0**BITS).astype(np.int64).tolist()
    return [s << int(e) - lowest for s, e in zip(whole, exponents, strict=True)], lowest - BITS


def is_tightest(lo: float, hi: float, exact: Fraction) -> bool:
    """Whether an enclosure of a number is the tightest."""
    return (
        Fraction(lo) <= exact <= Fraction(hi)
        and (lo == exact or Fraction(nextafter(lo, inf)) > exact)
        and (hi == exact or Fraction(nextafter(hi, -inf)) < exact)
    )


def main(size: int, gibibytes: float) -> int:
    random = cupy.random.RandomState(5)
    a, b = random.standard_normal((size, size)), random.standard_normal((size, size))
    peak, limit = Peak(), int(gibibytes * 2**30)
    before = peak.pool.used_bytes()
    with peak, xl.workspace_limit(limit):
        start = perf_counter()
        (lo, hi), info = xl.mm_enclose(a, b, return_info=True)
        cupy.cuda.get_current_stream().synchronize()
        seconds = perf_counter() - start
    workspace = peak.bytes - before - lo.nbytes - hi.nbytes
    sys.stdout.write(
        f"n = {size:,}: {seconds:.3f} s with kernels to compile, {2 * size**3 / seconds / 1e12:.1f} TFLOP/s; {info}"
        + "\n"
    )
    sys.stdout.write(f"workspace: {workspace / 2**30:.2f} GiB of {gibibytes:g} GiB, {info.passes} blocks" + "\n")
    choice = np.random.default_rng(6)
    rows, columns = choice.choice(size, ROWS, replace=False), choice.choice(size, COLUMNS, replace=False)
    left = [integers(x) for x in cupy.asnumpy(a[rows])]
    right = [integers(x) for x in cupy.asnumpy(b[:, columns]).T]
    ends = [cupy.asnumpy(x[rows][:, columns]) for x in (lo, hi)]
    wrong = 0
    for i, (x, unit) in enumerate(left):
        for j, (y, other) in enumerate(right):
            exact = sum(p * q for p, q in zip(x, y, strict=True)) * Fraction(2) ** (unit + other)
            wrong += not is_tightest(float(ends[0][i, j]), float(ends[1][i, j]), exact)
    sys.stdout.write(f"{ROWS * COLUMNS} results checked, {wrong} wrong" + "\n")
    return int(wrong > 0 or workspace > limit)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 32768, float(sys.argv[2]) if len(sys.argv) > 2 else 40))
