"""Leading bits first, on the backend of whole numbers: which entries are left, and that those are recomputed."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from exactla.backend import Operand
from exactla.core import planning, truncation
from exactla.core.contraction import Pairing
from exactla.core.matmul import Options, rounded_product
from exactla.errors import OperandChangedError
from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from tests.core.exact_backend import ContractError, ExactBackend, as_backend, operand_of
from tests.operands import floats
from tests.oracle import FORMATS, complex_product
from tests.oracle import exact as exact_values

FLOAT64, FLOAT16 = FORMATS["float64"], FORMATS["float16"]
ONE = Pairing((0,), (0,))
KEPT = 24
NEAREST = (Rounding.NEAREST,)
ALL = tuple(Rounding)


def area(tile, pieces, groups):
    return tile.pairs * tile.rows * tile.columns


@pytest.fixture
def leading():
    return ExactBackend(leading_bits=KEPT)


def product(backend, left, right, *, pairing=ONE, roundings=ALL, format="float16", gram=False, **options):
    """Results of a product of parts, held by rows, and its account."""
    a = [operand_of(x) for x in left]
    buffers, work = rounded_product(
        as_backend(backend),
        a,
        a if gram else [operand_of(x) for x in right],
        pairing,
        FLOAT_FORMATS[format],
        roundings,
        propagate=False,
        options=Options(**options),
    )
    return [b.astype(np.uint64) for b in buffers], work


def check(backend, a, b, format=FLOAT16, roundings=ALL, **options):
    """A real product of two matrices held by rows has the oracle's bytes; returns its account."""
    found, work = product(backend, [a], [b], roundings=roundings, format=format.name, **options)
    value = exact_values(a) @ exact_values(b).T
    for result, rounding in zip(found, roundings, strict=True):
        assert (result[0] == value.rounded(format, rounding.value)).all()
    return work


def counted(backend):
    """How often each verb that matters here was called."""
    return {name: backend.calls[name] for name in ("round_certified", "round", "gather", "scatter")}


def wide(rng, shape, spread=200):
    return floats(rng, FLOAT64, shape, spread, zeros=0)


TAIL = 2.0**-100
"""Far below what is kept of a row that holds 1, and enough to make its entries wide."""


def beside(first, *rows):
    """A matrix of rows, each followed by a tail that makes it wide without changing more than the last bits."""
    return np.array([[*row, TAIL] for row in (first, *rows)])


STEP = 2.0**-10
"""Of float16 at 1."""


def among_certain(left, right, size=8):
    """Matrices whose first rows have the product of two given ones, and whose other products are certain.

    Those are a third of a step above a value of float16. They use two columns of their own, with a zero in the first
    row of one matrix or the other.
    """
    third, none = 1.0 + STEP / 3, [0.0] * len(left)
    scale = 2.0 ** np.floor(np.log2(np.abs(left).max()))
    rows = [[*left, third * scale, 0.0, TAIL]] + [[*none, *[third + i / 8] * 2, TAIL] for i in range(1, size)]
    columns = [[*right, 0.0, 1.0, TAIL]] + [[*none, *[2.0**j] * 2, TAIL] for j in range(1, size)]
    return np.array(rows), np.array(columns)


CERTAIN = among_certain([1.0 + STEP / 3], [1.0])


# ---- which plan ----------------------------------------------------------------------------------------------------


def test_random_products(rng, leading):
    for format in (FLOAT16, FORMATS["float8_e4m3fn"], FORMATS["bfloat16"], FORMATS["float8_e5m2fnuz"]):
        check(leading, wide(rng, (6, 5)), wide(rng, (7, 5)), format)
    assert leading.calls["round_certified"] == 4


def test_operands_that_are_no_wider_are_left_alone(rng, leading):
    check(leading, floats(rng, FLOAT16, (4, 3), 2), floats(rng, FLOAT16, (4, 3), 2))
    assert leading.calls["round_certified"] == 0


# a row [1, 2**-(bits - 1)] has as many bits; kept 24 need 24 + 24 + 1 (two terms) + 1 = 50, against 2 * bits + 1
@pytest.mark.parametrize(("bits", "cheaper"), [(35, False), (36, False), (37, True), (38, True)])
def test_a_third_of_the_bits_has_to_be_saved(leading, bits, cheaper):
    row = np.array([[1.0, 2.0 ** (1 - bits)]])
    work = check(leading, row, row)
    assert bool(leading.calls["round_certified"]) is cheaper
    assert ((2 * bits + 1) * 2 >= 50 * 3) is cheaper
    assert work.arithmetic.bits == (50 if cheaper else 2 * bits + 1)


