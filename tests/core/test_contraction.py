"""Sums of products, block by block and step by step, on the backend of whole numbers."""

import numpy as np
import pytest

from exactla.backend import Tile
from exactla.core.contraction import Contraction, Pairing, PlainSide
from exactla.core.moduli import ResidueBase
from exactla.core.planning import Arithmetic, Block, Tiling, tiling
from exactla.shapes import matmul_layout
from tests.core.exact_backend import as_backend, operand_of

BASE = ResidueBase((4096, 4095, 4093))
GROUPS = [((1, 0, 0),), ((1, 0, 1), (-1, 1, 0)), ((-1, 1, 1),)]


def everything(shape):
    return Block(*(slice(0, n) for n in shape))


def make(backend, arrays, pairing, groups=GROUPS[:1]):
    """A contraction of two integer arrays [pieces, S, R, K]."""
    a, b = arrays
    arithmetic = Arithmetic(backend.engines[0], BASE, 30)
    left, right = (
        PlainSide(as_backend(backend), backend.scan([[operand_of(x) for x in arrays]])[0].operands) for arrays in (a, b)
    )
    return Contraction(as_backend(backend), left, right, pairing, groups, arithmetic)


def expected(contraction, arrays, terms, pairing):
    """The sums in units of the rows' exponents."""
    a, b = arrays
    left, right = (side.scanned.exponents for side in (contraction.left, contraction.right))
    total = sum(
        sign * np.array([a[i][x].astype(object) @ b[j][y].astype(object).T for x, y in zip(*pairing, strict=True)])
        for sign, i, j in terms
    )
    units = np.array([np.add.outer(left[x], right[y]) for x, y in zip(*pairing, strict=True)])
    return total // 2**units


@pytest.fixture
def arrays(rng):
    return rng.integers(-9, 10, (2, 3, 4, 7)), rng.integers(-9, 10, (2, 2, 5, 7))


PAIRING = ((0, 1, 2, 2), (1, 0, 1, 1))


