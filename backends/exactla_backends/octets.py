"""Long integers as signed octets, which processors and CUDA devices multiply with tables.

Octets are balanced: octet j of x is byte j of x + 128 (1 + 256 + ...), minus 128.
"""

import numpy as np
from numpy.typing import NDArray


def signed_octets(value: int, count: int) -> NDArray[np.int8]:
    """The lowest balanced octets of an integer, int8 [count]."""
    halves = int.from_bytes(b"\x80" * count, "little")
    octets = ((value + halves) & ((1 << 8 * count) - 1)).to_bytes(count, "little")
    return (np.frombuffer(octets, np.uint8) ^ 0x80).view(np.int8)
