"""Leading bits with exact sums of doubtful results, on the backend of whole numbers: when they serve, and with what."""

import numpy as np
import pytest

from exactla.backend import Operand
from exactla.core import settling
from tests.core.exact_backend import ExactBackend
from tests.core.test_truncation import ALL, FLOAT64, check, product
from tests.oracle import FORMATS

FLOAT32 = FORMATS["float32"]
DEPTH = 64


@pytest.fixture(autouse=True)
def short_sums(monkeypatch):
    """Sums of any length may be settled, and doubtful ones are many."""
    monkeypatch.setattr(settling, "LEAST_DEPTH", 1)
    monkeypatch.setattr(settling, "SHARE_EXPONENT", 50)


def settled(**options):
    return ExactBackend(settled_bits=400, **options)


def ordinary(rng, shape):
    return rng.standard_normal(shape)


def test_results_are_those_of_all_bits(rng):
    backend = settled()
    work = check(backend, ordinary(rng, (5, DEPTH)), ordinary(rng, (4, DEPTH)), FLOAT64)
    assert backend.calls["round_settled"] == 1
    assert backend.calls["round"] == 0
    assert work.host_syncs == 2


def test_fewer_moduli_are_used_and_their_room_is_taken(rng):
    a, b = ordinary(rng, (5, DEPTH)), ordinary(rng, (4, DEPTH))
    fewer, all_bits = check(settled(), a, b, FLOAT64), check(ExactBackend(), a, b, FLOAT64)
    assert len(fewer.arithmetic.base.moduli) + settling.LEAST_GAIN <= len(all_bits.arithmetic.base.moduli)
    assert fewer.arithmetic.bits == fewer.arithmetic.base.capacity


def test_a_gram_matrix_converts_its_operand_once(rng):
    backend, a = settled(), ordinary(rng, (5, DEPTH))
    product(backend, [a], [a], gram=True, format="float64")
    assert backend.calls["round_settled"] == 1
    assert backend.calls["residues"] == 1


def test_all_bits_are_taken_where_some_results_are_left(rng):
    a, b = ordinary(rng, (5, DEPTH)), ordinary(rng, (4, DEPTH))
    backend = settled(leaves=1)
    work = check(backend, a, b, FLOAT64)
    assert backend.calls["round_settled"] == 1
    assert backend.calls["round"] == 1
    assert work.arithmetic == check(ExactBackend(), a, b, FLOAT64).arithmetic


@pytest.mark.parametrize(
    "unfit",
    [
        "few bits",
        "complex",
        "integers",
        "spread",
        "short sums",
    ],
)
def test_other_operands_take_all_bits(rng, monkeypatch, unfit):
    backend = settled()
    a, b = ordinary(rng, (5, DEPTH)), ordinary(rng, (4, DEPTH))
    left, right = [a], [b]
    if unfit == "few bits":
        left, right = [np.round(a * 8)], [np.round(b * 8)]
    elif unfit == "complex":
        left = [a, a]
    elif unfit == "integers":
        left = [rng.integers(-(2**62), 2**62, a.shape)]
    elif unfit == "spread":
        left = [np.ldexp(a, rng.integers(-40, 40, a.shape))]
    else:
        monkeypatch.setattr(settling, "LEAST_DEPTH", DEPTH + 1)
    product(backend, left, right, format="float64", roundings=ALL)
    assert backend.calls["round_settled"] == 0


def test_blocks_are_settled_one_by_one(rng):
    backend = settled(cost=lambda tile, pieces, groups: tile.rows * tile.columns)
    work = check(backend, ordinary(rng, (6, DEPTH)), ordinary(rng, (5, DEPTH)), FLOAT64, workspace=8)
    assert work.tiling.passes == backend.calls["round_settled"] > 1


def test_narrow_results_keep_fewer_bits(rng):
    a, b = ordinary(rng, (5, DEPTH)), ordinary(rng, (4, DEPTH))
    narrow, wide = check(settled(), a, b, FLOAT32), check(settled(), a, b, FLOAT64)
    assert narrow.arithmetic.bits < wide.arithmetic.bits


def test_a_side_that_loses_nothing_is_left_alone(rng, monkeypatch):
    seen: list[Operand] = []
    backend = settled()
    whole = backend.round_settled

    def spy(planes, base, exponents, exact, *others):
        seen.extend(exponents[:2])
        return whole(planes, base, exponents, exact, *others)

    monkeypatch.setattr(backend, "round_settled", spy)
    check(backend, ordinary(rng, (5, DEPTH)), np.round(ordinary(rng, (4, DEPTH)) * 8), FLOAT64)
    assert [x.truncated for x in seen] == [True, False]
