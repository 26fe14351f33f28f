"""Plans: bits of a sum, the choice of an engine, blocks that cover each result once and stay within the limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactla.backend import Engine, Tile
from exactla.core import planning
from exactla.core.planning import Tiling, arithmetic, sum_bits, tiling
from exactla.errors import BackendUnavailable, WorkspaceError
from tests.core.exact_backend import ExactBackend, as_backend

bounded = settings(deadline=None, max_examples=150, derandomize=True)
LENGTHS = st.integers(0, 30)


def cost_of(tile, pieces=1, groups=1):
    """A workspace like that of a real backend."""
    operands = (tile.left_stacks * tile.rows + tile.right_stacks * tile.columns) * tile.depth
    return 8 * pieces * operands + 12 * groups * tile.pairs * tile.rows * tile.columns + 100


def each(pairs):
    """The stacks of pairs that have their own matrix on either side."""
    return pairs, pairs


def unasked():
    """The free memory, where a plan has no business to ask for it."""
    raise AssertionError("the free memory was asked for")


def tiled(whole, limit, *, cost=cost_of, stacks=each, free=unasked):
    return tiling(whole, stacks, cost, free, limit)


# ---- bits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", [0, 1, 2, 3, 4, 5, 7, 8, 9, 1023, 1024, 1025])
def test_sums_stay_below_their_bits(terms):
    for left in range(7):
        for right in range(7):
            most = terms * ((1 << left) - 1) * ((1 << right) - 1)
            assert most < 1 << sum_bits(left, right, terms)


def test_no_bits_are_wasted():
    assert sum_bits(10, 20, 1) == 30
    assert sum_bits(10, 20, 1024) == 40
    assert sum_bits(10, 20, 1025) == 41


# ---- blocks --------------------------------------------------------------------------------------------------------


@given(st.tuples(LENGTHS, LENGTHS, LENGTHS), st.tuples(*[st.integers(1, 12)] * 3))
@bounded
def test_blocks_cover_each_result_once(shape, steps):
    plan = Tiling(shape, Tile(steps[0], 1, 1, steps[1], steps[2], 1), 0)
    seen = np.zeros(shape, int)
    blocks = list(plan.blocks())
    for block in blocks:
        part = seen[block.pairs, block.rows, block.columns]
        assert all(0 < n <= step for n, step in zip(part.shape, steps, strict=True))
        part += 1
    assert (seen == 1).all()
    assert plan.passes == len(blocks)


@given(LENGTHS, st.integers(1, 12))
@bounded
def test_steps_cover_the_inner_dimension_once(depth, step):
    seen = np.zeros(depth, int)
    for part in Tiling((1, 1, 1), Tile(1, 1, 1, 1, 1, step), 0).depths(depth):
        assert 0 < seen[part].size <= step
        seen[part] += 1
    assert (seen == 1).all()


def test_rows_run_fastest():
    # neighbouring blocks share the columns, whose residues are kept
    blocks = list(Tiling((1, 4, 4), Tile(1, 1, 1, 2, 2, 1), 0).blocks())
    assert [(b.columns.start, b.rows.start) for b in blocks] == [(0, 0), (0, 2), (2, 0), (2, 2)]


@given(
    st.tuples(*[st.integers(1, 40)] * 3),
    st.integers(1, 5000),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(100, 200_000),
)
@bounded
def test_blocks_stay_within_the_limit(shape, depth, pieces, groups, limit):
    def cost(tile):
        return cost_of(tile, pieces, groups)

    whole = Tile(shape[0], shape[0], shape[0], shape[1], shape[2], depth)
    smallest = cost(Tile(1, 1, 1, 1, 1, 1))
    if smallest > limit:
        with pytest.raises(WorkspaceError) as caught:
            tiled(whole, limit, cost=cost)
        assert (caught.value.needed, caught.value.allowed) == (smallest, limit)
        assert f"{smallest:,}" in str(caught.value)
        assert f"{limit:,}" in str(caught.value)
        return
    plan = tiled(whole, limit, cost=cost)
    assert plan.shape == shape
    assert plan.workspace_bytes == cost(plan.tile) <= limit
    sizes = (plan.tile.pairs, plan.tile.rows, plan.tile.columns, plan.tile.depth)
    assert all(1 <= size <= length for size, length in zip(sizes, (*shape, depth), strict=True))
    assert max(plan.tile.left_stacks, plan.tile.right_stacks) <= max(plan.tile.pairs, 1)
    if cost(whole) <= limit:
        assert plan.tile == whole


def test_work_is_not_cut_more_than_it_has_to_be():
    whole = Tile(1, 1, 1, 1000, 1000, 1000)
    for limit in (10**5, 10**6, 10**7):
        plan = tiled(whole, limit)
        assert plan.workspace_bytes > limit / 8


def test_a_long_inner_dimension_is_cut():
    plan = tiled(Tile(1, 1, 1, 2, 2, 10**7), 10**6)
    assert plan.tile.depth < 10**6
    assert (plan.tile.rows, plan.tile.columns) == (2, 2)


def test_without_a_limit_a_share_of_the_free_memory_is_taken():
    whole = Tile(1, 1, 1, 10_000, 10_000, 100)
    plan = tiled(whole, None, free=lambda: 4 * 10**8)
    assert plan.workspace_bytes <= 10**8
    assert plan.passes > 1
    with pytest.raises(WorkspaceError) as caught:
        tiled(whole, None, free=lambda: 40)
    assert caught.value.allowed == 10


def test_small_work_does_not_ask_for_the_free_memory():
    whole = Tile(1, 1, 1, 9, 9, 9)
    assert tiled(whole, None, cost=lambda tile: planning.SMALL).tile == whole
    with pytest.raises(AssertionError):
        tiled(whole, None, cost=lambda tile: planning.SMALL + 1)
    # but a limit that was set holds
    with pytest.raises(WorkspaceError):
        tiled(whole, planning.SMALL - 1, cost=lambda tile: planning.SMALL)


def test_fewer_pairs_take_as_many_stacks_as_they_are_told():
    # 12 pairs of 3 left and 4 right matrices: 6 of them still take 2 of the left and all of the right
    whole = Tile(12, 3, 4, 2, 2, 2)
    plan = tiled(whole, 6, cost=lambda tile: tile.pairs, stacks=lambda pairs: (pairs // 4 + 1, 4))
    assert plan.tile == Tile(6, 2, 4, 2, 2, 2)


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
def test_nothing_to_do(shape):
    whole = Tile(shape[0], shape[0], shape[0], shape[1], shape[2], 1)
    plan = tiled(whole, 1000)
    assert plan.passes == 0
    assert list(plan.blocks()) == []


def test_nothing_to_do_needs_no_workspace():
    whole = Tile(1, 1, 1, 0, 3, 500)
    plan = tiled(whole, 10)
    assert (plan.passes, plan.workspace_bytes) == (0, 0)


# ---- engines -------------------------------------------------------------------------------------------------------

WIDE, NARROW = Engine("wide", 60, (1 << 12,)), Engine("narrow", 20, (16, 256))


def test_the_first_engine_is_preferred(exact):
    found = arithmetic(as_backend(exact), 100, None)
    assert found.engine == WIDE
    assert found.bits == 100
    assert found.base.capacity >= 100
    assert max(found.base.moduli) <= 1 << 12


def test_an_engine_can_be_forced(exact):
    found = arithmetic(as_backend(exact), 10, "narrow")
    assert found.engine == NARROW
    assert max(found.base.moduli) <= 16
    # past the capacity of the preferred limit the next one serves
    assert 16 < max(arithmetic(as_backend(exact), 100, "narrow").base.moduli) <= 256


def test_the_next_engine_serves_where_the_moduli_of_the_first_run_out():
    backend = ExactBackend(engines=(Engine("tiny", 20, (8, 16)), WIDE))
    assert arithmetic(as_backend(backend), 10, None).engine.name == "tiny"
    assert arithmetic(as_backend(backend), 100, None).engine == WIDE


def test_an_unknown_engine_is_named_with_those_that_exist(exact):
    with pytest.raises(BackendUnavailable, match=r"backend 'exact' has no engine 'fast'; it has wide, narrow"):
        arithmetic(as_backend(exact), 10, "fast")
    with pytest.raises(BackendUnavailable, match="none"):
        arithmetic(as_backend(ExactBackend(engines=())), 10, "fast")


@pytest.mark.parametrize("forced", ["narrow", None])
def test_more_bits_than_any_moduli_hold(forced):
    backend = ExactBackend(engines=(NARROW,))
    with pytest.raises(BackendUnavailable, match=r"has no moduli for 9999 bits"):
        arithmetic(as_backend(backend), 9999, forced)


def test_an_engine_that_lies_is_refused():
    backend = ExactBackend(exact=lambda engine, limit: engine != WIDE)
    for _ in range(2):
        with pytest.raises(BackendUnavailable, match=r"engine 'wide' of backend 'exact' .* 2048 wrongly"):
            arithmetic(as_backend(backend), 10, None)
        with pytest.raises(BackendUnavailable, match="wide"):
            arithmetic(as_backend(backend), 10, "wide")
    assert arithmetic(as_backend(backend), 10, "narrow").engine == NARROW


def test_an_engine_is_refused_only_where_it_lies():
    backend = ExactBackend(engines=(NARROW,), exact=lambda engine, limit: limit == 16)
    assert arithmetic(as_backend(backend), 10, None).engine == NARROW
    with pytest.raises(BackendUnavailable, match="128"):
        arithmetic(as_backend(backend), 100, None)


def test_each_engine_and_limit_is_checked_once():
    seen = []

    def exact(engine, limit):
        seen.append((engine.name, limit))
        return True

    backend = as_backend(ExactBackend(exact=exact))
    for bits in (10, 20, 100, 10, 100):
        arithmetic(backend, bits, "narrow")
        arithmetic(backend, bits, None)
    assert sorted(seen) == [("narrow", 16), ("narrow", 256), ("wide", 1 << 12)]


def test_backends_do_not_vouch_for_each_other():
    arithmetic(as_backend(ExactBackend()), 10, None)
    with pytest.raises(BackendUnavailable):
        arithmetic(as_backend(ExactBackend(exact=lambda engine, limit: False)), 10, None)
