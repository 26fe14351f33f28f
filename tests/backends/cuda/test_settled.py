"""`round_settled` on a host that runs its kernels thread by thread: all tests of the verb, and what only CUDA has."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

import exactla as xl
from exactla.core import settling
from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from tests.backends.checks import settled
from tests.backends.devices import open_device
from tests.backends.verbs.test_round_settled import (  # noqa: F401
    ALL,
    ENDS,
    FLOAT64,
    KEPT,
    NEAREST,
    check_round_settled,
    test_any_numbers,
    test_any_strides,
    test_blocks,
    test_cancellation,
    test_extreme_results,
    test_nothing,
    test_one_direction,
    test_operands_of_other_formats,
    test_random_operands,
    test_rows_that_lose_nothing,
    test_stacks,
    test_values_and_ties,
)
from tests.oracle import exact as exact_values


@pytest.fixture
def device(ampere, monkeypatch):
    monkeypatch.setattr(ampere.elements, "SETTLING_BLOCKS", 2)
    return open_device("cuda")


@pytest.fixture
def noted(ampere, monkeypatch):
    """How many results each launch has noted, which the settling kernel is about to read."""
    found = []
    settle = ampere.elements.settle

    def spy(place, formats, limbs, sides, results, certificate, left_over):
        found.append(ctypes.c_int64.from_address(certificate.doubtful).value)
        return settle(place, formats, limbs, sides, results, certificate, left_over)

    monkeypatch.setattr(ampere.elements, "settle", spy)
    return found


def give_room(cuda, monkeypatch, capacity):
    """Make the lists of doubtful results as long as that."""
    monkeypatch.setattr(cuda.backend, "FEW", capacity)
    monkeypatch.setattr(cuda.backend, "DOUBTFUL_SHARE", 1 << 40)


def test_what_bits_decide_is_not_summed_again(rng, device, noted):
    a, b = rng.standard_normal((1, 6, 30)), rng.standard_normal((1, 8, 30))
    check_round_settled(device, a, b, 12, FLOAT64)
    check_round_settled(device, a, b, 64, FLOAT64, NEAREST)
    assert noted[:2] == [48, 48], "in both launches of two directions each"
    assert noted[2] < 10
    check_round_settled(device, np.round(8 * a), np.round(8 * b), 12, FLOAT64, ENDS)
    assert noted[3] == 0, "rows of few bits lose nothing, also where their sums are values"
    a[:, ::2], b[:, 1:] = np.round(8 * a[:, ::2]), np.round(8 * b[:, 1:])
    check_round_settled(device, a, b, 12, FLOAT64, ENDS)
    assert noted[4] == 6 * 8 - 3 * 7


@pytest.mark.parametrize("short", [0, 1, 5])
def test_results_without_room_are_counted(rng, ampere, device, noted, monkeypatch, short):
    """And one place too few is noticed: the negative control of the list's length."""
    a, b = rng.standard_normal((1, 6, 30)), rng.standard_normal((1, 8, 30))
    give_room(ampere, monkeypatch, 48 - short)
    found, left_over = settled(device, (a, b), 12, FLOAT_FORMATS["float64"], ALL, ([0], [0]))
    assert noted == [48, 48]
    assert left_over == 2 * short
    expected = (exact_values(a) @ exact_values(b).T).rounded(FLOAT64, "up")
    wrong = (found[ALL.index(Rounding.UP)] != expected).sum()
    assert (0 < wrong <= short) if short else wrong == 0


@pytest.mark.parametrize("checks", [True, False], ids=["checks", "no checks"])
@pytest.mark.parametrize("capacity", [0, 1000])
def test_products_that_leave_results_take_all_bits(rng, ampere, device, monkeypatch, checks, capacity):
    monkeypatch.setattr(settling, "LEAST_DEPTH", 1)
    monkeypatch.setattr(settling, "SHARE_EXPONENT", 50)
    give_room(ampere, monkeypatch, capacity)
    a, b = rng.standard_normal((2, 7, 40)), rng.standard_normal((2, 40, 9))
    with xl.backend("numpy"):
        expected = xl.mm_enclose(a, b)
    ampere.gpu.launches.clear()
    with xl.backend("cuda"), xl.operand_checks(checks):
        found, info = xl.mm_enclose(a, b, return_info=True)
    np.testing.assert_array_equal(np.stack(found), np.stack(expected))
    kernels = [launch.kernel for launch in ampere.gpu.launches]
    assert kernels.count("xl_cuda_settle") == 1
    assert kernels.count("xl_cuda_round8") == (1 if capacity else 2)
    assert info.host_syncs == (4 if checks and not capacity else 2)


def test_a_gram_matrix_counts_the_bits_that_its_rows_lose(rng, ampere, device, monkeypatch):
    monkeypatch.setattr(settling, "LEAST_DEPTH", 1)
    monkeypatch.setattr(settling, "SHARE_EXPONENT", 50)
    a = rng.standard_normal((7, 40)).astype(np.float32)
    with xl.backend("numpy"):
        expected = xl.mm_enclose(a)
    ampere.gpu.launches.clear()
    with xl.backend("cuda"):
        found = xl.mm_enclose(a)
    np.testing.assert_array_equal(np.stack(found), np.stack(expected))
    assert "xl_cuda_settle" in {launch.kernel for launch in ampere.gpu.launches}


def test_a_dropped_count_that_is_short_is_noticed(rng, ampere, device, monkeypatch):
    """The negative control: rows of one entry that loses bits, of which nobody knows."""
    a, b = np.ones((1, 6, 30)), np.ones((1, 8, 30))
    a[:, :, 7] = rng.uniform(1, 2, (1, 6)) * 2.0**-20
    check_round_settled(device, a, b, KEPT, FLOAT64)
    count = ampere.elements.count_dropped

    def wrong(place, format, entries, exponents, counts):
        launch = count(place, format, entries, exponents, counts)
        launch.run(0)
        rows = (ctypes.c_int32 * (entries.stacks * entries.rows)).from_address(counts)
        rows[3] = max(rows[3] - 1, 0)
        return SimpleNamespace(run=lambda stream: None)

    monkeypatch.setattr(ampere.elements, "count_dropped", wrong)
    with pytest.raises(AssertionError):
        check_round_settled(device, a, b, KEPT, FLOAT64)
