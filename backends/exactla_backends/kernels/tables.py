"""Constants of formats and residue bases as the kernels read them; `xl_format.h`, `xl_residues.h`, `xl_crt.h`.

Everything is computed with Python integers, once for each base. Knows no device: tables are NumPy arrays.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactla.core.moduli import OCTET_LIMIT, ResidueBase
from exactla.formats import FloatFormat, Format, IntegerFormat
from exactla.results import Rounding

Words = NDArray[np.uint32]

LIMB_BITS = 32
CHUNK_LIMBS = 16
"""Limbs whose byte products the kernels sum before a reduction, XL_CHUNK_LIMBS."""

WINDOW_LIMBS = 4
BLOCK_BITS = 64
"""With powers, an entry is an integer of WINDOW_LIMBS limbs times a power of 2**BLOCK_BITS."""

DIGITS_LIMIT = 1 << 16
"""The largest modulus whose residues take two signed octets."""

LARGEST_DIGITS = 127 * 256 + 127
ROUNDINGS = {Rounding.NEAREST: 0, Rounding.DOWN: 1, Rounding.UP: 2, Rounding.ZERO: 3}

_FLOAT, _SIGNED, _UNSIGNED, _LIMBS = range(4)
_LARGEST_CHUNK = CHUNK_LIMBS * 4 * 255 * 128
_QUOTIENT_BITS = 24
_HALF_PRODUCT = {1: 1 << 14, 2: 1 << 30}


@lru_cache(maxsize=64)
def format_table(format: Format | None) -> NDArray[np.int64]:
    """The fields of `xl_format`; None stands for integers of limbs."""
    if isinstance(format, FloatFormat):
        return _fields(
            *(_FLOAT, format.bits // 8, format.bits),
            *(format.exponent_bits, format.fraction_bits, format.bias, format.precision),
            *(format.signed_zero, format.infinity is not None),
            *(format.largest, format.infinity or 0, format.nan),
        )
    if isinstance(format, IntegerFormat):
        octets = max(format.bits // 8, 1)
        kind = _SIGNED if format.signed else _UNSIGNED
        return _fields(kind, octets, 8 * octets, 1, 1, 0, 8 * octets, 1, 0, 0, 0, 0)
    return _fields(_LIMBS, 4, 32, 1, 1, 0, 32, 1, 0, 0, 0, 0)


def _fields(*values: int) -> NDArray[np.int64]:
    table = np.array(values, np.int64)
    table.setflags(write=False)
    return table


def limbs_for(bits: int) -> int:
    """Limbs that hold, in two's complement, integers below 2**bits in magnitude."""
    return bits // LIMB_BITS + 1


def _apart(weights: Words) -> Words:
    """Two words for each: its even bytes and its odd ones, each a signed integer of 16 bits. See xl_weight."""
    octets = np.ascontiguousarray(weights)[..., None].view(np.int8)
    words = np.ascontiguousarray(octets[..., [0, 2, 1, 3]].astype(np.int16)).view(np.uint32)
    words.setflags(write=False)
    return words


@dataclass(frozen=True)
class ResidueTable:
    """Constants that turn integers of `limbs` limbs into residues, or into two digits of them.

    Attributes
    ----------
    constants : [padded moduli, 8], int32 or for digits uint32
    weights : uint32 [padded moduli, limbs], or [padded moduli, 2, limbs] for digits
        Bytes of 2**(32 j + 8 i) modulo m, signed.
    powers : uint32 [padded moduli, blocks], or None
        2**(64 i) modulo m.
    """

    moduli: int
    limbs: int
    digits: bool
    constants: NDArray[np.int32] | Words
    weights: Words
    powers: Words | None = None

    @property
    def planes(self) -> int:
        """Byte planes that the residues take."""
        return self.moduli * (2 if self.digits else 1)

    @cached_property
    def weights_apart(self) -> Words:
        """The weights for kernels in vectors."""
        return _apart(self.weights)


