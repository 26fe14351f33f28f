"""Exact solving against python-flint, which shares no code with it, and by the identity A N = D b."""

import math
import pickle
import re
from fractions import Fraction

import flint
import numpy as np
import pytest

import exactla as xl
from tests import interrupts


def random_integers(rng, shape, bits):
    """Integers below 2**bits in magnitude, int64 where they fit."""
    if bits < 63:
        return rng.integers(-(1 << bits), 1 << bits, shape)
    words = -(-bits // 32)
    found = np.zeros(shape, object)
    for _ in range(words):
        found = (found << 32) + rng.integers(0, 1 << 32, shape).astype(object)
    return (found >> 32 * words - bits) * rng.choice(np.array([-1, 1], object), shape)


def ints(array):
    return [[int(x) for x in row] for row in array]


def flint_solution(a, b):
    """Nested Fractions."""
    solution = flint.fmpq_mat(flint.fmpz_mat(ints(a))).solve(flint.fmpq_mat(flint.fmpz_mat(ints(b))))
    return [[Fraction(int(x.p), int(x.q)) for x in row] for row in solution.tolist()]


def assert_solves(a, x, b):
    """A N = D b and gcd(D, N) = 1."""
    left = np.asarray(a).astype(object) @ x.numerators
    assert (left == np.asarray(b).astype(object) * np.array(x.denominator, object)).all()
    assert x.denominator > 0
    assert math.gcd(x.denominator, *map(int, x.numerators.flat)) == 1


def assert_is_that_of_flint(a, b):
    if b.shape[1] == 0:
        x = xl.solve(a, b, singular="none")
        assert x is None or (x.shape, x.denominator) == (b.shape, 1)
    elif flint.fmpz_mat(ints(a)).det() == 0:
        assert xl.solve(a, b, singular="none") is None
    else:
        x = xl.solve(a, b)
        assert x.tolist() == flint_solution(a, b)
        assert_solves(a, x, b)


@pytest.mark.parametrize(("bits", "columns"), [(4, 1), (24, 1), (24, 3), (62, 2), (63, 1), (64, 1), (130, 2), (500, 1)])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 41, 64])
def test_random_systems_are_those_of_flint(backend, rng, n, bits, columns):
    assert_is_that_of_flint(random_integers(rng, (n, n), bits), random_integers(rng, (n, columns), bits))


@pytest.mark.parametrize(
    ("n", "bits", "columns"), [(100, 24, 20), (129, 40, 1), (200, 24, 1), (200, 4, 2), (65, 300, 5)]
)
def test_larger_random_systems_are_those_of_flint(backend, rng, n, bits, columns):
    a, b = random_integers(rng, (n, n), bits), random_integers(rng, (n, columns), bits)
    assert xl.solve(a, b).tolist() == flint_solution(a, b)


@pytest.mark.parametrize("n", [8, 33, 64, 128, 129])
@pytest.mark.parametrize(("bits", "kind"), [(24, np.int64), (24, object), (90, object)])
def test_planted_small_solutions_are_found(backend, rng, n, bits, kind):
    a = random_integers(rng, (n, n), bits).astype(kind)
    planted = rng.integers(-9, 10, (n, 2)).astype(kind)
    x = xl.solve(a, a @ planted)
    assert x.denominator == 1
    assert (x.numerators == planted).all()


@pytest.mark.parametrize("n", [17, 64, 128])
def test_matrices_of_pascal_and_hilbert(backend, rng, n):
    """Long entries, and solutions that are short for them."""
    right = rng.integers(-99, 99, (n, 1))
    pascal = [[math.comb(i + j, i) for j in range(n)] for i in range(n)]
    common = math.lcm(*range(1, 2 * n))
    hilbert = [[common // (i + j + 1) for j in range(n)] for i in range(n)]
    for matrix in (pascal, hilbert):
        a = np.array(matrix, object)
        assert_solves(a, xl.solve(a, right), right)


@pytest.mark.parametrize("seed", range(16))
def test_systems_of_all_shapes_are_those_of_flint(backend, seed):
    """1 to 200 unknowns, entries of 4 to 500 bits and right-hand sides of others, small ones more often than large."""
    rng = np.random.default_rng(seed)
    n = round(200 ** rng.random())
    bits, right_bits = (round(4 * (500 / 4) ** rng.random()) for _ in range(2))
    columns = int(rng.integers(0, 21 if n * bits < 4000 else 3))
    assert_is_that_of_flint(random_integers(rng, (n, n), bits), random_integers(rng, (n, columns), right_bits))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "bits", "columns"), [(1, 500, 20), (200, 4, 20), (200, 62, 1), (60, 500, 2)])
def test_the_largest_systems_are_those_of_flint(backend, rng, n, bits, columns):
    assert_is_that_of_flint(random_integers(rng, (n, n), bits), random_integers(rng, (n, columns), bits))


def test_a_large_system_satisfies_its_equations(backend, rng):
    a, b = random_integers(rng, (300, 300), 30), random_integers(rng, (300,), 30)
    assert_solves(a, xl.solve(a, b), b)


