"""Products from scan to rounding, on the backend of whole numbers."""

from itertools import product

import numpy as np
import pytest

from exactla.core import matmul
from exactla.core.contraction import Pairing
from exactla.core.matmul import NonFinite, Options, exact_product, product_groups, rounded_product
from exactla.core.planning import arithmetic
from exactla.errors import BackendUnavailable, OperandChangedError, WorkspaceError
from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from tests.core.exact_backend import ContractError, ExactBackend, as_backend, operand_of
from tests.operands import floats
from tests.oracle import FORMATS, propagated
from tests.oracle import exact as exact_values

FLOAT64 = FORMATS["float64"]
ONE = Pairing((0,), (0,))
ENDS = (Rounding.DOWN, Rounding.UP)


def rounded(backend, left, right, *, pairing=ONE, roundings=ENDS, format="float64", propagate=False, **options):
    """Results of `rounded_product` for arrays of parts, and its account."""
    buffers, work = rounded_product(
        as_backend(backend),
        [operand_of(x) for x in left],
        [operand_of(x) for x in right],
        pairing,
        FLOAT_FORMATS[format],
        roundings,
        propagate=propagate,
        options=Options(**options),
    )
    return [b.astype(np.uint64) for b in buffers], work


@pytest.mark.parametrize("roundings", [ENDS, (Rounding.NEAREST,), (Rounding.ZERO, Rounding.UP, Rounding.DOWN), ()])
@pytest.mark.parametrize("limit", [None, 30, 6])
def test_real_products(rng, roundings, limit):
    backend = ExactBackend(cost=lambda tile, pieces, groups: tile.rows * tile.columns * tile.depth)
    a, b = floats(rng, FLOAT64, (5, 4), 90), floats(rng, FLOAT64, (3, 4), 90)
    found, work = rounded(backend, [a], [b], roundings=roundings, workspace=limit)
    value = exact_values(a) @ exact_values(b).T
    for result, rounding in zip(found, roundings, strict=True):
        assert (result[0] == value.rounded(FLOAT64, rounding.value)).all()
    if roundings:
        # a single block is the result, and is not copied into another
        passes = len(set(map(str, backend.tiles))) or 1
        assert work.tiling.passes == passes
        assert (passes == 1) is (limit is None)


def complex_value(left, right, number):
    """Part `number` of the product of arrays of parts."""
    real = [exact_values(x) for x in left], [exact_values(x).T for x in right]
    total = exact_values(np.zeros((len(left[0]), len(right[0]))))
    for i, j in product(range(len(left)), range(len(right))):
        if (i + j) % 2 == number:
            term = real[0][i] @ real[1][j]
            total = total.minus(term) if i + j == 2 else total.plus(term)
    return total


@pytest.mark.parametrize("parts", [(2, 2), (2, 1), (1, 2)])
@pytest.mark.parametrize("limit", [None, 20])
def test_complex_products(rng, parts, limit):
    backend = ExactBackend(cost=lambda tile, pieces, groups: tile.rows * tile.columns * tile.depth)
    left = [floats(rng, FLOAT64, (3, 4), 40) for _ in range(parts[0])]
    right = [floats(rng, FLOAT64, (2, 4), 40) for _ in range(parts[1])]
    found, _ = rounded(backend, left, right, workspace=limit)
    assert len(found) == 4
    for number, (part, rounding) in enumerate(product(range(2), ENDS)):
        assert (found[number][0] == complex_value(left, right, part).rounded(FLOAT64, rounding.value)).all()


def test_the_groups_of_a_product():
    assert product_groups(1, 1) == [((1, 0, 0),)]
    assert product_groups(2, 2) == [((1, 0, 0), (-1, 1, 1)), ((1, 0, 1), (1, 1, 0))]
    assert product_groups(2, 1) == [((1, 0, 0),), ((1, 1, 0),)]
    assert product_groups(1, 2) == [((1, 0, 0),), ((1, 0, 1),)]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("depth", [1, 2, 3, 5, 16, 17])
def test_the_bits_of_the_plan_hold_the_largest_sums(exact, depth, parts, sign):
    # the backend raises where an integer is not determined; 2**53 - 1 fills its bits, and so do its products
    full = float((1 << 53) - 1)
    left = [np.full((1, depth), full)] * parts
    right = [np.full((1, depth), sign * full if i else full) for i in range(parts)]
    _, work = rounded(exact, left, right)
    assert work.arithmetic.base.capacity >= work.arithmetic.bits
    assert work.arithmetic.bits <= 106 + (parts * depth - 1).bit_length()


def test_fewer_bits_would_not_hold_them(exact, monkeypatch):
    # negative control: the integers of the widest sums do reach the last bit of the plan
    monkeypatch.setattr(matmul, "arithmetic", lambda backend, bits, engine: arithmetic(backend, bits - 12, engine))
    full = np.full((1, 16), float((1 << 53) - 1))
    with pytest.raises(ContractError, match="not determined"):
        rounded(exact, [full], [full])


# ---- special entries -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_entries_are_refused(exact, special, side):
    operands = [np.ones((2, 3)), np.ones((2, 3))]
    operands[side][1, 2] = special
    with pytest.raises(NonFinite):
        rounded(exact, [operands[0]], [operands[1]])
    assert exact.calls["residues"] == 0