def test_a_side_that_is_narrow_keeps_its_bits(leading):
    # 1 + 24 bits, and room for the error of 24 + 2 + 1
    work = check(leading, np.array([[1.0, TAIL]]), np.array([[1.0, 1.0]]))
    assert work.arithmetic.bits == 28
    assert leading.calls["round_certified"] == 1


def test_rows_are_truncated_each_by_themselves(leading):
    # the second row is tiny as a whole, and keeps its own leading bits
    a = np.array([[1.0, 2.0**-200], [2.0**-300, 2.0**-500]])
    check(leading, a, np.array([[1.0, 3.0], [2.0**-90, 1.0]]), FLOAT64)
    assert leading.calls["round_certified"] == 1


@pytest.mark.parametrize("special", [np.inf, np.nan])
def test_special_entries_take_the_plan_of_all_bits(leading, special):
    a = beside([1.0], [special])
    buffers, _ = rounded_product(
        as_backend(leading),
        [operand_of(a)],
        [operand_of(beside([1.0]))],
        ONE,
        FLOAT_FORMATS["float16"],
        ALL,
        propagate=True,
        options=Options(),
    )
    assert leading.calls["round_certified"] == 0
    assert buffers[0][0, 0, 0] == 0x3C00


# ---- entries that leading bits do not decide -----------------------------------------------------------------------

