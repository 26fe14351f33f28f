"""Common divisors and residues of long numbers, and quotients in lowest terms."""

from collections.abc import Sequence
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray


def common_divisor(numerators: Sequence[int], denominator: int) -> int:
    """The greatest common divisor of a positive denominator and all numerators."""
    if denominator == 1:
        return 1
    # a combination has every common divisor, and mostly no other
    combined = sum(i * n for i, n in enumerate(numerators, 1))
    divisor = gmpy2.gcd(denominator, combined)
    for numerator in numerators:
        if divisor == 1:
            break
        divisor = gmpy2.gcd(divisor, numerator)
    return int(divisor)


def centred(value: Any, modulus: Any) -> Any:
    """The residue of least magnitude."""
    residue = value % modulus
    return residue - modulus if 2 * residue > modulus else residue


def lowest_terms(numerators: list[Any], denominator: Any, shape: tuple[int, ...]) -> tuple[NDArray[np.object_], int]:
    """Numerators [n, c] as Python integers, and a positive denominator, without a common divisor.

    Numerators are given column by column, as integers of any kind, and the denominator is not 0.
    """
    divisor = common_divisor(numerators, abs(denominator))
    divisor = divisor if denominator > 0 else -divisor
    found = np.empty(len(numerators), object)
    found[:] = [int(n) for n in numerators] if divisor == 1 else [int(n // divisor) for n in numerators]
    return np.ascontiguousarray(found.reshape(shape[::-1]).T), int(denominator // divisor)
