"""`lu_solve` to proven digits beside exact solutions, and its certificate beside exact errors."""

from fractions import Fraction

import numpy as np
import pytest

import exactla as xl
from exactla import factoring
from exactla.multiprecision import certified
from exactla.multiprecision.numbers import Numbers


def lotkin(n):
    return [[Fraction(1, i + j + 1) if i else Fraction(1) for j in range(n)] for i in range(n)]


def columns(values):
    found = np.array(values.tolist(), object)
    return found.reshape(len(found), -1).T


def assert_certified(matrix, right, digits, exact=None):
    found = xl.lu_solve(matrix, right, precision="auto", digits=digits)
    exact = xl.solve(matrix, right) if exact is None else exact
    assert found.shape == np.shape(right)
    for ours, theirs in zip(columns(found), columns(exact), strict=True):
        error = max((abs(x - y) for x, y in zip(ours, theirs, strict=True)), default=0)
        assert error <= Fraction(max(map(abs, theirs), default=0)) / 10**digits
    return found


@pytest.mark.parametrize("digits", [1, 16, 100])
@pytest.mark.parametrize("width", [None, 3])
def test_random_systems(backend, rng, digits, width):
    matrix = rng.standard_normal((15, 15)) * 2.0 ** rng.integers(-20, 20, (15, 15))
    right = rng.standard_normal(15 if width is None else (15, width))
    with xl.backend(backend):
        found = assert_certified(matrix, right, digits)
        given = xl.MPArray.from_float(matrix), xl.MPArray.from_float(right)
        assert (xl.lu_solve(*given, precision="auto", digits=digits) == found).all()


def test_the_precision_is_raised_where_it_has_to_be(backend, monkeypatch):
    tried = []

    def recorded(matrix, bits, report):
        tried.append(bits)
        return factoring.factored(matrix, bits, report)

    monkeypatch.setattr(certified, "factored", recorded)
    with xl.backend(backend):
        assert_certified(lotkin(40), [Fraction(1, i + 1) for i in range(40)], 5)
    assert len(tried) > 1
    assert tried == sorted(set(tried))


def test_scales_of_rows_and_columns(backend, rng):
    rows, by = rng.integers(-200, 200, (12, 1)), rng.integers(-200, 200, 12)
    matrix = rng.integers(-99, 99, (12, 12)) * 2.0**rows * 2.0**by
    with xl.backend(backend):
        assert_certified(matrix, rng.standard_normal((12, 2)) * 2.0**rows * [1, 1e-200], 30)


def test_zeros_and_nothing(backend):
    with xl.backend(backend):
        assert assert_certified([[2, 1], [1, 1]], [0, 0], 16).tolist() == [0, 0]
        assert assert_certified([[2, 1], [1, 1]], [[0, 2], [0, 1]], 16).tolist() == [[0, 1], [0, 0]]
        assert xl.lu_solve(np.zeros((0, 0)), np.zeros((0, 2)), precision="auto").shape == (0, 2)


def test_singular_matrices_are_refused(backend):
    rows = [[Fraction(i + 1, 3) * (j + 2) + Fraction(j * j, 7) * i for j in range(9)] for i in range(9)]
    with xl.backend(backend):
        with pytest.raises(xl.SingularMatrixError, match="its rank is 2 of 9"):
            xl.lu_solve(rows, [1] * 9, precision="auto")
        with pytest.raises(xl.SingularMatrixError, match="its rank is 1 of 2"):
            xl.lu_solve([[0.1, 0.2], [0.1, 0.2]], [1, 1], precision="auto")


def test_nearly_singular_matrices_are_solved(backend):
    matrix = [[1, 1], [1, 1 + Fraction(1, 1 << 900)]]
    with xl.backend(backend):
        assert_certified(matrix, [1, 2], 16)


def test_backends_give_the_same_digits(backend, rng):
    matrix, right = rng.standard_normal((25, 25)), rng.standard_normal(25)
    with xl.backend("numpy"):
        expected = xl.digest(xl.lu_solve(matrix, right, precision="auto"))
    with xl.backend(backend):
        assert xl.digest(xl.lu_solve(matrix, right, precision="auto")) == expected


def weighted_norm(rows, weights):
    return max(sum(abs(x) * Fraction(2) ** int(w) for x, w in zip(row, weights, strict=True)) for row in rows.tolist())


@pytest.mark.parametrize("kind", ["random", "lotkin", "near"])
@pytest.mark.parametrize("digits", [1, None, 40])
def test_factors_have_an_inverse_of_so_many_digits(backend, rng, kind, digits):
    matrix = {
        "random": lambda: rng.standard_normal((12, 12)) * 2.0 ** rng.integers(-30, 30, (12, 1)),
        "lotkin": lambda: lotkin(15),
        "near": lambda: [[1, 1], [1, 1 + Fraction(1, 1 << 300)]],
    }[kind]()
    with xl.backend(backend):
        factors = xl.lu_factor(matrix, precision="auto", digits=digits)
        found = factors.inv().to_fractions()
        assert xl.digest(factors.L) == xl.digest(xl.lu_factor(matrix, precision=factors.precision).L)
    exact = np.array(xl.inv(matrix).tolist(), object)
    weights = factors.row_exponents
    assert weighted_norm(found - exact, weights) <= weighted_norm(exact, weights) / 10 ** (digits or 16)


