"""Primes for p-adic lifting, from the top of a range down."""

from functools import cache

import gmpy2


@cache
def primes_below(limit: int, count: int, skipped: int = 0) -> tuple[int, ...]:
    """`count` odd primes below `limit`, the largest first, after the first `skipped` of them; fewer where they end."""
    found: list[int] = []
    candidate = limit
    while len(found) < skipped + count and candidate > 3:
        candidate = int(gmpy2.prev_prime(candidate))
        if candidate > 2:
            found.append(candidate)
    return tuple(found[skipped:])
