"""The factors of `core.lu` on every backend and engine, beside the definition in Python integers."""

from typing import Any

import numpy as np
import pytest

from exactla import registry
from exactla.core import lu, substitution
from exactla.core.limbs import from_limbs, limbs_needed, to_limbs
from exactla.core.nearest import nearest_quotient


def defined(matrix, precision):
    """(L, U, order) by the definition; (column, value) where a pivot rounds to 0."""
    rows = [list(row) for row in matrix]
    size, columns = len(rows), len(rows[0]) if rows else 0
    lower, upper, order = [[0] * size for _ in rows], [[0] * columns for _ in rows], list(range(size))
    for j in range(size):
        sums = [(rows[i][j] << precision) - sum(lower[i][k] * upper[k][j] for k in range(j)) for i in range(j, size)]
        magnitudes = [abs(s) for s in sums]
        place = magnitudes.index(max(magnitudes))
        held: list[Any] = [rows, lower, order]
        for x in held:
            x[j], x[j + place] = x[j + place], x[j]
        sums[0], sums[place] = sums[place], sums[0]
        pivot = nearest_quotient(sums[0], 1 << precision)
        if pivot == 0:
            return j, sums[0]
        lower[j][j], upper[j][j] = 1 << precision, pivot
        for i in range(j + 1, size):
            lower[i][j] = nearest_quotient(sums[i - j], pivot)
        for c in range(j + 1, columns):
            total = (rows[j][c] << precision) - sum(lower[j][k] * upper[k][c] for k in range(j))
            upper[j][c] = nearest_quotient(total, 1 << precision)
    return lower, upper, order


def as_limbs(matrix):
    integers = np.array(matrix, object).reshape(len(matrix), -1)
    return to_limbs(integers, limbs_needed(integers.flat))


def assert_defined(verbs, engine, matrix, precision):
    expected = defined(matrix, precision)
    if len(expected) == 2:
        with pytest.raises(lu.LostPivot) as lost:
            lu.factorize(verbs, verbs.upload(as_limbs(matrix)), precision, engine)
        assert (lost.value.column, lost.value.value) == expected
        return
    found = lu.factorize(verbs, verbs.upload(as_limbs(matrix)), precision, engine)
    assert from_limbs(verbs.download(found.lower)).tolist() == expected[0]
    assert from_limbs(verbs.download(found.upper)).tolist() == expected[1]
    assert list(found.order) == expected[2]


def engines(backend):
    verbs = registry.load(backend).multiprecision
    return [(verbs, e.name) for e in verbs.engines if e.modulus_limits[-1] >= 1 << 15]


def random_matrix(rng, size, columns, precision):
    return [
        [int(rng.integers(-(1 << 30), 1 << 30)) * (1 << precision) >> 30 for _ in range(columns)] for _ in range(size)
    ]


@pytest.mark.parametrize("block", [1, 3, 32, 64])
@pytest.mark.parametrize(
    ("size", "columns", "precision"), [(1, 1, 2), (2, 5, 64), (7, 7, 200), (40, 43, 300), (67, 67, 130)]
)
def test_blocks_cannot_be_seen(backend, rng, monkeypatch, block, size, columns, precision):
    monkeypatch.setattr(lu, "BLOCK", block)
    matrix = random_matrix(rng, size, columns, precision)
    for verbs, engine in engines(backend):
        assert_defined(verbs, engine, matrix, precision)


def test_ties_take_the_first_row_of_the_order_of_then(backend, rng):
    for _ in range(3):
        matrix = [[int(x) << 64 for x in row] for row in rng.integers(-1, 2, (20, 20))]
        for verbs, engine in engines(backend):
            assert_defined(verbs, engine, matrix, 64)


@pytest.mark.parametrize("precision", [64, 200])
def test_growth_beyond_the_first_moduli(backend, precision):
    size = 140
    matrix = [[(1 if j in (i, size - 1) else -(j < i)) << precision for j in range(size)] for i in range(size)]
    for verbs, engine in engines(backend):
        assert_defined(verbs, engine, matrix, precision)


@pytest.mark.parametrize(
    "matrix", [[[0] * 4] * 4, [[3] * 4] * 4, [[1 << 40, 0], [0, 1]], [[-(1 << 40), 5], [1 << 40, 5]]]
)
def test_lost_pivots(backend, matrix):
    for verbs, engine in engines(backend):
        assert_defined(verbs, engine, matrix, 40)


def test_nothing(backend):
    for verbs, engine in engines(backend):
        found = lu.factorize(verbs, verbs.zeros((0, 0, 1)), 100, engine)
        assert found.order == ()
        assert found.lower.shape[:2] == found.upper.shape[:2] == (0, 0)


@pytest.mark.parametrize("on_host", [1, 20, 128])
@pytest.mark.parametrize("columns", [1, 3, 40])
def test_substitution(backend, rng, monkeypatch, columns, on_host):
    size, precision = 45, 170
    lower, upper, _ = defined(random_matrix(rng, size, size, precision), precision)
    right = random_matrix(rng, size, columns, precision)
    y: list[list[int]] = []
    for i in range(size):
        sums = [(right[i][c] << precision) - sum(lower[i][k] * y[k][c] for k in range(i)) for c in range(columns)]
        y.append([nearest_quotient(s, 1 << precision) for s in sums])
    x: list[list[int]] = [[]] * size
    for i in reversed(range(size)):
        later = range(i + 1, size)
        sums = [(y[i][c] << precision) - sum(upper[i][k] * x[k][c] for k in later) for c in range(columns)]
        x[i] = [nearest_quotient(s, upper[i][i]) for s in sums]
    for verbs, engine in engines(backend):
        monkeypatch.setattr(verbs, "few_unknowns", lambda limbs: on_host)
        sides = [verbs.upload(as_limbs(matrix)) for matrix in (lower, upper, right)]
        found = verbs.download(substitution.solve(verbs, *sides[:2], precision, engine, sides[2]))
        assert from_limbs(found).tolist() == x