@pytest.mark.parametrize("columns", [0, 1, 4])
def test_the_shape_is_that_of_the_right_side(backend, rng, columns):
    a = random_integers(rng, (50, 50), 10)
    assert xl.solve(a, np.ones((50, columns), int)).shape == (50, columns)
    assert xl.solve(a, np.ones(50, int)).shape == (50,)


@pytest.mark.parametrize("n", [5, 50])
def test_a_spoilt_answer_would_be_noticed(backend, rng, n):
    a, b = random_integers(rng, (n, n), 20), random_integers(rng, (n,), 20)
    x = xl.solve(a, b)
    x.numerators[n // 2] += 1
    with pytest.raises(AssertionError):
        assert_solves(a, x, b)


@pytest.mark.parametrize("n", [1, 2, 5, 30, 61])
def test_determinants_are_those_of_flint(backend, rng, n):
    for bits in (1, 5, 24, 80):
        a = random_integers(rng, (n, n), bits)
        assert xl.det(a) == int(flint.fmpz_mat(ints(a)).det())


@pytest.mark.parametrize("shape", [(1, 1), (4, 7), (9, 5), (60, 45), (45, 60), (70, 70)])
@pytest.mark.parametrize("rank", [0, 1, 3, 40])
def test_ranks_and_null_spaces_of_planted_products(backend, rng, shape, rank):
    rank = min(rank, *shape)
    a = random_integers(rng, (shape[0], rank), 6) @ random_integers(rng, (rank, shape[1]), 6)
    found = int(flint.fmpz_mat(shape[0], shape[1], [int(x) for x in a.flat]).rank())
    assert xl.rank(a) == found
    basis = xl.nullspace(a)
    assert basis.shape == (shape[1], shape[1] - found)
    assert not (a.astype(object) @ basis.numerators).any()
    # reduced: an identity in the free unknowns
    free = [max(i for i in range(shape[1]) if basis.numerators[i, k]) for k in range(basis.shape[1])]
    assert free == sorted(set(free))
    assert basis[free].tolist() == np.eye(len(free), dtype=int).tolist()


@pytest.mark.parametrize("n", [1, 6, 45])
def test_an_inverse_is_one(backend, rng, n):
    a = random_integers(rng, (n, n), 12)
    found = xl.inv(a)
    assert_solves(a, found, np.eye(n, dtype=int))


@pytest.mark.parametrize("n", [3, 48])
def test_a_factorization_solves_again_and_again(backend, rng, n):
    a = random_integers(rng, (n, n), 24)
    factors = xl.factor(a)
    for columns in (1, 2, 5):
        b = random_integers(rng, (n, columns), 24)
        assert factors.solve(b) == xl.solve(a, b)
    assert factors.inv() == xl.inv(a)
    assert factors.det() == xl.det(a)


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (60, 50), (50, 60)])
def test_general_systems(backend, rng, shape):
    a = random_integers(rng, (shape[0], 2), 5) @ random_integers(rng, (2, shape[1]), 5)
    t = random_integers(rng, (shape[1], 2), 5)
    particular, basis = xl.solve_general(a, a @ t)
    assert_solves(a, particular, a @ t)
    assert basis.shape[1] == shape[1] - xl.rank(a)
    with pytest.raises(xl.InconsistentSystemError) as fault:
        xl.solve_general(a, random_integers(rng, (shape[0], 2), 5))
    y = np.array(fault.value.certificate, object)
    assert not (y @ a).any()


def test_a_certificate_refutes_the_right_side(backend, rng):
    a = random_integers(rng, (60, 45), 8)
    b = a @ random_integers(rng, (45,), 8)
    assert_solves(a, xl.solve(a, b), b)
    b[17] += 1
    with pytest.raises(xl.InconsistentSystemError) as fault:
        xl.solve(a, b)
    y = np.array(fault.value.certificate, object)
    assert not (y @ a).any()
    assert y @ b != 0
    assert math.gcd(*fault.value.certificate) == 1


@pytest.mark.parametrize("n", [4, 44])
def test_rational_and_dyadic_systems(backend, rng, n):
    a = rng.normal(size=(n, n))
    b = rng.normal(size=n)
    exact = [[Fraction(x) for x in row] for row in a]
    x = xl.solve(a, b)
    assert xl.solve(exact, [Fraction(y) for y in b]) == x
    thirds = [[y / 3 for y in row] for row in exact]
    assert xl.solve(thirds, b).tolist() == [3 * y for y in x.tolist()]
    residual = [sum(y * z for y, z in zip(row, x, strict=True)) - Fraction(r) for row, r in zip(exact, b, strict=True)]
    assert not any(residual)


@pytest.mark.parametrize("dtype", [None, "float32", "float64"])
def test_enclosures_of_solutions_are_tightest(backend, rng, dtype):
    a, b = rng.normal(size=(9, 9)), rng.normal(size=(9, 2))
    lo, hi = xl.solve_enclose(a, b, dtype=dtype)
    x = xl.solve(a, b)
    assert lo.dtype == (dtype or "float64")
    assert (xl.width_ulps(lo, hi) <= 1).all()
    for i, j in np.ndindex(9, 2):
        assert Fraction(float(lo[i, j])) <= x[i, j] <= Fraction(float(hi[i, j]))