@pytest.mark.parametrize("limit", [None, 12])
@pytest.mark.parametrize("format", ["float64", "float32", "float8_e4m3fn", "float8_e5m2fnuz"])
def test_special_entries_are_propagated(rng, format, limit):
    backend = ExactBackend(cost=lambda tile, pieces, groups: tile.rows * tile.columns * tile.depth)
    a, b = (floats(rng, FLOAT64, shape, 9, zeros=0.3) for shape in ((6, 3), (5, 3)))
    for array in (a, b):
        array.ravel()[rng.choice(15, 4, replace=False)] = [np.inf, -np.inf, np.nan, np.inf]
    found, work = rounded(backend, [a], [b], format=format, propagate=True, workspace=limit)
    for result, rounding in zip(found, ENDS, strict=True):
        assert (result[0] == propagated(a, b.T, FORMATS[format], rounding.value)).all()
    assert work.host_syncs == 2


def test_finite_operands_are_not_searched_for_special_ones(exact):
    rounded(exact, [np.ones((1, 2))], [np.ones((1, 2))], propagate=True)
    assert exact.calls["special_pieces"] == exact.calls["mark"] == 0


# ---- the account, the options --------------------------------------------------------------------------------------


def test_host_synchronisations(exact):
    assert rounded(exact, [np.ones((2, 2))], [np.ones((2, 2))])[1].host_syncs == 2
    assert exact.calls["scan"] == exact.calls["total"] == 1
    assert rounded(exact, [np.ones((2, 2))], [np.ones((2, 2))], checks=False)[1].host_syncs == 1
    assert exact.calls["total"] == 1


def changing(backend, at, value):
    """The backend, whose left operand changes after the scan as another thread would change it."""
    scan = backend.scan

    def spoilt(sides):
        found = scan(sides)
        sides[0][0].buffer[at] = value
        return found

    backend.strict = False
    backend.scan = spoilt
    return backend


def test_an_operand_that_changes_is_noticed(exact):
    changing(exact, (0, 1, 1), 1 << 90)
    with pytest.raises(OperandChangedError, match="1 entries"):
        rounded(exact, [np.ones((2, 2))], [np.ones((2, 2))])


def test_an_operand_that_changes_is_not_looked_for_without_checks():
    from fractions import Fraction

    backend = changing(ExactBackend(), (0, 1, 1), Fraction(1 << 7))
    found, _ = rounded(backend, [np.ones((2, 2))], [np.ones((2, 2))], checks=False)
    assert found[0].view(np.float64).tolist() == [[[2.0, 2.0], [129.0, 129.0]]]


def test_an_engine_is_forced(exact):
    assert rounded(exact, [np.ones((1, 1))], [np.ones((1, 1))])[1].arithmetic.engine.name == "wide"
    assert rounded(exact, [np.ones((1, 1))], [np.ones((1, 1))], engine="narrow")[1].arithmetic.engine.name == "narrow"
    with pytest.raises(BackendUnavailable, match="wide, narrow"):
        rounded(exact, [np.ones((1, 1))], [np.ones((1, 1))], engine="other")


def test_the_smallest_block_does_not_fit():
    backend = ExactBackend(cost=lambda tile, pieces, groups: 50 + tile.rows)
    with pytest.raises(WorkspaceError) as caught:
        rounded(backend, [np.ones((4, 4))], [np.ones((4, 4))], workspace=50)
    assert (caught.value.needed, caught.value.allowed) == (51, 50)
    assert backend.calls["residues"] == 0


@pytest.mark.parametrize("limit", [None, 4])
def test_progress_is_told_after_each_block(limit):
    seen = []
    backend = ExactBackend(cost=lambda tile, pieces, groups: tile.rows * tile.columns)
    _, work = rounded(
        backend, [np.ones((4, 4))], [np.ones((4, 4))], workspace=limit, progress=lambda *state: seen.append(state)
    )
    assert seen == [(n, work.tiling.passes) for n in range(1, work.tiling.passes + 1)]


@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0)])
def test_no_entries(exact, shape):
    rows, depth, columns = shape
    found, _ = rounded(exact, [np.ones((rows, depth))], [np.ones((columns, depth))])
    assert all(x.shape == (1, rows, columns) and not x.any() for x in found)


# ---- exact products ------------------------------------------------------------------------------------------------


def exact_result(backend, a, b, pairing=ONE, **options):
    return exact_product(as_backend(backend), operand_of(a), operand_of(b), pairing, Options(**options))


@pytest.mark.parametrize("limit", [None, 4])
@pytest.mark.parametrize("bits", [3, 31, 40, 100])
def test_integer_products(rng, bits, limit):
    backend = ExactBackend(cost=lambda tile, pieces, groups: tile.rows * tile.columns)
    a, b = (
        np.array([[int(rng.integers(-9, 10)) << bits for _ in range(4)] for _ in range(5)], object) for _ in range(2)
    )
    found, work = exact_result(backend, a, b, workspace=limit)
    wanted = a @ b.T
    assert (found[0] == wanted).all()
    wide = any(not -(1 << 63) <= n < 1 << 63 for n in wanted.flat)
    assert found.dtype == (object if wide else np.int64)
    assert all(type(n) is int for n in found.ravel().tolist())
    assert work.host_syncs == 2 + work.tiling.passes == 2 + backend.calls["integers"]


@pytest.mark.parametrize("wide_first", [True, False])
def test_one_block_that_needs_python_integers_makes_all_of_them(wide_first):
    backend = ExactBackend(cost=lambda tile, pieces, groups: tile.rows)
    a = np.array([[1 << 40], [3]] if wide_first else [[3], [1 << 40]], object)
    found, work = exact_result(backend, a, a, workspace=1)
    assert work.tiling.passes == 2
    assert found.dtype == object
    assert all(type(n) is int for n in found.ravel())
    assert (found[0] == a @ a.T).all()


def test_an_integer_that_changes_is_noticed(exact):
    changing(exact, (0, 0, 0), 1 << 90)
    with pytest.raises(OperandChangedError):
        exact_result(exact, np.array([[5]]), np.array([[5]]))
