"""From the sums of a block to results: several outputs, a shift, a correction, counts of special terms."""

import numpy as np
import pytest

from exactla.backend import Tile
from exactla.core.contraction import Contraction, Pairing, PlainSide
from exactla.core.evaluation import Output, evaluate, plan
from exactla.core.moduli import ResidueBase
from exactla.core.planning import Arithmetic, Tiling
from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from tests.core.exact_backend import ContractError, ExactBackend, Planes, as_backend, operand_of

BASE = ResidueBase((4096, 4095))
FLOAT16 = FLOAT_FORMATS["float16"]
GROUPS = [((1, 0, 0),), ((1, 0, 1),), ((1, 1, 1),)]
NEAREST = (Rounding.NEAREST,)


@pytest.fixture
def arrays(rng):
    return rng.integers(-9, 10, (2, 4, 3)) * 2 + 1, rng.integers(-9, 10, (2, 5, 3)) * 2 + 1


def contraction_of(backend, arrays, groups=GROUPS):
    left, right = (
        PlainSide(as_backend(backend), backend.scan([[operand_of(x) for x in side]])[0].operands) for side in arrays
    )
    arithmetic = Arithmetic(backend.engines[0], BASE, 20)
    return Contraction(as_backend(backend), left, right, Pairing((0,), (0,)), groups, arithmetic)


def tiling_of(tile):
    """Blocks of a product of 4 rows, 5 columns and inner dimension 3."""
    rows, columns = tile
    return Tiling((1, 4, 5), Tile(1, 1, 1, rows, columns, 3), 0)


def run(backend, arrays, outputs, tile=(4, 5), **options):
    return evaluate(contraction_of(backend, arrays), outputs, FLOAT16, tiling_of(tile), **options)


def values(buffer):
    return buffer[0].astype(np.uint16).view(np.float16).astype(float)


@pytest.mark.parametrize("tile", [(4, 5), (1, 1), (3, 2)], ids=str)
def test_outputs_are_signed_sums_of_groups(exact, arrays, tile):
    a, b = arrays
    products = [a[i] @ b[j].T for i, j in ((0, 0), (0, 1), (1, 1))]
    outputs = [Output(((1, 0),), NEAREST), Output(((1, 0), (-1, 2)), NEAREST), Output(((-1, 1),), NEAREST)]
    found = run(exact, arrays, outputs, tile)
    assert [values(x).tolist() for x in found] == [
        products[0].tolist(),
        (products[0] - products[2]).tolist(),
        (-products[1]).tolist(),
    ]


def test_a_buffer_for_each_rounding_in_order(exact):
    a = np.full((2, 4, 3), 1)
    b = np.full((2, 5, 3), 1001)  # 3003 lies between float16 values
    roundings = (Rounding.DOWN, Rounding.UP, Rounding.ZERO, Rounding.NEAREST)
    found = run(exact, (a, b), [Output(((1, 0),), roundings), Output(((-1, 0),), roundings[:2])])
    assert [values(x)[0, 0] for x in found] == [3002, 3004, 3002, 3004, -3004, -3002]


@pytest.mark.parametrize("shift", [-2, 0, 3])
def test_a_shift_scales_every_result(exact, arrays, shift):
    (found,) = run(exact, arrays, [Output(((1, 0),), NEAREST)], shift=shift)
    assert (values(found) == (arrays[0][0] @ arrays[1][0].T) * 2.0**shift).all()


@pytest.mark.parametrize("tile", [(4, 5), (2, 2)], ids=str)
def test_a_correction_sees_every_block_once(exact, arrays, tile):
    seen = []

    def add_one(block, blocks, planes):
        seen.append((block.rows, block.columns))
        return [Planes(planes[0].of(BASE) + 1, BASE)]

    (found,) = run(exact, arrays, [Output(((1, 0),), NEAREST)], tile, correction=add_one)
    assert (values(found) == arrays[0][0] @ arrays[1][0].T + 1).all()
    assert len(seen) == tiling_of(tile).passes


def test_marks_belong_to_their_output(exact, arrays):
    # groups of special counts, three for each output: the second output is invalid everywhere
    zero, one = np.zeros((4, 3), int), np.ones((4, 3), int)
    special = contraction_of(exact, ([zero, one], [np.ones((5, 3), int)] * 2), [((1, 0, 0),)] * 5 + [((1, 1, 1),)])
    outputs = [Output(((1, 0),), (Rounding.DOWN, Rounding.UP)), Output(((1, 0),), NEAREST)]
    found = run(exact, arrays, outputs, (2, 3), special=special)
    assert not np.isnan(values(found[0])).any()
    assert not np.isnan(values(found[1])).any()
    assert np.isnan(values(found[2])).all()


def test_progress(exact, arrays):
    seen = []
    run(exact, arrays, [Output(((1, 0),), NEAREST)], (1, 5), progress=lambda *state: seen.append(state))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_progress_that_raises_ends_the_work(exact, arrays):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(exact, arrays, [Output(((1, 0),), NEAREST)], (1, 5), progress=stop)
    assert exact.calls["round"] == 1


def test_the_plan_counts_pieces_and_groups(arrays):
    seen = []

    def cost(*counted):
        seen.append(counted)
        return 1

    contraction = contraction_of(ExactBackend(cost=cost), arrays)
    plan(contraction, 100)
    assert seen[0] == (Tile(1, 1, 1, 4, 5, 3), 2, 3)


def test_the_plan_has_room_for_both_of_two_contractions(exact, arrays):
    # each with its own pieces, groups and moduli
    costs = {(2, 3): 60, (1, 5): 40}
    contraction = contraction_of(exact, arrays)
    beside = contraction_of(exact, arrays, [((1, 0, 0),)] * 5)
    exact.cost = lambda tile, pieces, groups: costs[pieces, groups] * tile.rows
    assert plan(contraction, None).workspace_bytes == 60 * 4
    assert plan(contraction, None, beside=beside).workspace_bytes == 100 * 4
    assert plan(contraction, 399, beside=beside).workspace_bytes < 399
    assert plan(contraction, 399, beside=beside).passes > plan(contraction, 399).passes == 1


def test_the_backend_of_whole_numbers_notices_what_is_left_out(exact, arrays):
    # negative control: a base of another product, and an integer past its quarter
    blocks = tiling_of((4, 5))
    planes = contraction_of(exact, arrays).planes(next(blocks.blocks()), blocks)
    with pytest.raises(ContractError, match="used with"):
        exact.combine([(1, planes[0])], ResidueBase((4095, 4096)))
    with pytest.raises(ContractError, match="not determined"):
        exact.integers(Planes(np.full((1, 1, 1), BASE.product // 4 + 1, object), BASE), BASE)
