"""The constants of the CUDA kernels, and the bounds that their comments claim, in exact integers."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest

from exactla.core.moduli import ResidueBase, residue_base
from tests.backends.kernels.data import wide_integers

WORD = 1 << 32


def bases():
    """One of each number of moduli, from the top, and where they run dry the largest prime powers."""
    found: dict[int, ResidueBase] = {}
    for bits in range(1, 361):
        base = residue_base(256, bits)
        if base is not None and min(base.moduli) > 2:
            found.setdefault(len(base.moduli), base)
    return found


BASES = bases()
EVERY_MODULUS = range(3, 257)


def words(table):
    return [int(word) for word in table]


def test_every_number_of_moduli_up_to_the_most():
    assert max(BASES) == 54
    assert len(BASES) >= 45


# ---- operands to residues --------------------------------------------------------------------------------------------


def residue_row(cuda, base, limbs, p):
    size = 4 + limbs
    modulus, inverse, start, offsets, *weights = words(cuda.elements._residue_rows(base, limbs))[p * size :][:size]
    return modulus, inverse, start, offsets, weights


def signed_bytes(word):
    return [((word >> 8 * i & 255) + 128) % 256 - 128 for i in range(4)]


@pytest.mark.parametrize("limbs", [1, 2, 3, 6, 12])
def test_residues(cuda, rng, limbs):
    """As `xl_octets`: sums of bytes stay below 2**24, their quotient is exact, and the octet is the centred residue."""
    limit = (1 << 32 * limbs - 1) - 1
    numbers = [*(int(n) for n in wide_integers(rng, limit, (40,))), limit, -limit, -limit - 1]
    biased = [[n + (1 << 32 * limbs - 1) >> 32 * j & WORD - 1 for j in range(limbs)] for n in numbers]
    for base in BASES.values():
        for p, m in enumerate(base.moduli):
            modulus, inverse, start, offsets, weights = residue_row(cuda, base, limbs, p)
            assert (modulus, offsets) == (m, (m >> 1) * 0x01010101)
            for n, row in zip(numbers, biased, strict=True) if len(base.moduli) in (1, 22, 54) else ():
                total = start + sum(
                    w * (limb >> 8 * i & 255)
                    for limb, word in zip(row, weights, strict=True)
                    for i, w in enumerate(signed_bytes(word))
                )
                assert 0 <= total < 1 << 24
                r = total - (total * inverse >> 32) * m
                assert r == total % m
                assert r - (m >> 1) == (n + (m >> 1)) % m - (m >> 1)


@pytest.mark.parametrize("limbs", [1, 12])
def test_sums_of_extreme_bytes(cuda, limbs):
    """The least and the largest sum that any bytes give, for all moduli."""
    for base in BASES.values():
        for p in range(len(base.moduli)):
            _, _, start, _, weights = residue_row(cuda, base, limbs, p)
            flat = [w for word in weights for w in signed_bytes(word)]
            assert start + 255 * sum(w for w in flat if w < 0) >= 0
            assert start + 255 * sum(w for w in flat if w > 0) < 1 << 24


@pytest.mark.parametrize("m", EVERY_MODULUS)
def test_the_quotient_of_a_sum_is_exact(m):
    """floor(s ceil(2**32 / m) / 2**32) = floor(s / m) for s < 2**24: the ceiling is off by less than 2**-24 s / m."""
    excess = Fraction(-(-WORD // m), WORD) - Fraction(1, m)
    assert 0 <= excess * (1 << 24) < Fraction(1, m)


def test_bytes_less_their_offsets():
    """As `xl_less_offsets`: four differences modulo 256, for all bytes and offsets."""
    x, tops = np.arange(256, dtype=np.uint32) * np.uint32(0x01010101), np.uint32(0x80808080)
    for offset in range(129):
        offsets = np.uint32(offset * 0x01010101)
        # neighbours differ, so that a borrow would be seen
        for y in (x, x[::-1] & np.uint32(0x00FF00FF) | x & np.uint32(0xFF00FF00)):
            found = ((y | tops) - (offsets & ~tops)) ^ ((y ^ ~offsets) & tops)
            expected = (y.view(np.uint8) - np.uint8(offset)).view(np.uint32)
            np.testing.assert_array_equal(found, expected)


# ---- residues to integers --------------------------------------------------------------------------------------------


def crt_table(cuda, base):
    limbs, pairs = cuda.elements.crt_limbs(base), -(-len(base.moduli) // 2)
    flat = words(cuda.elements._crt_pairs(base))
    parts = {}
    for name, count in (
        *(("weights", pairs), ("shares", pairs), ("cofactors", pairs * limbs)),
        *(("minus_product", limbs), ("start", limbs)),
    ):
        parts[name], flat = flat[:count], flat[count:]
    assert len(flat) in (2, 3), "what is left is the share of the start, aligned to eight octets"
    parts["cofactors"] = [value(parts["cofactors"][i * limbs : (i + 1) * limbs]) for i in range(pairs)]
    return parts | {"limbs": limbs, "start_share": value(flat[-2:])}


def value(limbs):
    return sum(limb << 32 * j for j, limb in enumerate(limbs))


@pytest.mark.parametrize("count", BASES)
def test_integers(cuda, rng, count):
    """As `xl_integers8`: sums hold in 64 bits, the quotient is right, and the limbs are those of the integer."""
    base = BASES[count]
    t = crt_table(cuda, base)
    size = 1 << 32 * t["limbs"]
    quarter = base.product // 4
    ends = [0, 1, -1, quarter, -quarter]
    for number in [*ends, *(int(n) for n in wide_integers(rng, quarter, (60,)))]:
        biased = [(number + (m >> 1)) % m - (m >> 1) + 128 for m in base.moduli]
        biased += [0] * (len(biased) % 2)
        x = [(w & 0xFFFF) * biased[2 * p] + (w >> 16) * biased[2 * p + 1] for p, w in enumerate(t["weights"])]
        assert max(x) < 1 << 25
        share = t["start_share"] + sum(a * b for a, b in zip(x, t["shares"], strict=True))
        exact = Fraction(value(t["start"]) + sum(a * c for a, c in zip(x, t["cofactors"], strict=True)), base.product)
        assert share < 1 << 63
        assert abs(Fraction(share, WORD) - exact) < Fraction(1, 4)
        quotient = share + (1 << 31) >> 32
        total = value(t["start"]) + sum(a * c for a, c in zip(x, t["cofactors"], strict=True))
        found = (total + quotient * value(t["minus_product"])) % size
        assert (found + size // 2) % size - size // 2 == number


@pytest.mark.parametrize("count", BASES)
def test_the_share_of_the_quotient_is_near_enough(cuda, count):
    """For any residues: each share is off by half a unit at most, times X < 2**25, and the start's by half."""
    base = BASES[count]
    t = crt_table(cuda, base)
    pairs = [base.moduli[i : i + 2] for i in range(0, count, 2)]
    for share, pair in zip(t["shares"], pairs, strict=True):
        assert abs(share - Fraction(WORD, prod(pair))) <= Fraction(1, 2)
    largest = [255 * ((w & 0xFFFF) + (w >> 16)) for w in t["weights"]]
    assert all(x < 1 << 25 for x in largest)
    assert all(w & 0xFFFF < 1 << 16 and w >> 16 < 1 << 16 for w in t["weights"])
    error = sum(
        x * abs(share - Fraction(WORD, prod(pair))) for x, share, pair in zip(largest, t["shares"], pairs, strict=True)
    )
    start = abs(t["start_share"] - Fraction(value(t["start"]) * WORD, base.product))
    assert (error + start) / WORD < Fraction(1, 4)


