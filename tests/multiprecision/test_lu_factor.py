"""`lu_factor` beside its definition in Python's integers, on every backend."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

import exactla as xl
from tests import interrupts, lu_oracle


def fractions(array):
    return array.to_fractions().tolist()


def assert_defined(matrix, rows, precision):
    expected = lu_oracle.factor(rows, precision)
    found = xl.lu_factor(matrix, precision=precision)
    one = 1 << precision
    assert found.perm.tolist() == expected.perm
    assert fractions(found.L) == [[Fraction(x, one) for x in row] for row in expected.lower]
    assert fractions(found.U) == [[Fraction(x, one) for x in row] for row in expected.upper]
    assert found.row_exponents.tolist() == expected.row_exponents
    assert found.column_exponents.tolist() == expected.column_exponents
    return found


@pytest.mark.parametrize(("size", "precision"), [(1, 2), (3, 53), (12, 212), (35, 400)])
def test_floats_and_their_mparray(backend, rng, size, precision):
    matrix = rng.standard_normal((size, size)) * 2.0 ** rng.integers(-40, 40, (size, size))
    rows = [[Fraction(x) for x in row] for row in matrix.tolist()]
    with xl.backend(backend):
        assert_defined(matrix, rows, precision)
        assert_defined(xl.MPArray.from_float(matrix), rows, precision)


def test_rank_deficient(backend):
    n = 14
    rows = [[Fraction(i + 1, 3) * (j + 2) + Fraction(j * j, 7) * i for j in range(n)] for i in range(n)]
    with pytest.raises(lu_oracle.PivotIsZero) as expected:
        lu_oracle.factor(rows, 300)
    with xl.backend(backend), pytest.raises(xl.PrecisionError, match=f"column {expected.value.column} rounds to 0"):
        xl.lu_factor(rows, precision=300)


@pytest.mark.parametrize("name", ["lotkin", "pascal", "rational"])
def test_structured(backend, name):
    n = 14
    made = {
        "lotkin": lambda i, j: Fraction(1, i + j + 1) if i else Fraction(1),
        "pascal": lambda i, j: Fraction(_binomial(i + j, i)),
        "rational": lambda i, j: Fraction(3 * i - j * j + 1, 7 + i + 2 * j),
    }[name]
    rows = [[made(i, j) for j in range(n)] for i in range(n)]
    with xl.backend(backend):
        assert_defined(rows, rows, 300)


def _binomial(n, k):
    found = 1
    for i in range(k):
        found = found * (n - i) // (i + 1)
    return found


@pytest.mark.parametrize("columns", [None, 1, 5])
def test_solutions_are_close(backend, rng, columns):
    n, precision = 20, 250
    matrix = rng.integers(-99, 99, (n, n))
    right = rng.integers(-99, 99, n if columns is None else (n, columns))
    with xl.backend(backend):
        factors = xl.lu_factor(matrix, precision=precision)
        found = factors.solve(right)
        assert found.shape == right.shape
        assert (xl.lu_solve(factors, right) == found).all()
        exact = np.array(xl.solve(matrix, right).tolist(), object)
    error = max(abs(x - y) for x, y in zip(found.to_fractions().flat, exact.flat, strict=True))
    assert error < Fraction(1, 1 << (precision - 40))


def _system(rng, n, kind):
    if kind == "rationals":
        rows = [[Fraction(3 * i - j * j + 1, 7 + i + 2 * j) for j in range(n)] for i in range(n)]
        return rows, [[Fraction(i, 3), Fraction(1, i + 1)] for i in range(n)]
    matrix, right = rng.standard_normal((n, n)) * 2.0 ** rng.integers(-40, 40, (n, n)), rng.standard_normal((n, 2))
    return (matrix, right) if kind == "floats" else (xl.MPArray.from_float(matrix), xl.MPArray.from_float(right))


def _exactly(array):
    rows = array if isinstance(array, list) else array.tolist()
    return [[Fraction(x) for x in row] for row in rows]


@pytest.mark.parametrize("kind", ["floats", "rationals", "mparray"])
def test_refinement_is_the_defined_one(backend, rng, kind):
    n, precision = 13, 90
    matrix, given = _system(rng, n, kind)
    rows, right = (_exactly(array) for array in (matrix, given))
    expected = lu_oracle.factor(rows, precision)
    with xl.backend(backend):
        factors = xl.lu_factor(matrix, precision=precision)
        for steps in (0, 1, 3):
            found = factors.solve(given, refine=steps).to_fractions()
            for c in range(2):
                column = [row[c] for row in right]
                assert found[:, c].tolist() == lu_oracle.refined(expected, rows, column, steps)


def test_a_right_hand_side_of_zeros(backend):
    with xl.backend(backend):
        factors = xl.lu_factor([[Fraction(1, 8), 3], [1, Fraction(1, 32)]], precision=80)
        found = factors.solve([[0, 1], [0, 2]])
        assert found[:, 0].tolist() == [0, 0]
        assert abs(found.exponent) < 200
        assert (found[:, 1] == factors.solve([1, 2])).all()


def test_refinement_adds_digits(backend):
    n, precision = 20, 250
    rows = [[Fraction(1, i + j + 1) if i else Fraction(1) for j in range(n)] for i in range(n)]
    x = [Fraction(i + 1) for i in range(n)]
    right = [sum((a * y for a, y in zip(row, x, strict=True)), Fraction(0)) for row in rows]
    with xl.backend(backend):
        factors = xl.lu_factor(rows, precision=precision)
        bits = [_correct_bits(factors.solve(right, refine=steps).to_fractions(), x) for steps in range(4)]
        assert factors.solve(np.zeros(n), refine=2).tolist() == [0] * n
        with pytest.raises(ValueError, match="number of steps, got -1"):
            factors.solve(right, refine=-1)
    gains = np.diff(bits)
    assert (gains > precision - factors.bits_lost - 40).all()


def _correct_bits(values, x):
    error = max(abs(v - y) for v, y in zip(values, x, strict=True)) / max(x)
    return error.denominator.bit_length() - error.numerator.bit_length()


def test_determinants_and_inverses(backend, rng):
    matrix = [[2, 1, 0], [1, 3, 1], [0, 1, 4]]
    with xl.backend(backend):
        factors = xl.lu_factor(matrix, precision=200)
        assert abs(factors.det().item() - xl.det(matrix)) < Fraction(1, 1 << 180)
        inverse = factors.inv().to_fractions()
        exact = np.array(xl.inv(matrix).tolist(), object)
    assert max(abs(x - y) for x, y in zip(inverse.flat, exact.flat, strict=True)) < Fraction(1, 1 << 190)


def test_threads_and_engines_cannot_be_seen(backend, rng):
    matrix = rng.standard_normal((50, 50))
    with xl.backend(backend):
        expected = xl.lu_factor(matrix, precision=180)
        for threads in (1, 2, 5):
            with xl.threads(threads):
                found = xl.lu_factor(matrix, precision=180)
            assert xl.digest(found.L, found.U, found.perm) == xl.digest(expected.L, expected.U, expected.perm)


def test_threads_cannot_be_seen_over_several_blocks(backend, rng):
    matrix, right = rng.standard_normal((140, 140)), rng.standard_normal((140, 30))
    digests = set()
    with xl.backend(backend):
        for threads in (1, 2):
            with xl.threads(threads):
                found = xl.lu_factor(matrix, precision=250)
                digests.add(xl.digest(found.L, found.U, found.perm, found.solve(right, refine=1)))
    assert len(digests) == 1


def test_control_c_stops_a_factorisation_within_a_second(backend):
    interrupts.assert_stops(backend, "lu", 200)


def test_factors_print_in_a_line(backend):
    with xl.backend(backend):
        factors = xl.lu_factor([[3, 1], [1, 7]], precision=64)
    assert repr(factors) == "LU(2 x 2, 64 bits after the point, about 0 lost)"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_solve_as_the_factors_do(backend, rng, again):
    matrix, right = rng.standard_normal((5, 5)), rng.standard_normal((5, 2))
    with xl.backend(backend):
        factors = xl.lu_factor(matrix, precision=150)
    found = again(factors)
    assert (found.solve(right, refine=1) == factors.solve(right, refine=1)).all()
    assert found.info.backend == factors.info.backend


def test_no_rows(backend):
    with xl.backend(backend):
        factors = xl.lu_factor(np.zeros((0, 0)), precision=100)
        assert factors.L.shape == factors.U.shape == (0, 0)
        assert factors.solve(np.zeros(0)).shape == (0,)
        assert factors.det().item() == 1


def test_right_sides_of_powers_of_two_far_from_1(backend):
    """Such powers of two are no numbers that fit the memory."""
    with xl.backend(backend):
        factors = xl.lu_factor([[Fraction(1, 3), 1], [2, 5]], precision=80)
        right = xl.MPArray.from_float([3.0, 0.7])
        for steps in (0, 2):
            found = factors.solve(right.scaled(10**15), refine=steps)
            assert (found.scaled(-(10**15)) == factors.solve(right, refine=steps)).all()


def test_faults(backend):
    with xl.backend(backend):
        with pytest.raises(TypeError, match=r"A\[0, 0\] is a str; exact numbers are integers, rationals and floats"):
            xl.lu_factor([["1"]], precision=100)
        for exponent in (-(1 << 63), 1 << 61):
            with pytest.raises(ValueError, match=r"exponents up to 2\*\*60"):
                xl.lu_factor(xl.MPArray.from_float([[1, 2], [3, 4]]).scaled(exponent), precision=10)
        with pytest.raises(xl.SingularMatrixError, match="column 1 is 0"):
            xl.lu_factor([[1, 0], [1, 0]], precision=10)
        with pytest.raises(xl.PrecisionError, match="column 1 rounds to 0 at 10 bits") as lost:
            xl.lu_factor([[1, 1], [1, 1 + Fraction(1, 1 << 30)]], precision=10)
        more = lost.value.more_bits
        assert more > 0
        with pytest.raises(ValueError, match="must be square"):
            xl.lu_factor([[1, 2]], precision=10)
        with pytest.raises(ValueError, match="2 bits or more, got 1"):
            xl.lu_factor([[1]], precision=1)
        with pytest.raises(ValueError, match="equally many rows"):
            xl.lu_factor([[1]], precision=10).solve([1, 2])
        with pytest.raises(xl.WorkspaceError), xl.workspace_limit(10):
            xl.lu_factor([[1]], precision=10)
        with pytest.raises(TypeError, match="what lu_factor returns"):
            xl.lu_solve([[1]], [1])


def test_progress(backend, rng):
    seen = []
    with xl.backend(backend):
        xl.lu_factor(rng.standard_normal((70, 70)), precision=64, progress=lambda *args: seen.append(args))
    assert seen[-1] == (70, 70)
    assert seen == sorted(seen)
