"""`multiply` and `combine`: sums of signed products of planes, at the bounds of every engine and past them."""

from math import prod

import numpy as np
import pytest

from exactla.core.moduli import ResidueBase
from tests.backends.checks import check_combine, check_multiply
from tests.backends.devices import base_for, engine_cases

ALL = ([0], [0])


def bounds(base: ResidueBase, ends) -> int:
    """The integer whose residues lie at their bounds: m // 2 where the end is 1, -(m // 2) where it is -1."""
    modulus = prod(base.moduli)
    total = 0
    for m, end in zip(base.moduli, ends, strict=True):
        total += end * (m // 2) * (modulus // m) * pow(modulus // m, -1, m)
    return total % modulus


def extremes(base: ResidueBase, shape: tuple[int, int, int], negative):
    """Integers [S, R, K] whose residues all lie at the bound, of the sign that `negative` tells for each k."""
    low, high = bounds(base, [-1] * len(base.moduli)), bounds(base, [1] * len(base.moduli))
    row = np.array([low if negative(k) else high for k in range(shape[2])] or [], object)
    return np.broadcast_to(row, shape)


SIGNS = {
    "equal": lambda k: False,
    "alternating": lambda k: k % 2 == 1,
    "halves": lambda k: k % 5 < 2,
}


def engine_bases(device):
    """Every engine with odd moduli next to its limit, and with the limit itself where that is even."""
    for engine, limit in engine_cases(device.backend):
        yield engine, limit, base_for(limit, 2)
        yield engine, limit, ResidueBase((limit, limit - 1))


@pytest.mark.parametrize("signs", SIGNS)
def test_residues_at_the_bound_and_the_longest_inner_product(device, signs):
    for engine, limit, base in engine_bases(device):
        depth = engine.depth(limit)
        for k in (depth - 1, depth, depth + 1, 3 * depth + 1):
            a = extremes(base, (1, 2, k), SIGNS[signs])
            b = extremes(base, (1, 2, k), SIGNS["equal"])
            check_multiply(device, [(1, a, b)], ALL, base, engine)


def test_residues_next_to_the_bound(rng, device):
    # odd products, whose sums need every bit of the accumulator
    for engine, limit, base in engine_bases(device):
        k = engine.depth(limit) + 1
        extreme = bounds(base, [1] * len(base.moduli)) - rng.integers(1, 4, (1, 2, k)).astype(object)
        check_multiply(device, [(1, extreme, extreme)], ALL, base, engine)
        check_multiply(device, [(1, extreme, -extreme)], ALL, base, engine)


def test_many_more_terms_than_the_accumulator_holds(device):
    # enough products for more than one reduction of the 64-bit sums
    for engine, limit, base in engine_bases(device):
        k = min(engine.depth(limit), 16) * 520 if engine.depth(limit) <= 16 else 2 * engine.depth(limit) + 1
        check_multiply(device, [(-1, *(extremes(base, (1, 1, k), SIGNS["equal"]),) * 2)], ALL, base, engine)


@pytest.mark.parametrize("k", [0, 1, 2, 17, 2047, 2048, 2049, 5000])
def test_any_inner_dimension(rng, device, k):
    for engine, _, base in engine_bases(device):
        a, b = (rng.integers(-(2**40), 2**40, (1, r, k)).astype(object) for r in (2, 3))
        check_multiply(device, [(1, a, b)], ALL, base, engine)


@pytest.mark.parametrize(
    "pairs",
    [
        ([0, 1, 2], [0, 1, 2]),
        ([0, 0, 0], [0, 1, 2]),
        ([2, 2], [1, 1]),
        ([0, 2, 1, 0], [2, 2, 0, 1]),
        ([1], [2]),
        ([1, 2], [0, 1]),
        ([], []),
        ([2, 1, 0], [0, 0, 0]),
    ],
    ids=str,
)
def test_any_pairs(rng, device, pairs):
    for engine, _, base in engine_bases(device):
        a, b = (rng.integers(-(2**40), 2**40, (3, r, 5)).astype(object) for r in (2, 4))
        check_multiply(device, [(1, a, b)], pairs, base, engine)


def test_sums_of_signed_terms(rng, device):
    for engine, _, base in engine_bases(device):
        terms = [
            (sign, *(rng.integers(-(2**40), 2**40, (2, r, 7)).astype(object) for r in (3, 2))) for sign in (1, -1, -1)
        ]
        check_multiply(device, terms, ([0, 1, 1], [1, 0, 1]), base, engine)
        check_multiply(device, terms[1:2], ([0, 1], [0, 1]), base, engine)


def test_sums_of_terms_at_the_bound(device):
    for engine, limit, base in engine_bases(device):
        k = engine.depth(limit)
        high = extremes(base, (1, 1, k), SIGNS["equal"])
        check_multiply(device, [(1, high, high), (1, high, high), (-1, high, high), (1, high, high)], ALL, base, engine)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_no_rows_or_columns(device, shape):
    rows, columns = shape
    base = base_for(256, 20)
    a, b = np.ones((2, rows, 4), object), np.ones((2, columns, 4), object)
    check_multiply(device, [(1, a, b)], ([0, 1], [1, 1]), base, device.backend.engines[0])


@pytest.mark.parametrize("shape", [(1, 1), (1, 90), (90, 1), (150, 130), (257, 256)])
def test_results_of_any_size(rng, device, shape):
    # one call for all moduli, or one for each
    base = base_for(256, 30)
    a, b = (rng.integers(-(2**40), 2**40, (1, r, 2)).astype(object) for r in shape)
    check_multiply(device, [(1, a, b)], ALL, base, device.backend.engines[0])


def test_the_rest_of_the_planes_is_left_alone(rng, device):
    backend, base = device.backend, base_for(256, 30)
    engine = backend.engines[0]
    a, b = (device.residues(rng.integers(-99, 99, (2, 3, 4)), base, engine) for _ in range(2))
    before = [device.download_operand(x, base).copy() for x in (a, b)]
    backend.multiply([(1, a, b), (-1, a, b)], ([0, 1], [1, 0]), base, engine)
    assert all((device.download_operand(x, base) == y).all() for x, y in zip((a, b), before, strict=True))


# ---- combine -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signs", [(1,), (-1,), (1, -1), (1, 1), (-1, -1, -1), (1,) * 40], ids=len)
def test_combine(rng, device, signs):
    for _, _, base in engine_bases(device):
        terms = [(s, rng.integers(-(2**40), 2**40, (2, 3, 4)).astype(object)) for s in signs]
        check_combine(device, terms, base)


def test_combine_at_the_bound(device):
    for _, _, base in engine_bases(device):
        high, low = (extremes(base, (1, 2, 3), sign) for sign in (SIGNS["equal"], lambda k: True))
        check_combine(device, [(1, high)] * 5 + [(-1, low)] * 5, base)


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 3, 0), (1, 170, 110)])
def test_combine_of_any_size(device, shape):
    base = base_for(256, 20)
    check_combine(device, [(1, np.full(shape, 777)), (-1, np.full(shape, 776))], base)


def test_combine_leaves_its_operands_alone(device):
    backend, base = device.backend, base_for(256, 30)
    planes = device.planes(np.arange(-6, 6).reshape(1, 3, 4), base)
    before = device.download(planes).copy()
    backend.combine([(1, planes), (1, planes), (-1, planes)], base)
    assert (device.download(planes) == before).all()


def test_combine_takes_planes_of_pairs_that_repeat(device):
    # such planes may be held once
    backend, base = device.backend, base_for(256, 30)
    engine = backend.engines[0]
    a = device.residues(np.full((1, 2, 3), 5), base, engine)
    same = backend.multiply([(1, a, a)], ([0, 0, 0], [0, 0, 0]), base, engine)
    other = device.planes(np.arange(12).reshape(3, 2, 2), base)
    found = backend.integers(backend.combine([(1, same), (-1, other)], base), base)
    assert (found == 75 - np.arange(12).reshape(3, 2, 2)).all()
