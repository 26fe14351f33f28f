"""The constants of the reductions: ranges of what the vector code computes, for every modulus."""

import pytest


def folded(y, coefficients, offset):
    return offset + sum(c * (y >> 8 * i & 255) for i, c in enumerate(coefficients))


def ends(coefficients, offset, limits):
    """The least and the greatest of offset + sum of coefficient * digit, the digits up to their limits."""
    terms = [c * n for c, n in zip(coefficients, limits, strict=True)]
    return offset + sum(min(t, 0) for t in terms), offset + sum(max(t, 0) for t in terms)


@pytest.mark.parametrize("m", range(2, 257))
def test_modulus8(native, m):
    c = native.modulus8(m)
    assert (c.modulus, c.half, c.reciprocal) == (m, m // 2, 2**32 // m)
    assert 2**31 <= c.bias < 2**31 + m
    assert c.bias % m == m // 2
    coefficients = list(c.bytes)
    assert [x % m for x in coefficients] == [256**i % m for i in range(4)]
    assert c.offset1 % m == c.offset2 % m == 0
    least, greatest = ends(coefficients, c.offset1, [255] * 4)
    assert least >= 0
    assert greatest < 2**17
    least, greatest = ends(coefficients[:3], c.offset2, [255, 255, greatest >> 16])
    assert least >= 0
    assert greatest < 2**15
    assert all((z * c.magic >> 16 >> c.shift) == z // m for z in range(greatest + 1))


@pytest.mark.parametrize("m", [*range(2, 65537, 1021), *range(65270, 65290), *range(65500, 65537)])
def test_modulus16(native, m):
    c = native.modulus16(m)
    assert (c.modulus, c.half, c.bias, c.reciprocal) == (m, m // 2, 2**31, 2**32 // m)
    coefficients = [256 * high + low for high, low in zip(c.high, c.low, strict=True)]
    places = [8 * i + 8 * (2 - d) for d in range(3) for i in range(4)]
    assert [x % m for x in coefficients] == [2**place % m for place in places]
    least, greatest = ends(coefficients, c.offset, [255] * 12)
    assert least >= 0
    assert greatest < 2**28
    # sums of nothing, biased, have the residue 0
    zeros = sum(folded(2**31, coefficients[4 * d : 4 * d + 4], 0) for d in range(3))
    assert (zeros + c.offset) % m == m // 2


@pytest.mark.parametrize("m", [0, 1, 257, 2**31])
def test_modulus8_out_of_range(native, m):
    assert native.modulus8(m) is None


@pytest.mark.parametrize("m", [0, 1, 65537, 2**31])
def test_modulus16_out_of_range(native, m):
    assert native.modulus16(m) is None
