"""Common divisors and residues of long numbers."""

from collections.abc import Sequence
from typing import Any

import gmpy2


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
