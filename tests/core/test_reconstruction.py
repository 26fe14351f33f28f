"""Rational numbers from residues: the pair that was put in comes out, whatever its size."""

from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactla.core.reconstruction import rational, small_denominator


@given(st.data(), st.integers(0, 3000), st.integers(0, 3000))
def test_a_planted_fraction_is_found(data, num_bits, den_bits):
    num = data.draw(st.integers(-(1 << num_bits), 1 << num_bits))
    den = data.draw(st.integers(1, 1 << den_bits))
    divisor = gcd(num, den)
    num, den = num // divisor, den // divisor
    modulus = 251 ** ((2 * max(num.bit_length(), den.bit_length()) + 60) // 7)
    if gcd(den, modulus) == 1:
        assert rational(num * pow(den, -1, modulus), modulus) == (num, den)


@pytest.mark.parametrize("modulus", [3, 101, 239**7, 3**5000])
def test_the_congruence_always_holds(modulus):
    for residue in (0, 1, 2, modulus - 1, modulus // 2, modulus // 3 + 1, modulus * 5 // 8):
        num, den = rational(residue, modulus)
        assert (num - den * residue) % modulus == 0
        assert den > 0 or num != 0
        assert num * num + den * den <= 2 * modulus


def test_small_denominators():
    modulus = 241**40
    for den in (1, 2, 3, 210, 65537):
        residue = -12347 * pow(den, -1, modulus) % modulus
        assert small_denominator(residue, modulus, 1 << 20, 40) == den
    assert small_denominator(modulus // 3, modulus, 2, 40) is None
