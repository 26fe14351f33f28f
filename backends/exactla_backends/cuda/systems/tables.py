"""Constants of the kernels for systems, from a base of primes below 256."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.core.moduli import ResidueBase

POINT = 40
"""Binary places of the reciprocals of primes, XL_POINT."""


@lru_cache(maxsize=64)
def constants(base: ResidueBase) -> NDArray[np.int32]:
    """(m, round(2**32 / m), the inverse of P / m modulo m, centred, 0) for each prime m."""
    rows = [(m, ((1 << 32) + m // 2) // m, _centred(w, m), 0) for m, w in zip(base.moduli, base.weights, strict=True)]
    return _fixed(np.array(rows, np.int32).reshape(-1, 4))


@lru_cache(maxsize=64)
def moduli(base: ResidueBase) -> NDArray[np.int32]:
    """(m, round(2**32 / m)) for each prime m."""
    return _fixed(np.ascontiguousarray(constants(base)[:, :2]))


@lru_cache(maxsize=64)
def reciprocals(base: ResidueBase) -> NDArray[np.int64]:
    """round(2**POINT / m) for each prime m."""
    return _fixed(np.array([((1 << POINT) + m // 2) // m for m in base.moduli], np.int64))


@lru_cache(maxsize=64)
def cofactors(base: ResidueBase) -> NDArray[np.uint32]:
    """P / m for each prime m, and P, in words [primes + 1, digit_words]."""
    return _fixed(np.stack([words_of(c, digit_words(base)) for c in (*base.cofactors, base.product)]))


@lru_cache(maxsize=64)
def powers(base: ResidueBase, words: int) -> NDArray[np.int8]:
    """Residues of 2**(8 i) for the octets of so many words, then that of 2**(32 words): [primes, 4 words + 4]."""
    m = np.array(base.moduli, np.int64)
    table = np.zeros((len(m), 4 * (words + 1)), np.int8)
    power = np.ones_like(m)
    for i in range(4 * words + 1):
        table[:, i] = np.where(2 * power > m, power - m, power)
        power = power * 256 % m
    return _fixed(table)


def digit_words(base: ResidueBase) -> int:
    """Words of a digit in two's complement, whose magnitude may exceed P / 2 by a little."""
    return base.product.bit_length() // 32 + 1


def words_of(value: int, count: int) -> NDArray[np.uint32]:
    """Words of a number that is not negative."""
    return np.frombuffer(int(value).to_bytes(4 * count, "little"), "<u4")


def _centred(value: int, m: int) -> int:
    return value - m if 2 * value > m else value


def _fixed(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
