"""Half of the Euclidean algorithm, as every backend runs it on numbers of some words."""

import random

import pytest

from exactla import registry
from exactla.core.reconstruction import rational


def pairs(most):
    """Numbers x >= y >= 0: random ones, neighbours, short ones, powers of two and all lengths around words."""
    generator = random.Random(5)
    for length in (1, 2, 31, 32, 33, 61, 62, 63, 64, 65, 200, most - 1, most):
        bits = min(length, most)
        x = generator.getrandbits(bits) | 1 << (bits - 1)
        close = x - generator.getrandbits(max(1, bits // 2))
        power = 1 << generator.randrange(bits)
        for y in (
            0,
            1,
            x,
            x // 2,
            x // 3 + 1,
            max(close, 0),
            power - 1,
            generator.getrandbits(generator.randint(1, bits)),
        ):
            yield x, min(x, y)


def test_a_unimodular_matrix_makes_numbers_half_as_long(backend):
    halving = registry.load(backend).halving
    for x, y in pairs(halving.bits):
        a, b, c, d = halving.halve(x, y)
        assert abs(a * d - b * c) == 1
        assert min(abs(a * x + b * y), abs(c * x + d * y)).bit_length() <= x.bit_length() // 2 + 1
        assert max(abs(n).bit_length() for n in (a, b, c, d)) <= x.bit_length() // 2 + 2


@pytest.mark.parametrize("bits", [50, 500, 5000, 40000])
def test_planted_fractions(backend, bits):
    generator = random.Random(bits)
    modulus = 251 ** ((2 * bits + 60) // 7)
    halving = registry.load(backend).halving
    for num_bits, den_bits in ((bits, bits), (bits // 3, bits), (bits, 3), (2, bits), (bits, bits // 50)):
        den = generator.getrandbits(den_bits) | 1
        while den % 251 == 0:
            den += 2
        num = 1 << num_bits
        assert rational(num * pow(den, -1, modulus), modulus, halving) == (num, den)