@pytest.mark.parametrize("count", BASES)
def test_sums_of_a_limb_hold_in_64_bits(cuda, count):
    """A column of limbs: the start, X times each cofactor's limb, the quotient times a limb of -M, and a carry."""
    t = crt_table(cuda, BASES[count])
    largest = sum(255 * ((w & 0xFFFF) + (w >> 16)) for w in t["weights"])
    quotient = (
        t["start_share"]
        + sum(255 * ((w & 0xFFFF) + (w >> 16)) * s for w, s in zip(t["weights"], t["shares"], strict=True))
        + (1 << 31)
        >> 32
    )
    assert (largest + quotient + 2) * (WORD - 1) < 1 << 64
    assert quotient < WORD


# ---- sums of products ------------------------------------------------------------------------------------------------


def centre(total, m, inverse):
    """As `xl_centre`, with Python's integers; both products are those of 32 bits on the device."""
    remainder = total - (total * inverse >> 32) * m
    assert -(1 << 31) <= remainder < 1 << 31
    return remainder - m if remainder >= (m + 1) >> 1 else remainder


@pytest.mark.parametrize("moduli", [(256, 255, 253), (65280, 65279, 257), (4, 3), (128, 127, 5)], ids=str)
def test_sums_are_centred(cuda, rng, moduli):
    base = ResidueBase(moduli)
    table = cuda.matrix._constants(base)
    for m, (modulus, inverse, radix, radix2) in zip(moduli, table.tolist(), strict=True):
        assert (modulus, inverse) == (m, (WORD + m // 2) // m)
        assert ((radix - 256) % m, (radix2 - 65536) % m) == (0, 0)
        assert 2 * max(abs(radix), abs(radix2)) <= m


@pytest.mark.parametrize("m", [*EVERY_MODULUS, 257, 4096, 32767, 32768, 65279, 65280])
def test_a_centred_sum_is_in_its_range(m):
    """At multiples of m and halves of it, and at the ends of 32 bits: where the quotient is nearest to being wrong."""
    inverse = (WORD + m // 2) // m
    top = (1 << 31) // m
    totals = {
        k * m + d
        for k in (*range(-3, 4), -top, 1 - top, top - 1, top, top // 2, top // 3, -top // 5)
        for d in (-m // 2 - 1, -m // 2, -m // 2 + 1, -1, 0, 1, m // 2 - 1, m // 2, m // 2 + 1)
    } | {-(1 << 31), (1 << 31) - 1}
    for total in totals:
        if -(1 << 31) <= total < 1 << 31:
            found = centre(total, m, inverse)
            assert (found - total) % m == 0
            assert -(m // 2) <= found < -(-m // 2)


@pytest.mark.parametrize("m", [*EVERY_MODULUS, 257, 65279, 65280])
def test_the_quotient_of_any_sum_is_off_by_less_than_a_quarter(m):
    inverse = (WORD + m // 2) // m
    assert abs(Fraction(inverse, WORD) - Fraction(1, m)) * (1 << 31) <= Fraction(1, 4)


def test_segments_keep_sums_below_32_bits(cuda):
    hopper = cuda.hopper
    one, two = (hopper.SEGMENT[digits] * hopper.DEPTH for digits in (1, 2))
    assert one * 128 * 128 + 128 < 1 << 31
    # digits reach 128, and what is carried on from one product to the next is below m / 2, times 256 modulo m
    assert two * 128 * 128 + 65280 // 2 < 1 << 31
    assert (65280 // 2) * (65280 // 2) < 1 << 31
    for kind in cuda.blas.KINDS.values():
        assert kind.depth * 128 * 128 <= (1 << 24 if kind.sum_name == "float" else (1 << 31) - 1)


# ---- the exchange of octets between four lanes -----------------------------------------------------------------------


def byte_perm(x, y, selector):
    both = [*(x >> 8 * i & 255 for i in range(4)), *(y >> 8 * i & 255 for i in range(4))]
    return sum(both[selector >> 4 * i & 7] << 8 * i for i in range(4))


def exchange(blocks01, blocks23):
    """As `xl_exchange` of int8_sm90.cu, for the four lanes of a row together."""
    upper, odd = [q & 2 for q in range(4)], [q & 1 for q in range(4)]
    mine = [blocks23[q] if upper[q] else blocks01[q] for q in range(4)]
    other = [blocks01[q] if upper[q] else blocks23[q] for q in range(4)]
    theirs = [other[q ^ 2] for q in range(4)]
    lower_lane = [theirs[q] if upper[q] else mine[q] for q in range(4)]
    upper_lane = [mine[q] if upper[q] else theirs[q] for q in range(4)]
    even_block = [byte_perm(lower_lane[q], upper_lane[q], 0x5410) for q in range(4)]
    odd_block = [byte_perm(lower_lane[q], upper_lane[q], 0x7632) for q in range(4)]
    kept = [odd_block[q] if odd[q] else even_block[q] for q in range(4)]
    sent = [even_block[q] if odd[q] else odd_block[q] for q in range(4)]
    got = [sent[q ^ 1] for q in range(4)]
    first = [got[q] if odd[q] else kept[q] for q in range(4)]
    second = [kept[q] if odd[q] else got[q] for q in range(4)]
    return [byte_perm(first[q], second[q], 0x7632) << 32 | byte_perm(first[q], second[q], 0x5410) for q in range(4)]


def test_exchange():
    """Lane q holds octets 2 q and 2 q + 1 of each of four blocks, and gets all eight of block q."""
    octet = [[16 * block + i for i in range(8)] for block in range(4)]
    held = [[octet[block][2 * q] | octet[block][2 * q + 1] << 8 for block in range(4)] for q in range(4)]
    found = exchange([h[0] | h[1] << 16 for h in held], [h[2] | h[3] << 16 for h in held])
    assert [list(word.to_bytes(8, "little")) for word in found] == octet
