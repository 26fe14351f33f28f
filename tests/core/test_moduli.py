"""Residue bases: coprime, large enough, short, and None exactly where no moduli are enough."""

from itertools import combinations
from math import gcd, lcm, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactla.core.moduli import ResidueBase, residue_base

LIMITS = (16, 256, 1 << 10, 1 << 12, 1 << 16, 1 << 22)
bounded = settings(deadline=None, max_examples=60, derandomize=True)


def pairwise_coprime(numbers):
    return all(gcd(x, y) == 1 for x, y in combinations(numbers, 2))


def check(base, limit, bits):
    assert pairwise_coprime(base.moduli)
    assert all(1 < m <= limit for m in base.moduli)
    # integers below 2**bits lie within a quarter of the product
    assert 4 << bits <= base.product == prod(base.moduli)
    assert bits <= base.capacity


@pytest.mark.parametrize("limit", LIMITS)
def test_bases_of_any_size(limit):
    for bits in [*range(12), 50, 100, 168, 300, 359, 1000, 4210]:
        base = residue_base(limit, bits)
        if base is None:
            assert 4 << bits > lcm(*range(1, limit + 1))
        else:
            check(base, limit, bits)


@given(st.sampled_from(LIMITS), st.integers(0, 2000))
@bounded
def test_random_sizes(limit, bits):
    base = residue_base(limit, bits)
    if base is not None:
        check(base, limit, bits)


@pytest.mark.parametrize("limit", [2, 3, 4, 6, 10, 16, 30, 256])
def test_none_is_returned_once_all_moduli_are_used_up(limit):
    # lcm(1..limit) is the largest product of pairwise coprime numbers up to limit
    most = lcm(*range(1, limit + 1))
    bits = 0
    while (base := residue_base(limit, bits)) is not None:
        check(base, limit, bits)
        bits += 1
    assert bits == most.bit_length() - 2


def test_prime_powers_go_further_than_the_greedy_choice():
    greedy = residue_base(256, 300)
    widest = residue_base(256, 360)
    assert greedy is not None
    assert greedy.moduli[0] == 256
    assert greedy.moduli[1] == 255
    assert widest is not None
    assert widest.product == lcm(*range(1, 257))
    assert len(widest.moduli) == 54
    assert residue_base(256, 361) is None


def test_the_choice_for_eight_bits():
    # the figures of the published scheme: 110 bits with 14 moduli, 170 with 22
    first = (256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 181, 179, 173)
    base = residue_base(256, 150)
    assert base is not None
    assert base.moduli == first
    for count, bits in ((14, 107), (22, 167)):
        found = residue_base(256, bits)
        assert found is not None
        assert len(found.moduli) == count


@pytest.mark.parametrize("limit", [5, 8, 12, 14])
def test_a_base_is_about_as_short_as_it_can_be(limit):
    for bits in range(lcm(*range(1, limit + 1)).bit_length() - 2):
        base = residue_base(limit, bits)
        assert base is not None
        if len(base.moduli) > 1:
            shorter = combinations(range(2, limit + 1), len(base.moduli) - 2)
            assert all(prod(c).bit_length() <= bits + 2 for c in shorter if pairwise_coprime(c))


@given(st.lists(st.sampled_from([256, 255, 253, 251, 247, 241, 7, 13, 17]), min_size=1, unique=True))
@bounded
def test_constants(moduli):
    coprime = [m for i, m in enumerate(moduli) if all(gcd(m, other) == 1 for other in moduli[:i])]
    base = ResidueBase(tuple(coprime))
    for m, cofactor, weight in zip(base.moduli, base.cofactors, base.weights, strict=True):
        assert cofactor * m == base.product
        assert cofactor * weight % m == 1
        assert 0 < weight < m


@given(st.integers(0, 300), st.data())
@bounded
def test_the_capacity_is_what_the_constants_bring_back(bits, data):
    base = residue_base(256, bits)
    assert base is not None
    edge = (1 << base.capacity) - 1
    for s in (edge, -edge, data.draw(st.integers(-edge, edge))):
        assert 4 * abs(s) <= base.product
        total = sum((s % m) * w % m * c for m, w, c in zip(base.moduli, base.weights, base.cofactors, strict=True))
        assert (total - s) % base.product == 0


def test_one_modulus():
    base = ResidueBase((2,))
    assert (base.product, base.cofactors, base.weights, base.capacity) == (2, (1,), (1,), -1)
    assert ResidueBase((1,)).weights == (0,)


def test_bases_are_equal_where_their_moduli_are():
    x, y = ResidueBase((7, 5)), ResidueBase((7, 5))
    assert x == y
    assert hash(x) == hash(y)
    assert x != ResidueBase((5, 7))
    assert residue_base(256, 100) is residue_base(256, 100)
