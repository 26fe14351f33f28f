"""Negative controls: an algorithm is spoilt in one small way, and the comparison with the oracle has to notice.

Each comparison passes first on the algorithms as they are.
"""

from dataclasses import replace

import numpy as np
import pytest

import exactla as xl
from exactla.core import contraction, interval, matmul, nonfinite, planning
from tests.oracle import (
    FORMATS,
    INTERVAL_METHODS,
    assert_bits,
    assert_complex,
    assert_enclosure,
    assert_ends,
    propagated,
)
from tests.oracle import exact as exact_values

FLOAT64 = FORMATS["float64"]
RNG = np.random.default_rng(8)
A, B = (np.ldexp(RNG.standard_normal(s), RNG.integers(-30, 30, s)) for s in ((4, 9), (9, 3)))
FULL = np.full((1, 64), float((1 << 53) - 1))
SPECIAL, ZEROS = (
    np.array([[np.inf, 1.0], [1.0, -np.inf], [np.nan, 1.0]]),
    np.array([[0.0, 2.0, -np.inf], [1.0, np.nan, 1.0]]),
)
ENDS = (np.array([[-3.0, -1.0]]), np.array([[5.0, 4.0]])), (np.array([[-1.0], [-7.0]]), np.array([[9.0], [1.0]]))


def product():
    assert_enclosure(xl.mm_enclose(A, B), A, B, FLOAT64)
    with xl.workspace_limit(10_000):
        assert_enclosure(xl.mm_enclose(A, B), A, B, FLOAT64)


def long_product():
    a = np.arange(1.0, 201.0).reshape(1, 200)
    b = 1 / a.T
    whole = xl.mm_enclose(a, b, return_info=True)[1].workspace_bytes
    with xl.workspace_limit(whole - 1):
        assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)


def widest_product():
    # with an account, so that no shortcut is taken
    assert_enclosure(xl.mm_enclose(FULL, FULL.T, return_info=True)[0], FULL, FULL.T, FLOAT64)


def complex_product():
    a, b = A + 1j * A[::-1], B - 2j * B[::-1]
    assert_complex(xl.mm(a, b), a, b, np.complex128, "nearest")


def special_product():
    assert_bits(xl.mm(SPECIAL, ZEROS, nonfinite="propagate"), propagated(SPECIAL, ZEROS, FLOAT64, "nearest"), FLOAT64)


def interval_products():
    for method, oracle in INTERVAL_METHODS.items():
        (a, b), (c, d) = ([exact_values(x) for x in side] for side in ENDS)
        assert_ends(xl.mm_interval_bounds(*ENDS[0], *ENDS[1], method=method), oracle((a, b), (c, d)), FLOAT64)


def one_step_less(true):
    return lambda self, depth: true(self, depth)[:-1] or true(self, depth)


def minus(number):
    return lambda true: lambda *args: true(*args) - number


def without_the_last_term(true):
    return lambda *args: [terms[:-1] or terms for terms in true(*args)]


def signs_turned(true):
    return lambda *args: [tuple((-s, i, j) for s, i, j in terms) for terms in true(*args)]


def exchanged(true):
    return lambda *args: true(*args)[::-1]


def rows_not_moved(true):
    """Exponents of the first rows, for every block."""

    def spoilt(self, block, shift):
        rows = slice(0, block.rows.stop - block.rows.start)
        return true(self, replace(block, rows=rows), shift)

    return spoilt


def always_kept(true):
    """The residues of the block before, whatever the block."""

    def spoilt(self, name, *rest):
        return self._kept[name][1] if name in self._kept else true(self, name, *rest)

    return spoilt


SPOILT = [
    (product, contraction.Contraction, "exponents", rows_not_moved),
    (product, contraction.Contraction, "_residues", always_kept),
    (long_product, planning.Tiling, "depths", one_step_less),
    (widest_product, matmul, "sum_bits", minus(25)),
    (complex_product, matmul, "product_groups", without_the_last_term),
    (complex_product, matmul, "product_groups", signs_turned),
    (complex_product, matmul, "product_groups", exchanged),
    (special_product, nonfinite, "special_groups", without_the_last_term),
    (special_product, nonfinite, "special_groups", exchanged),
    (interval_products, interval, "interval_groups", without_the_last_term),
    (interval_products, interval, "interval_groups", signs_turned),
    (interval_products, interval, "_excess", exchanged),
]


@pytest.mark.parametrize(
    ("compare", "owner", "name", "spoil"), SPOILT, ids=[f"{n}-{s.__name__}-{c.__name__}" for c, _, n, s in SPOILT]
)
def test_a_spoilt_algorithm_is_noticed(monkeypatch, compare, owner, name, spoil):
    with xl.backend("numpy"):
        compare()
        monkeypatch.setattr(owner, name, spoil(getattr(owner, name)))
        with pytest.raises(AssertionError):
            compare()


def test_a_wrong_scale_is_noticed(monkeypatch):
    with xl.backend("numpy"):
        interval_products()
        monkeypatch.setattr(interval, "SCALE_EXPONENT", -1)
        with pytest.raises(AssertionError):
            interval_products()
