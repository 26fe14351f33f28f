"""Integers of many limbs on every backend, beside Python's."""

import numpy as np
import pytest

from exactla import registry
from exactla.core.limbs import from_limbs, to_limbs
from exactla.core.moduli import residue_base
from exactla.core.nearest import nearest_quotient, nearest_scaled


def edges(rng, shape, bits):
    """Integers up to 2**bits in magnitude: random, small, powers of two and their neighbours."""
    top = 1 << bits
    found = np.empty(shape, object)
    for place in np.ndindex(shape):
        power = 1 << int(rng.integers(bits))
        value = int.from_bytes(rng.bytes(bits // 8 + 1), "little") % top
        found[place] = [0, 1, value, -value, power, -power, power - 1, 1 - power, top, -top][int(rng.integers(10))]
    return found


def limbs(integers, bits):
    return to_limbs(integers, (bits + 1) // 64 + 1)


VIEWS = [np.s_[:], np.s_[1:4:2, 2:], np.s_[::-1, ::-2], np.s_[2], np.s_[:, 3], np.s_[:0], np.s_[1:2, 1]]
"""Indices of two axes of entries, which are views: all, strided, reversed, of one axis, none."""


@pytest.mark.parametrize("index", VIEWS)
def test_stores_into_zeros(backend, rng, index):
    verbs = registry.load(backend).multiprecision
    x = edges(rng, (5, 7), 100)
    for count in (2, 3, 5):
        held, expected = verbs.zeros((5, 7, count)), np.zeros((5, 7), object)
        assert held.shape == (5, 7, count)
        verbs.store(held[index], verbs.upload(limbs(x, 100))[index])
        expected[index] = x[index]
        assert from_limbs(verbs.download(held)).tolist() == expected.tolist()


def test_gather(backend, rng):
    verbs = registry.load(backend).multiprecision
    x = edges(rng, (5, 7), 100)
    there = verbs.upload(limbs(x, 100))
    for shape in ((), (3,), (4, 0), (2, 3, 4)):
        places = np.asarray(rng.integers(0, 35, shape))
        found = verbs.gather(there, places)
        assert found.shape == (*shape, 2)
        assert (from_limbs(verbs.download(found)) == x.ravel()[places]).all()


@pytest.mark.parametrize(("left_bits", "right_bits"), [(5, 5), (63, 64), (300, 70), (70, 300), (1000, 1000)])
def test_sums_differences_and_signs(backend, rng, left_bits, right_bits):
    verbs = registry.load(backend).multiprecision
    x, y = edges(rng, (5, 7), left_bits), edges(rng, (5, 7), right_bits)
    x[0, :3] = y[0, :3] = 3
    sides = verbs.upload(limbs(x, left_bits)), verbs.upload(limbs(y, right_bits))
    count = max(left_bits, right_bits) // 64 + 2
    for index in VIEWS:
        a, b, p, q = (side[index] for side in (*sides, x, y))
        assert from_limbs(verbs.download(verbs.add(a, b, count))).tolist() == (p + q).tolist()
        assert from_limbs(verbs.download(verbs.subtract(a, b, count))).tolist() == (p - q).tolist()
        signs = verbs.compare(a, b)
        assert signs.dtype == np.int8
        assert (signs > 0).tolist() == (p > q).tolist()
        assert (signs == 0).tolist() == (p == q).tolist()


def test_differences_in_fewer_limbs(backend):
    verbs = registry.load(backend).multiprecision
    x, y = to_limbs([1 << 200, -(1 << 200)], 4), to_limbs([(1 << 200) - 7, 9 - (1 << 200)], 5)
    found = verbs.subtract(verbs.upload(x), verbs.upload(y), 1)
    assert from_limbs(verbs.download(found)).tolist() == [7, -9]


@pytest.mark.parametrize(
    "values", [[0], [-1], [-2, 1], [5, -4], [-(1 << 64)], [1 << 64, -(1 << 64) - 1], [-(1 << 130)]]
)
def test_most_bits(backend, values):
    verbs = registry.load(backend).multiprecision
    for count in (3, 4):
        for more in ([], [0], [0, 1, -1]):
            there = verbs.upload(to_limbs([*more, *values], count))
            assert verbs.most_bits(there) == max(abs(v).bit_length() for v in [*more, *values])


def test_lengths_of_views(backend, rng):
    verbs = registry.load(backend).multiprecision
    for _ in range(20):
        x = edges(rng, (5, 7), 140)
        there = verbs.upload(limbs(x, 140))
        for index in VIEWS:
            lengths = [abs(v).bit_length() for v in x[index].flat]
            found = verbs.bit_lengths(there[index])
            assert found.shape == x[index].shape
            assert found.ravel().tolist() == lengths
            assert verbs.most_bits(there[index]) == max(lengths, default=0)


@pytest.mark.parametrize("bits", [5, 63, 64, 127, 1000])
def test_scale(backend, rng, bits):
    verbs = registry.load(backend).multiprecision
    x = edges(rng, (5, 7), bits)
    shifts = rng.integers(-bits - 70, 60, x.shape)
    pair = shifts[:, 0], rng.integers(-40, 40, x.shape[1])
    for by in (0, 3, 64, 65, -1, -63, -64, -65, -300, shifts, pair):
        found = verbs.download(verbs.scale(verbs.upload(limbs(x, bits)), by, bits // 64 + 4))
        every = np.add.outer(*by) if by is pair else np.broadcast_to(by, x.shape)
        expected = [nearest_scaled(v, int(s)) for v, s in zip(x.flat, every.flat, strict=True)]
        assert from_limbs(found).ravel().tolist() == expected


@pytest.mark.parametrize("bits", [5, 64, 300])
@pytest.mark.parametrize("precision", [1, 2, 64, 100])
def test_round_leading(backend, rng, bits, precision):
    verbs = registry.load(backend).multiprecision
    x = edges(rng, (4, 9), bits)
    found = from_limbs(verbs.download(verbs.round_leading(verbs.upload(limbs(x, bits + 64)), precision)))
    for value, rounded in zip(x.flat, found.flat, strict=True):
        dropped = max(value.bit_length() - precision, 0)
        assert rounded == nearest_scaled(value, -dropped) << dropped


@pytest.mark.parametrize("bits", [5, 64, 200])
def test_largest_is_the_first_of_equals(backend, rng, bits):
    verbs = registry.load(backend).multiprecision
    x = edges(rng, 40, bits)
    there = verbs.upload(limbs(x, bits))
    for _ in range(60):
        order = rng.permutation(40)[: int(rng.integers(1, 41))].tolist()
        magnitudes = [abs(x[i]) for i in order]
        place = magnitudes.index(max(magnitudes))
        assert verbs.largest(there, order) == (place, x[order[place]])


@pytest.mark.parametrize("bits", [5, 64, 300, 1500])
@pytest.mark.parametrize("divisor_bits", [1, 2, 79, 80, 81, 300])
def test_divide(backend, rng, bits, divisor_bits):
    verbs = registry.load(backend).multiprecision
    x = edges(rng, 70, bits)
    power = 1 << divisor_bits - 1
    drawn = power + int.from_bytes(rng.bytes(40), "little") % power
    # ties and their neighbours too
    x[:9] = [(2 * k + 1) * drawn // 2 % (1 << bits) for k in range(9)]
    for divisor in (drawn, -drawn, power, -power, 2):
        found = verbs.download(verbs.divide(verbs.upload(limbs(x, bits)), divisor, (bits + 3) // 64 + 1))
        assert from_limbs(found).tolist() == [nearest_quotient(v, divisor) for v in x]


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "left_bits", "right_bits"),
    [(1, 1, 1, 10, 2000), (3, 5, 4, 100, 100), (33, 70, 17, 500, 70), (130, 3, 140, 64, 64), (2, 0, 3, 5, 5)],
)
def test_product(backend, rng, rows, depth, columns, left_bits, right_bits):
    verbs = registry.load(backend).multiprecision
    a, b = edges(rng, (rows, depth), left_bits), edges(rng, (columns, depth), right_bits)
    bits = left_bits + right_bits + depth.bit_length() + 2
    expected = a.dot(b.T) if depth else np.zeros((rows, columns), object)
    for engine, limit in ((e, limit) for e in verbs.engines for limit in e.modulus_limits):
        base = residue_base(limit, bits)
        if base is None:
            continue
        sides = verbs.upload(limbs(a, left_bits)), verbs.upload(limbs(b, right_bits))
        found = verbs.download(verbs.product(*sides, bits // 64 + 1, base, engine))
        assert from_limbs(found).tolist() == expected.tolist()


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("growth", [0, 40])
def test_substitute(backend, rng, columns, growth):
    """Unknowns of a triangular system, also where each is much longer than those before it."""
    verbs, size, precision = registry.load(backend).multiprecision, 37, 150
    lower, sums = edges(rng, (size, size), precision + growth), edges(rng, (size, columns), 2 * precision)
    divisors = [int(x) or 1 for x in edges(rng, size, precision)]
    buffers = [verbs.upload(limbs(x, bits)) for x, bits in ((lower, precision + growth), (sums, 2 * precision))]
    for by in (None, divisors):
        found = from_limbs(verbs.download(verbs.substitute(buffers[0], by, precision, buffers[1])))
        for i in range(size):
            totals = sums[i] - (lower[i, :i].dot(found[:i]) if i else 0)
            divisor = by[i] if by else 1 << precision
            assert found[i].tolist() == [nearest_quotient(int(s), divisor) for s in totals]