@pytest.mark.parametrize("depth", [1, 2, 3, 6, 7, 100])
def test_steps_of_the_inner_dimension_do_not_show(exact, arrays, depth):
    contraction = make(exact, arrays, Pairing(*PAIRING), GROUPS)
    plan = Tiling((4, 4, 5), Tile(4, 3, 2, 4, 5, depth), 0)
    found = contraction.planes(everything(plan.shape), plan)
    assert len(found) == len(GROUPS)
    for planes, terms in zip(found, GROUPS, strict=True):
        assert (planes.of(BASE) == expected(contraction, arrays, terms, PAIRING)).all()
    steps = -(-7 // depth)
    assert exact.calls["multiply"] == steps * len(GROUPS)
    assert exact.calls["combine"] == (steps * len(GROUPS) if steps > 1 else 0)


@pytest.mark.parametrize("tile", [(1, 1, 1), (2, 3, 2), (4, 4, 1), (1, 4, 5), (3, 2, 4)], ids=str)
def test_blocks_do_not_show(exact, arrays, tile):
    contraction = make(exact, arrays, Pairing(*PAIRING), GROUPS)
    plan = Tiling((4, 4, 5), Tile(tile[0], 3, 2, tile[1], tile[2], 3), 0)
    for number, terms in enumerate(GROUPS):
        whole = np.zeros(plan.shape, object)
        for block in plan.blocks():
            whole[block.pairs, block.rows, block.columns] = contraction.planes(block, plan)[number].of(BASE)
        assert (whole == expected(contraction, arrays, terms, PAIRING)).all()


def test_exponents_of_a_block(exact, arrays):
    contraction = make(exact, arrays, Pairing(*PAIRING))
    block = Block(slice(1, 3), slice(1, 3), slice(0, 2))
    left, right, pairs, shift = contraction.exponents(block, -7)
    assert shift == -7
    for t, (i, j) in enumerate(zip(*PAIRING, strict=True)):
        if 1 <= t < 3:
            here = left.exponents[pairs[0][t - 1]], right.exponents[pairs[1][t - 1]]
            assert (here[0] == contraction.left.scanned.exponents[i, 1:3]).all()
            assert (here[1] == contraction.right.scanned.exponents[j, 0:2]).all()


def test_no_inner_dimension(exact):
    a, b = np.zeros((1, 1, 2, 0), int), np.zeros((1, 1, 3, 0), int)
    contraction = make(exact, (a, b), Pairing((0,), (0,)))
    plan = Tiling((1, 2, 3), contraction.tile(), 0)
    assert not contraction.planes(everything(plan.shape), plan)[0].of(BASE).any()


def test_the_tile_of_the_whole_product(exact, arrays):
    assert make(exact, arrays, Pairing(*PAIRING)).tile() == Tile(4, 3, 2, 4, 5, 7)
    a = np.zeros((1, 1, 2, 0), int)
    assert make(exact, (a, a), Pairing((0,), (0,))).tile().depth == 1


# ---- what is kept from block to block ------------------------------------------------------------------------------


def conversions(backend, contraction, plan):
    before = backend.calls["residues"]
    for block in plan.blocks():
        contraction.planes(block, plan)
    return backend.calls["residues"] - before


def test_neighbouring_blocks_share_a_side(exact):
    a, b = np.ones((1, 1, 8, 3), int), np.ones((1, 1, 6, 3), int)
    contraction = make(exact, (a, b), Pairing((0,), (0,)))
    # 4 blocks of rows for each of 3 blocks of columns, whose residues are made once
    assert conversions(exact, contraction, Tiling((1, 8, 6), Tile(1, 1, 1, 2, 2, 3), 0)) == 12 + 3


def test_a_gram_product_converts_a_block_once_where_its_rows_are_its_columns(exact):
    a = np.arange(24).reshape(1, 1, 8, 3) - 9
    contraction = make(exact, (a, a), Pairing((0,), (0,)))
    same = Contraction(
        contraction.backend, contraction.left, contraction.left, contraction.pairing, GROUPS[:1], contraction.arithmetic
    )
    plan = Tiling((1, 8, 8), Tile(1, 1, 1, 8, 8, 3), 0)
    assert conversions(exact, contraction, plan) == 2
    assert conversions(exact, same, plan) == 1
    # the blocks of a row of blocks share a side with that before, which is one of two or both
    plan = Tiling((1, 8, 8), Tile(1, 1, 1, 4, 4, 2), 0)
    for block in plan.blocks():
        found = same.planes(block, plan)[0].of(BASE)
        wanted = expected(same, (a, a), GROUPS[0], ((0,), (0,)))
        assert (found == wanted[block.pairs, block.rows, block.columns]).all()


def test_pieces_that_no_group_uses_are_not_converted(exact, arrays):
    used = make(exact, arrays, Pairing(*PAIRING), [((1, 1, 0),)])
    plan = Tiling((4, 4, 5), Tile(4, 3, 2, 4, 5, 7), 0)
    assert used.pieces == 1
    assert conversions(exact, used, plan) == 2
    assert make(exact, arrays, Pairing(*PAIRING), [((1, 0, 0), (1, 0, 1))]).pieces == 2
    assert (
        used.planes(everything(plan.shape), plan)[0].of(BASE) == expected(used, arrays, ((1, 1, 0),), PAIRING)
    ).all()


def test_residues_are_made_again_for_each_step(exact):
    a, b = np.ones((1, 1, 4, 3), int), np.ones((1, 1, 2, 3), int)
    contraction = make(exact, (a, b), Pairing((0,), (0,)))
    assert conversions(exact, contraction, Tiling((1, 4, 2), Tile(1, 1, 1, 2, 2, 1), 0)) == 2 * 3 * 2


def test_every_conversion_is_counted(exact, arrays):
    contraction = make(exact, arrays, Pairing(*PAIRING), GROUPS)
    assert contraction.counts == []
    conversions(exact, contraction, Tiling((4, 4, 5), Tile(2, 3, 2, 4, 5, 7), 0))
    assert len(contraction.counts) == exact.calls["residues"]
    assert sum(contraction.counts) == 0


# ---- pairs ---------------------------------------------------------------------------------------------------------


def test_a_range_of_pairs_is_relative_to_its_stacks():
    left, right, pairs = Pairing((0, 0, 3, 4), (5, 2, 2, 7)).block(slice(1, 4))
    assert (left, right) == (slice(0, 5), slice(2, 8))
    assert pairs == ([0, 3, 4], [0, 0, 5])


STACKS = [((2,), (2,)), ((1, 7), (5, 1)), ((5, 1), (1, 7)), ((3, 1), (4,)), ((4, 3), (3,)), ((2, 1, 5), (3, 1))]


@pytest.mark.parametrize("stacks", STACKS, ids=str)
def test_no_block_takes_more_stacks_than_its_plan_counted(stacks):
    # the plan's workspace is that of its tile, whose stacks a block must not exceed
    layout = matmul_layout((*stacks[0], 2, 3), (*stacks[1], 3, 2), transposed=False, names=("a", "b"))
    counts = [int(np.prod(s)) for s in stacks]
    pairing = layout.pairing(counts[0], counts[1])
    whole = Tile(len(layout.left_index), counts[0], counts[1], 2, 2, 3)
    for limit in range(1, whole.pairs + 1):
        plan = tiling(whole, pairing.stacks, lambda tile: tile.pairs, lambda: 0, limit)
        for block in plan.blocks():
            left, right, _ = pairing.block(block.pairs)
            assert left.stop - left.start <= plan.tile.left_stacks
            assert right.stop - right.start <= plan.tile.right_stacks
