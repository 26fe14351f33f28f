"""The NumPy engines: what they claim, and that a claim past the truth is found out."""

from dataclasses import replace

import numpy as np
import pytest

from exactla.backend import Engine
from exactla_backends.numpy import engines
from tests.backends.devices import base_for

CASES = [(e, limit) for e in engines.ENGINES for limit in e.modulus_limits]
by_name = {e.name: e for e in engines.ENGINES}


@pytest.mark.parametrize(("claim", "limit"), CASES, ids=[f"{e.name}-{m}" for e, m in CASES])
def test_the_claimed_sums_fit_the_significand(claim, limit):
    exact_bits = {"fp64": 53, "fp32": 24, "int64": 63}[claim.name]
    assert claim.depth(limit) * (limit // 2) ** 2 <= 1 << claim.accumulator_bits <= 1 << exact_bits
    assert (claim.depth(limit) + 1) * (limit // 2) ** 2 > 1 << claim.accumulator_bits
    assert engines.is_exact(claim, limit)


@pytest.mark.parametrize("excess", [1, 2, 5])
@pytest.mark.parametrize("name", ["fp64", "fp32"])
def test_a_float_engine_that_claims_longer_sums_is_found_out(name, excess):
    # sums of powers of two stay exact far beyond the significand, so the check needs odd products too
    engine = by_name[name]
    for limit in engine.modulus_limits:
        assert not engines.is_exact(replace(engine, accumulator_bits=engine.accumulator_bits + excess), limit)


def test_an_integer_engine_that_claims_longer_sums_is_found_out():
    assert engines.is_exact(replace(by_name["int64"], accumulator_bits=62), 1 << 30)
    for bits in (64, 66):
        assert not engines.is_exact(replace(by_name["int64"], accumulator_bits=bits), 1 << 30)


@pytest.mark.parametrize("significand", [10, 20, 23])
def test_a_matrix_unit_with_a_shorter_accumulator_is_found_out(monkeypatch, significand):
    # as TF32 would be behind a float32 product
    true_product = np.matmul

    def short(a, b):
        exact = true_product(a.astype(np.float64), b.astype(np.float64))
        mantissa, exponent = np.frexp(exact)
        return np.ldexp(np.round(np.ldexp(mantissa, significand)), exponent - significand).astype(a.dtype)

    with monkeypatch.context() as patch:
        patch.setattr(np, "matmul", short)
        found = engines.is_exact(by_name["fp32"], 1 << 12)
    assert not found


def test_sums_between_reductions_fit_int64():
    largest = max(1 << e.accumulator_bits for e in engines.ENGINES)
    residue = max(max(e.modulus_limits) for e in engines.ENGINES)
    assert engines.UNREDUCED * largest + residue < 1 << 63


@pytest.mark.parametrize("index", [[0], [2, 2, 2], [0, 1, 2], [1, 2], []], ids=str)
def test_planes_of_one_matrix_or_of_a_range_are_not_copied(index):
    planes = np.arange(24).reshape(2, 3, 2, 2)
    found = engines._select(planes, index)
    assert np.shares_memory(found, planes) or found.size == 0
    assert (np.broadcast_to(found, (2, len(index), 2, 2)) == planes[:, index]).all()


def test_results_of_equal_pairs_are_computed_once():
    base = base_for(256, 20)
    planes = np.ones((len(base.moduli), 1, 2, 3))
    result = engines.multiply([(1, planes, planes)], ([0] * 50, [0] * 50), base, Engine("fp64", 53, (256,)))
    assert result.shape == (len(base.moduli), 50, 2, 2)
    assert result.strides[1] == 0
