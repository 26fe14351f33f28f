"""Integers rounded to nearest, ties to even, which is RN everywhere."""


def nearest_quotient(x: int, divisor: int) -> int:
    """RN(x / divisor)."""
    if divisor < 0:
        x, divisor = -x, -divisor
    quotient, remainder = divmod(x, divisor)
    return quotient + (2 * remainder > divisor or (2 * remainder == divisor and quotient & 1 == 1))


def nearest_scaled(x: int, shift: int) -> int:
    """RN(x * 2**shift)."""
    if shift >= 0:
        return x << shift
    down = -shift
    kept, half = x >> down, 1 << (down - 1)
    dropped = x & ((1 << down) - 1)
    return kept + (dropped > half or (dropped == half and kept & 1 == 1))