def test_factors_of_a_precision_that_is_found(monkeypatch):
    tried = []

    def recorded(matrix, bits, report):
        tried.append(bits)
        return factoring.factored(matrix, bits, report)

    monkeypatch.setattr(certified, "factored", recorded)
    assert xl.lu_factor(lotkin(40), precision="auto", digits=5).precision == tried[-1]
    assert len(tried) > 1
    assert xl.lu_factor(np.zeros((0, 0)), precision="auto").L.shape == (0, 0)
    with pytest.raises(xl.SingularMatrixError, match="its rank is 1 of 2"):
        xl.lu_factor([[0.1, 0.2], [0.1, 0.2]], precision="auto")
    with pytest.raises(ValueError, match="or 'auto', got 'best'"):
        xl.lu_factor([[1]], precision="best")
    with pytest.raises(TypeError, match="digits go with"):
        xl.lu_factor([[1]], precision=9, digits=2)
    with pytest.raises(ValueError, match="digits are from 1 to"):
        xl.lu_factor([[1]], precision="auto", digits=0)


@pytest.mark.parametrize("spoiled", [0, Fraction(1, 1 << 30), Fraction(1, 8), 3])
def test_bounds_hold_for_any_inverse_and_any_solution(backend, rng, monkeypatch, spoiled):
    """The certificate must hold whatever it is made from: here an inverse and a solution that are wrong."""
    size = 8
    matrix, right = rng.integers(-9, 9, (size, size)) + 20 * np.eye(size, dtype=int), rng.integers(-9, 9, size)
    exact = columns(xl.solve(matrix, right))[0]
    with xl.backend(backend):
        factors = xl.lu_factor(matrix, precision=100)
        inverse = factors.inv()
        noise = xl.MPArray.from_float(rng.standard_normal((size, size)) / 64) * spoiled
        monkeypatch.setattr(xl.LU, "inv", lambda self: inverse + noise)
        certificate = certified.Certificate.of(factors)
        assert (certificate.contraction < 1) == (spoiled != 3)
        if spoiled == 3:
            return
        for step in (0, 1e-20, 1.0):
            x = factors.solve(right) + rng.standard_normal(size) * step
            residual = factors._residual(Numbers.read(right, "b", (1,)), x.reshape(size, 1))
            (bound,) = certificate.bounds(residual)
            error = max(abs(v - e) for v, e in zip(x.tolist(), exact, strict=True))
            assert error <= bound < 1000 * error + Fraction(1, 1 << 80)


def test_a_wrong_first_solution_is_refined(backend, rng, monkeypatch):
    matrix, right = rng.integers(-9, 9, (6, 6)) + 20 * np.eye(6, dtype=int), rng.integers(-9, 9, 6)
    substituted = factoring.LU._substituted
    monkeypatch.setattr(factoring.LU, "_substituted", lambda self, b: substituted(self, b) * Fraction(9, 8))
    with xl.backend(backend):
        assert_certified(matrix, right, 40)


@pytest.mark.parametrize(("of_a", "of_b"), [(10**15, 0), (-(10**15), 0), (0, 10**15), (7, -(10**15)), (-90, 1 << 70)])
def test_powers_of_two_far_from_1(rng, of_a, of_b):
    """Such powers of two are no numbers that fit the memory."""
    ill = xl.gallery.lotkin(4, precision=200)
    precision = xl.lu_factor(ill, precision="auto").precision
    assert xl.lu_factor(ill.scaled(of_a), precision="auto").precision == precision
    matrix, right = (xl.MPArray.from_float(rng.standard_normal(shape)) for shape in ((4, 4), (4, 2)))
    plain = xl.lu_solve(matrix, right, precision="auto", digits=20)
    found = xl.lu_solve(matrix.scaled(of_a), right.scaled(of_b), precision="auto", digits=20)
    assert (found.scaled(of_a - of_b) == plain).all()
    if not of_b:
        found = xl.lu_solve(matrix.scaled(of_a), right.to_float(), precision="auto", digits=20)
        assert (found.scaled(of_a) == plain).all()


def test_a_precision_of_bits_is_that_of_the_factors(rng):
    matrix, right = rng.standard_normal((5, 5)), rng.standard_normal(5)
    found = xl.lu_solve(matrix, right, precision=90)
    assert (found == xl.lu_factor(matrix, precision=90).solve(right)).all()


def test_faults():
    factors = xl.lu_factor([[1]], precision=20)
    with pytest.raises(TypeError, match="factors have their precision"):
        xl.lu_solve(factors, [1], precision=30)
    with pytest.raises(TypeError, match="what lu_factor returns, or a matrix and a precision; got list"):
        xl.lu_solve([[1]], [1])
    with pytest.raises(TypeError, match="digits go with"):
        xl.lu_solve([[1]], [1], precision=30, digits=3)
    with pytest.raises(ValueError, match="got 'much'"):
        xl.lu_solve([[1]], [1], precision="much")
    with pytest.raises(ValueError, match="from 1 to 70,000, got 0"):
        xl.lu_solve([[1]], [1], precision="auto", digits=0)
    with pytest.raises(ValueError, match="equally many rows"):
        xl.lu_solve([[1]], [1, 2], precision="auto")
    with pytest.raises(ValueError, match="must be square"):
        xl.lu_solve([[1, 2]], [1], precision="auto")


def test_the_largest_precision_is_the_end(monkeypatch):
    monkeypatch.setattr(certified, "MOST_PRECISION", 400)
    with pytest.raises(xl.PrecisionError, match="16 digits are not certified at 400 bits"):
        xl.lu_solve([[1, 1], [1, 1 + Fraction(1, 1 << 900)]], [1, 2], precision="auto")
