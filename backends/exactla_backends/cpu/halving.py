"""Half of the Euclidean algorithm by the native library, for the middle sizes of numbers."""

import ctypes

from exactla.core.reconstruction import Halving, Matrix
from exactla_backends.cpu.native.library import I64, Instructions, Pointer

MOST_WORDS = 64
"""XL_HALVING_WORDS."""


def native_halving(native: Instructions) -> Halving:
    """The steps of `exactla.core.reconstruction` on numbers of up to 64 words of 32 bits."""
    call = native.bound("halve", Pointer, Pointer, I64, I64, Pointer)

    def halve(x: int, y: int) -> Matrix:
        bits = x.bit_length()
        words = bits // 32 + 2
        octets = 4 * words
        matrix = ctypes.create_string_buffer(4 * octets)
        # written to by the callee, in memory of their own
        numbers = [ctypes.create_string_buffer(int(n).to_bytes(octets, "little"), octets) for n in (x, y)]
        call(*numbers, words, bits // 2 + 1, matrix)
        text = matrix.raw
        a, b, c, d = (int.from_bytes(text[i * octets : (i + 1) * octets], "little", signed=True) for i in range(4))
        return a, b, c, d

    return Halving(32 * MOST_WORDS, halve)
