"""Integers of many limbs: value = sum over j of limb[j] * 2**(24 j), the limbs along the first axis, int64.

Limbs in general are signed digits of magnitude at most 2**24. `carry` brings them to two's complement: all in
[0, 2**24) but the top one, which is signed.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla_backends.numpy.encodings import Decoded, Ints

BITS = 24
MASK = (1 << BITS) - 1


def count_for(bits: int) -> int:
    """Limbs that hold integers below 2**bits in magnitude, in two's complement as well."""
    return bits // BITS + 1


def from_decoded(decoded: Decoded, shift: Ints, count: int) -> Ints:
    """Signed digits [count, ...] of sign * significand * 2**shift; a negative shift drops bits that are 0."""
    place = BITS * np.arange(count).reshape(count, *(1,) * shift.ndim)
    position = shift - place
    # shifts past the word give 0; a shift of the wrong sign is past the word, read as unsigned
    digits = np.left_shift(decoded.significand, position.view(np.uint64))
    np.negative(position, out=position)
    digits |= np.right_shift(decoded.significand, position.view(np.uint64))
    digits &= np.uint64(MASK)
    limbs = digits.view(np.int64)
    limbs *= decoded.sign
    return limbs


def from_integers(values: NDArray[np.object_]) -> tuple[Ints, int]:
    """Two's complement limbs [L, ...] of Python integers, and a bound on the bits of their magnitudes."""
    flat = list(map(int, values.ravel().tolist()))
    bits = max(map(int.bit_length, flat), default=0)
    count = count_for(bits)
    text = b"".join([v.to_bytes(count * BITS // 8, "little", signed=True) for v in flat])
    octets = np.frombuffer(text, np.uint8).reshape(len(flat), count, BITS // 8)
    limbs = np.zeros((count, len(flat)), np.int64)
    for i in range(BITS // 8):
        limbs |= octets[..., i].T.astype(np.int64) << 8 * i
    limbs[-1] -= limbs[-1] >> BITS - 1 << BITS
    return limbs.reshape(count, *values.shape), bits


def to_integers(limbs: Ints) -> NDArray[Any]:
    """The integers of two's complement limbs: int64 where all of them fit, else Python integers."""
    low: Ints = np.zeros(limbs.shape[1:], np.int64)
    for j in range(min(len(limbs), 3)):
        low += limbs[j] << BITS * j  # modulo 2**64
    places = [low >> min(BITS * j, 63) for j in range(len(limbs))]
    fits = [(limb == (v & MASK)).all() for limb, v in zip(limbs[:-1], places, strict=False)]
    if all(fits) and (limbs[-1] == places[-1]).all():
        return low
    return _integers(_octets(limbs))


def octets(limbs: Ints, width: int) -> NDArray[np.uint8]:
    """Bytes [..., width] of two's complement limbs, modulo 2**(8 width)."""
    found = _octets(limbs)
    missing = width - found.shape[-1]
    if missing > 0:
        sign = (found[..., -1:] >> 7) * np.uint8(0xFF)
        found = np.concatenate([found, np.repeat(sign, missing, axis=-1)], axis=-1)
    return np.ascontiguousarray(found[..., :width])


def _octets(limbs: Ints) -> NDArray[np.uint8]:
    """Bytes [..., 3 L] of two's complement limbs, the lowest first."""
    octets = np.empty((*limbs.shape[1:], len(limbs), BITS // 8), np.uint8)
    for i in range(BITS // 8):
        octets[..., i] = np.moveaxis((limbs >> 8 * i) & 0xFF, 0, -1)
    return octets.reshape(*limbs.shape[1:], len(limbs) * BITS // 8)


def _integers(octets: NDArray[np.uint8]) -> NDArray[Any]:
    """The integers of two's complement bytes [..., width]: int64 where all of them fit, else Python integers."""
    shape, width = octets.shape[:-1], octets.shape[-1]
    text = octets.tobytes()
    values = [int.from_bytes(text[i : i + width], "little", signed=True) for i in range(0, len(text), width)]
    fits = all(-(1 << 63) <= v < 1 << 63 for v in values)
    return np.array(values, np.int64 if fits else object).reshape(shape)


def carry(limbs: Ints) -> Ints:
    """Bring limbs to two's complement, in place."""
    over = np.empty(limbs.shape[1:], np.int64)
    for j in range(len(limbs) - 1):
        np.right_shift(limbs[j], BITS, out=over)
        limbs[j] &= MASK
        limbs[j + 1] += over
    return limbs


def magnitude(limbs: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """|value| of two's complement limbs, in place, and which values are negative."""
    negative = limbs[-1] < 0
    if negative.any():
        limbs *= 1 - 2 * negative.astype(np.int64)
        carry(limbs)
    return limbs, negative


def less(x: Ints, y: Ints) -> NDArray[np.bool_]:
    """x < y for two's complement limbs of equal count."""
    below: NDArray[np.bool_] = carry(x - y)[-1] < 0
    return below


def extend(limbs: Ints, count: int) -> Ints:
    """A copy with zero limbs added at the top, up to `count`."""
    wide = np.zeros((count, *limbs.shape[1:]), np.int64)
    wide[: len(limbs)] = limbs
    return wide


def to_words(limbs: Ints) -> NDArray[np.uint32]:
    """Two's complement limbs of 32 bits [words, ...] of signed digits."""
    words = -(-len(limbs) * BITS // 32)
    padded = octets(carry(limbs.copy()), 4 * words)
    return np.ascontiguousarray(np.moveaxis(padded.view("<u4"), -1, 0)).astype(np.uint32)


def words_of(integers: NDArray[Any], count: int) -> NDArray[np.uint32]:
    """Two's complement limbs of 32 bits [..., count] of int64 or Python integers, that hold them."""
    if integers.dtype == np.int64:
        found = np.empty((*integers.shape, count), np.uint32)
        found[...] = (integers >> 63).astype(np.uint32)[..., None]
        low = np.ascontiguousarray(integers)[..., None].view(np.uint32)
        found[..., : min(count, 2)] = low[..., :count]
        return found
    octets = b"".join([i.to_bytes(4 * count, "little", signed=True) for i in integers.ravel().tolist()])
    return np.frombuffer(octets, "<u4").reshape(*integers.shape, count).copy()


def from_words(words: NDArray[np.uint32]) -> NDArray[Any]:
    """The integers of two's complement limbs of 32 bits [..., words]: int64 where all fit, else Python integers."""
    if words.shape[-1] == 1:
        return words[..., 0].view(np.int32).astype(np.int64)
    low: Ints = (words[..., 0].astype(np.uint64) | words[..., 1].astype(np.uint64) << np.uint64(32)).view(np.int64)
    fill = (low >> 63).astype(np.uint32)
    if (words[..., 2:] == fill[..., None]).all():
        return low
    return _integers(np.ascontiguousarray(words.astype("<u4", copy=False)).view(np.uint8))