UNCERTAIN = {
    "zero": ([1.0, -1.0], [1.0, 1.0]),
    "cancellation": ([1.0, -1.0 + 2.0**-50], [1.0, 1.0]),
    "cancellation of the tails": ([2.0**-95, -1.0], [1.0, 2.0**-95]),
    "tie": ([1.0, STEP / 2], [1.0, 1.0]),
    "tie above an odd value": ([1.0 + STEP, STEP / 2], [1.0, 1.0]),
    "tie and a crumb": ([1.0, STEP / 2 + 2.0**-60], [1.0, 1.0]),
    "tie less a crumb": ([-1.0, -STEP / 2 + 2.0**-60], [1.0, 1.0]),
    "value": ([1.0 + STEP, 0.0], [1.0, 0.0]),
    "value and a crumb": ([1.0 + STEP, 2.0**-60], [1.0, 1.0]),
    "smallest": ([1.0, 0.0], [2.0**-24, 0.0]),
    "half of the smallest": ([1.0, 0.0], [2.0**-25, 0.0]),
    "largest": ([65504.0, 0.0], [1.0, 0.0]),
    "overflow": ([65520.0, -(2.0**-80)], [1.0, 1.0]),
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_one_entry_that_is_uncertain_is_recomputed(leading, name):
    check(leading, *among_certain(*UNCERTAIN[name]))
    assert counted(leading) == {"round_certified": 1, "gather": 2, "scatter": len(ALL), "round": 1}


@pytest.mark.parametrize("rounding", ALL)
def test_an_entry_is_recomputed_where_the_asked_rounding_is_uncertain(leading, rounding):
    # a tie is uncertain to nearest alone, a value to the others alone
    for entry, uncertain in (([1.0, STEP / 2], [Rounding.NEAREST]), ([1.0 + STEP, 0.0], set(ALL) - set(NEAREST))):
        leading.calls.clear()
        check(leading, *among_certain(entry, [1.0, 1.0]), roundings=(rounding,))
        assert leading.calls["scatter"] == (rounding in uncertain)


def test_certain_entries_are_not_recomputed(leading):
    check(leading, *CERTAIN)
    assert counted(leading) == {"round_certified": 1, "gather": 0, "scatter": 0, "round": 0}


def test_overflow_to_one_nan_keeps_its_sign_apart(leading):
    # without infinities both signs overflow to the same NaN, which must not certify a sum of unknown sign
    fmt = FORMATS["float8_e4m3fnuz"]
    a = np.array([[2.0**200, -(2.0**200), 1.0, 2.0**-60]])
    check(leading, a, np.array([[1.0, 1.0, 1.0, 2.0**-60]]), fmt, NEAREST)
    check(leading, a, np.array([[2.0**100, 2.0**100, 2.0**90, -1.0]]), fmt, NEAREST)


@pytest.mark.parametrize(("uncertain", "whole"), [(1, False), (2, False), (3, True), (8, True), (64, True)])
def test_many_uncertain_entries_are_recomputed_with_their_block(leading, uncertain, whole):
    # a block of 64: the whole of it past two, one in MANY
    assert truncation.MANY == 32
    a = np.array([[1.0, -1.0 if i < uncertain // 8 + (uncertain % 8 > 0) else 0.0, TAIL] for i in range(8)])
    count = min(8, uncertain)
    b = np.array([[1.0 + STEP / 3, 1.0 + STEP / 3 if j < count else 0.0, TAIL] for j in range(8)])
    check(leading, a, b, roundings=NEAREST)
    assert counted(leading) == {
        "round_certified": 1,
        "gather": 0 if whole else 2,
        "scatter": 0 if whole else 1,
        "round": 1,
    }


@pytest.mark.parametrize("limit", [None, 16, 7, 2])
def test_blocks(rng, limit):
    backend = ExactBackend(leading_bits=KEPT, cost=area)
    a, b = wide(rng, (6, 4)), wide(rng, (5, 4))
    a = np.hstack([a, -a[:, :2]])
    b = np.hstack([b, b[:, :2]])
    a[2], b[3] = [1, -1, 0, 0, TAIL, 0], [1, 1, 0, 0, 0, TAIL]
    work = check(backend, a, b, workspace=limit)
    assert work.tiling.passes == len(set(map(str, backend.tiles)))
    assert limit is None or work.tiling.workspace_bytes <= limit


def test_the_plan_has_room_for_all_bits_too(rng):
    work = check(ExactBackend(leading_bits=KEPT, cost=area), wide(rng, (6, 4)), wide(rng, (5, 4)))
    assert work.tiling.workspace_bytes == 2 * 30


def test_stacks(rng, leading):
    a, b = wide(rng, (3, 4, 5)), wide(rng, (2, 3, 5))
    a[1, 2], b[1, 0] = [1, -1, 0, 0, TAIL], [1, 1, 0, 0, TAIL]
    pairing = Pairing((0, 1, 1, 2), (1, 0, 1, 1))
    found, _ = product(leading, [a], [b], pairing=pairing, roundings=NEAREST, format="float64")
    assert leading.calls["round_certified"] == 1
    for t, (i, j) in enumerate(zip(pairing.left_index, pairing.right_index, strict=True)):
        value = exact_values(a[i]) @ exact_values(b[j]).T
        assert (found[0][t] == value.rounded(FLOAT64, "nearest")).all()


@pytest.mark.parametrize("limit", [None, 3])
@pytest.mark.parametrize("parts", [(2, 2), (2, 1), (1, 2)], ids=str)
def test_complex_products(rng, parts, limit):
    backend = ExactBackend(leading_bits=KEPT, cost=area)
    left, right = ([wide(rng, (n, 4)) for _ in range(p)] for n, p in zip((6, 7), parts, strict=True))
    for x in (*left, *right):
        x[1] = [1, 0, -1, TAIL]  # zeros and values, in either part
    found, work = product(backend, left, right, workspace=limit, format="float16")
    a, b = (x[0] + 1j * x[1] if len(x) == 2 else x[0] for x in (left, right))
    assert backend.calls["round_certified"] == 2 * work.tiling.passes
    for number, value in enumerate(complex_product(a, b.T)):
        for rounding, result in zip(ALL, found[4 * number : 4 * number + 4], strict=True):
            assert (result[0] == value.rounded(FLOAT16, rounding.value)).all()


def test_gram_products_convert_their_rows_once(rng, leading):
    a = wide(rng, (4, 5))
    found, _ = product(leading, [a], None, gram=True, roundings=NEAREST, format="float64")
    value = exact_values(a) @ exact_values(a).T
    assert (found[0][0] == value.rounded(FLOAT64, "nearest")).all()
    assert leading.calls["round_certified"] == 1
    # 24 bits decide nothing in float64, so that the block is converted a second time
    assert leading.calls["gather"] == 0
    assert leading.calls["residues"] == 2


def test_integers_beside_floats(rng, leading):
    a = np.array([[10**30, 1, -(10**30)], [3, 5, 7]], object)
    b = np.array([[1.0, 2.0**-90, 1.0], [1.0, 3.0, 5.0]])
    check(leading, a, b, FLOAT64)
    assert leading.calls["round_certified"] == 1


@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0)])
def test_no_entries(leading, shape):
    rows, depth, columns = shape
    found, _ = product(leading, [np.ones((rows, depth))], [np.ones((columns, depth))])
    assert all(x.shape == (1, rows, columns) and not x.any() for x in found)


# ---- the account ---------------------------------------------------------------------------------------------------


def test_host_synchronisations(leading):
    assert check(leading, *CERTAIN).host_syncs == 3  # scan, one block, check
    assert check(leading, *CERTAIN, checks=False).host_syncs == 2


def test_progress(leading):
    seen = []
    leading.cost = area
    check(leading, *CERTAIN, workspace=32, progress=lambda *state: seen.append(state))
    passes = seen[-1][1]
    assert passes >= 4
    assert seen == [(n, passes) for n in range(1, passes + 1)]


def test_an_engine_is_forced(leading):
    row = np.array([[1.0, TAIL]])
    leading.engines = (leading.engines[0], replace(leading.engines[1], modulus_limits=(256, 1 << 12)))
    assert check(leading, row, row, engine="narrow").arithmetic.engine.name == "narrow"
    assert leading.calls["round_certified"] == 1


# ---- operands that change ------------------------------------------------------------------------------------------


def changing(backend, verb, value):
    """The left operand's first entry changes once the verb has been called."""
    true = getattr(backend, verb)
    operands: list[Operand] = []
    scan = backend.scan

    def noting(sides):
        operands[:] = [sides[0][0]]
        return scan(sides)

    def spoilt(*args):
        found = noting(*args) if verb == "scan" else true(*args)
        operands[0].buffer[0, 0, 0] = value
        return found

    backend.strict = False
    backend.scan = noting
    setattr(backend, verb, spoilt)
    return backend


def test_an_operand_that_changes_before_its_leading_bits_are_taken_is_noticed(leading):
    a, b = CERTAIN
    changing(leading, "scan", Fraction(1 << 90))
    with pytest.raises(OperandChangedError, match=r"^\d+ entries"):
        product(leading, [a], [b])


def test_an_operand_that_changes_before_an_entry_is_recomputed_is_noticed(leading):
    a, b = among_certain([1.0, -1.0], [1.0, 1.0])
    changing(leading, "round_certified", Fraction(1 << 90))
    with pytest.raises(OperandChangedError, match=r"^1 entries"):
        product(leading, [a], [b])
    assert leading.calls["scatter"] == len(ALL)


def test_an_operand_that_changes_before_its_block_is_recomputed_is_noticed(leading):
    a = np.array([[1.0, -1.0, TAIL]] * 3)
    changing(leading, "round_certified", Fraction(1 << 90))
    with pytest.raises(OperandChangedError, match=r"^1 entries"):
        product(leading, [a], [np.array([[1.0, 1.0, TAIL]] * 3)])
    assert leading.calls["scatter"] == 0


def test_a_change_that_still_fits_the_scan_cannot_be_noticed(leading):
    a, b = CERTAIN
    changing(leading, "scan", Fraction(3, 2))
    product(leading, [a], [b])


# ---- negative controls ---------------------------------------------------------------------------------------------


def test_a_slack_that_is_too_small_is_noticed(monkeypatch):
    # 63 pairs of entries lose almost a unit each, and the sum of what is kept lies below 252 where the exact one is
    # above: by half of the proven error
    row = np.array([[2.0 - 2.0**-52] * 63 + [2.0**-20]])
    true = ExactBackend.round_certified

    def right(spoil):
        backend = ExactBackend(leading_bits=KEPT)
        monkeypatch.setattr(
            backend, "round_certified", lambda p, b, e, slack, *rest: true(backend, p, b, e, slack - spoil, *rest)
        )
        found, _ = product(backend, [row], [row], roundings=(Rounding.DOWN,))
        return found[0].view(np.uint64).tolist() == [[[0x5BE0]]]

    assert (exact_values(row) @ exact_values(row).T).rounded(FLOAT16, "down").tolist() == [[0x5BE0]]
    assert right(0)
    assert not right(2)


def test_an_entry_that_is_not_recomputed_is_noticed(leading, monkeypatch):
    a, b = among_certain([1.0, -1.0 + 2.0**-50], [1.0, 1.0])
    check(leading, a, b)
    monkeypatch.setattr(ExactBackend, "scatter", lambda self, encodings, places, values: None)
    with pytest.raises(AssertionError):
        check(leading, a, b)


def test_an_entry_that_is_put_elsewhere_is_noticed(leading, monkeypatch):
    a, b = among_certain([1.0, -1.0 + 2.0**-50], [1.0, 1.0])
    true = ExactBackend.scatter
    monkeypatch.setattr(
        ExactBackend,
        "scatter",
        lambda self, x, places, values: true(self, x, [(t, r, c + 1) for t, r, c in places], values),
    )
    with pytest.raises(AssertionError):
        check(leading, a, b)


def test_bits_that_do_not_hold_the_ends_are_noticed(leading, monkeypatch):
    true = planning.arithmetic
    monkeypatch.setattr(truncation, "arithmetic", lambda leading, bits, engine: true(leading, bits - 24, engine))
    full = 2.0 - 2.0**-20
    with pytest.raises(ContractError, match="not determined"):
        check(leading, np.array([[full] * 8 + [TAIL]]), np.array([[full] * 8 + [TAIL]]))