def test_progress_is_reported(rng):
    calls = []
    a = random_integers(rng, (128, 128), 24)
    xl.solve(a, a[:, 0], progress=lambda done, total: calls.append((done, total)))
    assert calls
    assert all(0 < done <= total for done, total in calls)
    assert calls == sorted(calls)


def test_an_interrupt_leaves_the_library_usable(rng):
    a = random_integers(rng, (128, 128), 24)

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        xl.solve(a, a[:, 0], progress=interrupt)
    assert xl.solve(a, a[:, 0]).numerators.tolist() == [1] + [0] * 127


def test_shapes_and_choices_are_checked():
    with pytest.raises(ValueError, match=r"\(2, 2\).*\(3,\)"):
        xl.solve(np.eye(2), np.ones(3))
    with pytest.raises(ValueError, match="axes"):
        xl.solve(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="square"):
        xl.det(np.ones((2, 3)))
    with pytest.raises(ValueError, match="singular='maybe'"):
        xl.solve([[1]], [1], singular="maybe")
    with pytest.raises(TypeError, match="progress"):
        xl.solve([[1]], [1], progress=3)  # type: ignore[call-overload]
    with pytest.raises(xl.SingularMatrixError, match="solve_general"):
        xl.solve([[1, 1]], [1])


@pytest.mark.slow
def test_control_c_stops_a_solution_within_a_second(backend):
    interrupts.assert_stops(backend, "solve", 400)


def test_a_factorization_shows_its_shape_and_backend():
    assert re.fullmatch(
        r"<exactla.Factorization: matrix of shape \(2, 2\), backend \w+>", repr(xl.factor([[1, 2], [3, 4]]))
    )


def test_a_factorization_is_not_pickled():
    with pytest.raises(TypeError, match="pickle the matrix"):
        pickle.dumps(xl.factor([[1, 2], [3, 4]]))
    assert len({xl.factor(np.eye(2)), xl.factor(np.eye(2))}) == 2
    assert xl.factor(np.eye(2)) != xl.factor(np.eye(2))


NUMBERS = [[3, -1, 2], [1 << 70, 5, 0], [1, 7, -4]]


@pytest.mark.parametrize("matrix", [NUMBERS, [[0.1, 0.5, 2.0**-80], [3.0, 1.0, 2.0], [1e20, 7.0, 0.0]]])
def test_multiple_precision_is_taken_as_the_rational_numbers_that_it_holds(backend, matrix):
    fractions = [[Fraction(x) for x in row] for row in matrix]
    right = [Fraction(1, 8), Fraction(0), Fraction(-3)]
    a, b = xl.MPArray.from_fractions(fractions), xl.MPArray.from_fractions(right)
    expected = xl.solve(fractions, right)
    assert xl.solve(a, b) == xl.solve(a, right) == xl.solve(fractions, b) == xl.factor(a).solve(b) == expected
    assert xl.solve(a, b.reshape(3, 1))[:, 0] == expected
    assert xl.solve(np.array(matrix, object), b) == expected
    assert xl.solve_general(a, b).particular == expected
    assert xl.inv(a) == xl.inv(fractions)
    assert xl.det(a) == xl.factor(a).det() == xl.det(fractions)
    assert (xl.rank(a), xl.rank(a[:2])) == (3, 2)
    assert xl.nullspace(a[:2]) == xl.nullspace(fractions[:2])
    lo, hi = xl.solve_enclose(a, b)
    assert (lo.dtype, lo.tolist(), hi.tolist()) == (np.float64, *(x.tolist() for x in expected.enclose()))


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 2)])
def test_empty_multiple_precision(rows, columns):
    a = xl.MPArray.from_float(np.zeros((rows, columns)))
    assert xl.rank(a) == 0
    assert xl.nullspace(a).shape == (columns, columns)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: xl.solve(x, [1, 2]), r"an entry of A as a rational number would take 1,000,000,000,00. bits"),
        (lambda x: xl.solve([[1, 2], [3, 4]], x), "an entry of b as a rational number would take"),
        (lambda x: xl.rank(x.scaled(-2 * 10**12)), "an entry of A as a rational number would take"),
        (lambda x: xl.det(x.scaled(2**27 - 10**12)), "the determinant would take"),
    ],
)
def test_exponents_too_far_from_1_are_refused(call, message):
    with pytest.raises(OverflowError, match=message):
        call(xl.MPArray.from_float([[1.0, 2], [3, 4]]).scaled(10**12))


def test_axes_of_multiple_precision_are_checked():
    vector = xl.MPArray.from_float([1.0, 2])
    with pytest.raises(ValueError, match=r"A has shape \(2,\); it must have 2 axes"):
        xl.solve(vector, [1, 2])
    with pytest.raises(ValueError, match="equally many rows"):
        xl.solve([[1]], vector)