@lru_cache(maxsize=256)
def residues8(base: ResidueBase, limbs: int) -> ResidueTable:
    """The table for moduli up to 256 and integers of that many limbs."""
    _check(base, OCTET_LIMIT)
    if not 0 < limbs <= CHUNK_LIMBS:
        raise ValueError(f"residues of one byte are made from 1 to {CHUNK_LIMBS} limbs, not {limbs}")
    moduli = _padded(base.moduli, 4)
    constants = [_constants8(m, limbs) for m in moduli]
    weights = [[_packed(_balanced_powers(m, 4 * j)) for j in range(limbs)] for m in moduli]
    constants_table = np.array(constants, np.int32)
    constants_table.setflags(write=False)
    return ResidueTable(len(base.moduli), limbs, False, constants_table, _words(weights))


def _constants8(m: int, limbs: int) -> list[int]:
    offset = m >> 1
    bits = [1, _centred(1 << 8, m), _centred(1 << 16, m)]
    # the folded sum is at least -(255 * 85 + 63 * 128): 256 modulo m is at most 85 in magnitude for any m
    bias = _multiple_from(31000, m) + offset
    return [m, (1 << 16) // m, _start(m, limbs, _LARGEST_CHUNK), _signed32(_packed([*bits, 0])), bias, offset, 0, 0]


@lru_cache(maxsize=256)
def residues16(base: ResidueBase, limbs: int) -> ResidueTable:
    """The table for moduli up to 2**16, whose residues are 256 * high + low, and integers of that many limbs."""
    _check(base, DIGITS_LIMIT)
    return _digits_table(base, limbs, None)


@lru_cache(maxsize=256)
def residues16_blocks(base: ResidueBase, bits: int) -> ResidueTable:
    """The table for fixed-width entries below 2**bits, which have few bits that are not 0 (see WINDOW_LIMBS)."""
    _check(base, DIGITS_LIMIT)
    blocks = max(bits, 1) // BLOCK_BITS + 1
    return _digits_table(base, WINDOW_LIMBS, blocks)


def _digits_table(base: ResidueBase, limbs: int, blocks: int | None) -> ResidueTable:
    moduli = _padded(base.moduli, 2)
    constants = [_constants16(m, limbs) for m in moduli]
    weights = []
    for m in moduli:
        highs, lows = zip(*(_digits(pow(2, 8 * i, m), m) for i in range(4 * limbs)), strict=True)
        weights.append([_packed_row(highs), _packed_row(lows)])
    powers = None
    if blocks is not None:
        powers = _words([[pow(2, BLOCK_BITS * i, m) for i in range(blocks)] for m in moduli])
    return ResidueTable(len(base.moduli), limbs, True, _words(constants), _words(weights), powers)


def _constants16(m: int, limbs: int) -> list[int]:
    largest = 257 * _LARGEST_CHUNK
    lift = _multiple_from(largest, m)
    return [m, (1 << 32) // m, _start(m, limbs, largest), lift, _digits_offset(m), 0, 0, 0]


def _digits_offset(m: int) -> int:
    """How far residues reach below 0: half the modulus, or more where the high digit would pass 127."""
    return max(m >> 1, m - 1 - LARGEST_DIGITS)


def _digits(r: int, m: int) -> tuple[int, int]:
    offset = _digits_offset(m)
    centred = (r + offset) % m - offset
    low = (centred + 128) % 256 - 128
    return (centred - low) >> 8, low


def _start(m: int, limbs: int, largest: int) -> int:
    """From `largest`, congruent to what the flipped top bit of the limbs adds, taken off."""
    return _multiple_from(largest, m) + -(1 << (LIMB_BITS * limbs - 1)) % m


@dataclass(frozen=True)
class CrtTable:
    """Constants that turn residues into integers of `limbs` limbs.

    Attributes
    ----------
    octets : int
        Bytes of a residue.
    constants : uint32 [padded moduli, 4]
    weights : uint32 [1 + limbs, 4, groups]
        Base-256 digits of 2**24 / m, then of the cofactors; four planes of bytes a group.
    """

    moduli: int
    octets: int
    limbs: int
    groups: int
    quotient_octets: int
    constants: Words
    weights: Words

    @cached_property
    def weights_apart(self) -> Words:
        """The weights for kernels in vectors."""
        return _apart(self.weights)


@lru_cache(maxsize=256)
def crt(base: ResidueBase, octets: int, limbs: int | None = None) -> CrtTable:
    """The table for residues of `octets` bytes, 1 or 2, of integers up to M / 4 in magnitude.

    They are made in `limbs` limbs, modulo 2**(32 limbs), by default as many as hold them.
    """
    _check(base, OCTET_LIMIT if octets == 1 else DIGITS_LIMIT)
    product = base.product
    limbs = limbs or (product.bit_length() - 2) // LIMB_BITS + 1
    quotient_octets = 1 if len(base.moduli) < 256 else 2
    shares, cofactors = [], []
    for m, cofactor in zip(base.moduli, base.cofactors, strict=True):
        for octet in range(octets):
            shares.append((1 << _QUOTIENT_BITS + 8 * octet) // m)
            cofactors.append(cofactor << 8 * octet)
    for octet in range(quotient_octets):
        shares.append(0)
        cofactors.append(-product << 8 * octet)
    groups = -(-len(shares) // 4)
    digits = np.zeros((4 * (1 + limbs), 4 * groups), np.uint8)
    digits[:4, : len(shares)] = _digit_columns(shares, 4)
    digits[4:, : len(shares)] = _digit_columns(cofactors, 4 * limbs)
    weights = digits.reshape(1 + limbs, 4, groups, 4).astype(np.uint32) @ _PLACES
    least = _HALF_PRODUCT[octets]
    reciprocal = 1 << 16 * octets
    constants = [
        [m, reciprocal // m, _centred(w, m) % (1 << 32), _multiple_from(least, m)]
        for m, w in zip(base.moduli, base.weights, strict=True)
    ]
    constants += [[0, 0, 0, 0]] * (-len(constants) % 4)
    return CrtTable(len(base.moduli), octets, limbs, groups, quotient_octets, _words(constants), _words(weights))


_PLACES = np.array([1, 1 << 8, 1 << 16, 1 << 24], np.uint32)


def _digit_columns(values: Sequence[int], count: int) -> NDArray[np.uint8]:
    """[count, len(values)]: digits of magnitude up to 128, base 256, of the values modulo 256**count.

    Adding 128 to every place and taking it off again turns digits 0..255 into -128..127.
    """
    modulus = 1 << 8 * count
    shift = sum(128 << 8 * i for i in range(count))
    text = b"".join(((v + shift) % modulus).to_bytes(count, "little") for v in values)
    digits = np.frombuffer(text, np.uint8).reshape(len(values), count)
    return np.ascontiguousarray((digits ^ 128).T)


def _check(base: ResidueBase, limit: int) -> None:
    if not base.moduli or min(base.moduli) < 3 or max(base.moduli) > limit:
        raise ValueError(f"moduli from 3 to {limit} are wanted, not {base.moduli[:1]}..{base.moduli[-1:]}")


def _padded(moduli: tuple[int, ...], step: int) -> tuple[int, ...]:
    return moduli + moduli[:1] * (-len(moduli) % step)


def _balanced_powers(m: int, first: int) -> list[int]:
    return [_centred(pow(2, 8 * (first + i), m), m) for i in range(4)]


def _packed_row(values: Sequence[int]) -> list[int]:
    return [_packed(values[i : i + 4]) for i in range(0, len(values), 4)]


def _packed(values: Iterable[int]) -> int:
    """Four signed bytes as a word, the first in its low byte."""
    return sum((v & 255) << 8 * i for i, v in enumerate(values))


def _signed32(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def _centred(r: int, m: int) -> int:
    """r modulo m in [-m / 2, m / 2)."""
    return (r + (m >> 1)) % m - (m >> 1)


def _multiple_from(least: int, m: int) -> int:
    return -(-least // m) * m


def _words(values: ArrayLike) -> Words:
    """A table of 32-bit words, which cannot be written to."""
    table = np.array(values, np.uint32)
    table.setflags(write=False)
    return table
