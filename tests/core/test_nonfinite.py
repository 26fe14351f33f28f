"""Counts of special terms against IEEE 754, term by term, on the backend of whole numbers."""

import itertools

import numpy as np
import pytest

from exactla.core.contraction import Pairing
from exactla.core.matmul import product_groups
from exactla.core.nonfinite import special_contraction, special_groups
from exactla.core.planning import Block, Tiling
from tests.core.exact_backend import as_backend, operand_of

VALUES = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]
ALL = Block(slice(0, 1), slice(0, 7), slice(0, 7))


def counts_of(terms):
    """(signed, count, invalid > 0) of signed terms sign * x * y, as floats have it."""
    products = []
    with np.errstate(invalid="ignore"):
        products = [sign * np.float64(x) * np.float64(y) for sign, x, y in terms]
    infinite = [p for p in products if np.isinf(p)]
    return int(sum(np.sign(infinite))), len(infinite), any(np.isnan(p) for p in products)


def run(backend, left, right, depth_step=1):
    """The three counts of each part of the result, for float arrays [parts, R, K] and [parts, C, K]."""
    sides = [tuple(operand_of(x) for x in side) for side in (left, right)]
    scanned = backend.scan(sides)
    groups = product_groups(len(left), len(right))
    contraction = special_contraction(
        as_backend(backend), scanned[0].operands, scanned[1].operands, Pairing((0,), (0,)), groups, None
    )
    tile = contraction.tile()
    plan = Tiling((1, tile.rows, tile.columns), tile.__class__(1, 1, 1, tile.rows, tile.columns, depth_step), 0)
    planes = contraction.planes(Block(slice(0, 1), slice(0, tile.rows), slice(0, tile.columns)), plan)
    base = contraction.arithmetic.base
    return [[backend.determined(p, base)[0] for p in planes[3 * g : 3 * g + 3]] for g in range(len(groups))]


def check(backend, left, right, **options):
    found = run(backend, left, right, **options)
    for (signed, count, invalid), terms in zip(found, product_groups(len(left), len(right)), strict=True):
        for i, j in np.ndindex(signed.shape):
            wanted = counts_of([(s, x, y) for s, a, b in terms for x, y in zip(left[a][i], right[b][j], strict=True)])
            got = (signed[i, j], count[i, j], invalid[i, j] > 0)
            # a term that is invalid may be counted as infinite too: it is NaN either way
            assert got[2] == wanted[2]
            assert got[2] or got == wanted


def test_every_pair_of_values(exact):
    column = np.array(VALUES)[:, None]
    check(exact, [column], [column])


def test_sums_of_two_terms(exact):
    pairs = np.array(list(itertools.product(VALUES, repeat=2)))
    check(exact, [pairs], [pairs[::3]])


@pytest.mark.parametrize("depth_step", [1, 2, 5])
def test_longer_sums(rng, exact, depth_step):
    a, b = rng.choice(VALUES + [1.0] * 40, (9, 5)), rng.choice(VALUES + [1.0] * 40, (8, 5))
    check(exact, [a], [b], depth_step=depth_step)


@pytest.mark.parametrize("parts", [(2, 2), (2, 1), (1, 2)])
def test_complex_operands(rng, exact, parts):
    left, right = (rng.choice(VALUES + [3.0] * 9, (n, 6, 3)) for n in parts)
    check(exact, left, right)


def test_integers_have_no_special_terms(exact):
    numbers = np.array([[0, 5, -7]])
    ((signed, count, invalid),) = run(exact, [numbers], [numbers])
    assert not any(x.any() for x in (signed, count, invalid))


def test_groups_number_the_pieces_of_each_operand():
    for terms in (((1, 0, 0),), ((1, 0, 0), (-1, 1, 1)), ((1, 0, 1), (1, 1, 0))):
        signed, count, invalid = special_groups(terms)
        assert (len(signed), len(count), len(invalid)) == (3 * len(terms), 3 * len(terms), 4 * len(terms))
        operands = {(i, j) for _, i, j in terms}
        for group in (signed, count, invalid):
            assert {(i // 7, j // 7) for _, i, j in group} == operands
        # the sign of a term turns infinities, and leaves their number and what is invalid alone
        assert [s for s, _, _ in count] == [1, 1, -1] * len(terms)
        assert all(s == 1 for s, _, _ in invalid)
        assert [s for s, _, _ in signed] == [s * sign for sign, _, _ in terms for s in (1, 1, -1)]
