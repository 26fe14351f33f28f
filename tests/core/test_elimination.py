"""Fraction-free elimination against python-flint."""

import flint
import pytest

from exactla.core.elimination import determinant, echelon, parity


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (5, 3), (6, 6), (12, 9)])
def test_reduced_forms_are_those_of_flint(rng, shape):
    for top in (2, 3, 1000):
        matrix = rng.integers(-top, top, shape).tolist()
        form = echelon(matrix, shape[1])
        expected, _, rank = flint.fmpz_mat(matrix).rref()
        assert form.rank == rank
        scaled = flint.fmpq_mat(flint.fmpz_mat([[int(x) for x in row] for row in form.rows])) / int(form.denominator)
        assert scaled == flint.fmpq_mat(expected) / int(expected[0, form.pivots[0]] if rank else 1)
        minor = flint.fmpz_mat([[matrix[i][j] for j in form.pivots] for i in form.order[:rank]])
        assert minor.det() == int(form.denominator)


def test_determinants(rng):
    assert determinant([]) == 1
    assert determinant([[0]]) == 0
    for n in (1, 2, 3, 8):
        matrix = rng.integers(-3, 4, (n, n)).tolist()
        assert determinant(matrix) == int(flint.fmpz_mat(matrix).det())


def test_parity():
    assert [parity(p) for p in ([], [0], [1, 0], [1, 2, 0], [0, 3, 2, 1], [1, 0, 3, 2])] == [1, 1, -1, 1, -1, 1]
