"""Exact solving by the kernels for CUDA, on devices that are pretended: what no other backend's kernels have."""

import flint
import numpy as np
import pytest

import exactla as xl
from exactla.core import dixon
from exactla.core.conditions import Conditions
from exactla.core.integers import IntegerMatrix
from exactla.core.moduli import ResidueBase
from exactla.core.primes import primes_below
from tests.backends.verbs.test_lifting import assert_lifts, assert_minors, value


@pytest.fixture
def solver(ampere):
    """The backend."""
    return xl.registry.load("cuda")


def lifting(solver, matrix, count=5):
    return solver.lifting(IntegerMatrix(matrix), ResidueBase(primes_below(256, count)))


def random_numbers(rng, shape, bits):
    """Python integers of both signs, of up to so many bits."""
    octets = bits // 8 + 1
    flat = [
        int.from_bytes(rng.bytes(octets), "little", signed=True) >> 8 * octets - bits - 1 for _ in range(np.prod(shape))
    ]
    found = np.empty(len(flat), object)
    found[:] = flat
    return found.reshape(shape)


def assert_solves(a, b):
    with xl.backend("cuda"):
        x = xl.solve(a, b)
    columns = b.reshape(len(b), -1).astype(object)
    assert (a.astype(object) @ x.numerators.reshape(columns.shape) == x.denominator * columns).all()
    assert np.gcd.reduce([x.denominator, *x.numerators.ravel().tolist()]) == 1
    return x


@pytest.mark.parametrize("n", [1, 31, 32, 33, 127, 129, 161])
def test_blocks_and_tiles_of_every_length(solver, rng, n):
    matrix = rng.integers(-(1 << 23), 1 << 23, (n, n))
    found = lifting(solver, matrix, 3)
    over = flint.fmpz_mat(matrix.tolist()).det()
    assert found.determinants == tuple(int(over) % p for p in primes_below(256, 3))
    assert_lifts(found, matrix, rng.integers(-(1 << 30), 1 << 30, (n, 2)), 2)


@pytest.mark.parametrize("count", [2, 4, 9, 29, 53])
def test_digits_of_every_length(solver, rng, count):
    matrix = rng.integers(-(1 << 40), 1 << 40, (6, 6))
    assert_lifts(lifting(solver, matrix, count), matrix, rng.integers(-9, 10, (6, 9)), 3)


@pytest.mark.parametrize("bits", [30, 31, 32, 60, 64, 65, 1000, 10000])
def test_entries_on_both_sides_of_a_word(solver, rng, bits):
    """Narrow residuals of 32-bit and of 64-bit entries, and residuals of many words."""
    matrix = random_numbers(rng, (5, 5), bits)
    matrix[0, 0], matrix[1, 1] = (1 << bits) - 1, -(1 << bits) + 1
    narrow = matrix.astype(np.int64) if bits < 63 else matrix
    found = lifting(solver, narrow)
    assert_lifts(found, matrix, random_numbers(rng, (5, 2), bits), 3)
    assert_lifts(found, matrix, np.full((5, 1), -(1 << 62), np.int64), 3)


@pytest.mark.parametrize(("name", "value"), [("SUM_BYTES", 1 << 14), ("TABLE_BYTES", 1 << 10), ("DEPTH", 16)])
def test_sums_that_are_cut(solver, rng, monkeypatch, ampere, name, value):
    """Few entries, few octets, and few steps at a time make the same numbers."""
    matrix, right = rng.integers(-99, 100, (20, 20)), rng.integers(-99, 100, (20, 7))
    expansion = lifting(solver, matrix).expand(right, np.ones(140, np.int64))
    for steps in (3, 5, 1):
        expansion.lift(steps)
    modulus = expansion._system.base.product**8
    weights = [int.from_bytes(rng.bytes(40), "little") % modulus for _ in range(8)]
    expected = expansion.multiply(weights, modulus)
    monkeypatch.setattr(ampere.numbers, name, value)
    ampere.gpu.products.clear()
    found = expansion.multiply(weights, modulus)
    assert len(ampere.gpu.products) > 1
    assert found.bits == expected.bits
    assert found.integers() == expected.integers()


@pytest.mark.parametrize("digit", [0x7F7F7F7F7F7F7F7F, -0x7F80808080808080, -1, 0])
@pytest.mark.parametrize("octet", ["80", "7f", "00", "ff"])
@pytest.mark.parametrize("more", [0, 1])
def test_sums_at_their_bound(solver, ampere, digit, octet, more):
    """Octets as large as they can be, in one product of octets and in one and a step more."""
    words, count = 2, ampere.numbers.DEPTH // 8 + more
    memory = solver._cuda.upload(np.full((count, 3, 1), digit, np.int64))
    digits = ampere.numbers.Digits(memory, count, 3, words)
    modulus = (1 << 90) - 3
    weight = int(octet * 11, 16) % modulus
    found = ampere.numbers.multiply(solver._cuda, solver._units, digits, [weight] * count, modulus)
    assert all((number - count * weight * digit) % modulus == 0 for number in found.integers())


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_balanced_octets(rng, ampere, count):
    integers = [int.from_bytes(rng.bytes(count), "little", signed=True) * 49 // 50 for _ in range(20)]
    found = ampere.numbers.balanced(integers, count)
    assert [sum(int(octet) << 8 * i for i, octet in enumerate(row)) for row in found] == integers


@pytest.mark.parametrize("columns", [0, 1, 2, 8, 9, 20])
def test_solutions(solver, rng, columns):
    a, b = rng.integers(-(1 << 23), 1 << 23, (17, 17)), rng.integers(-(1 << 23), 1 << 23, (17, columns))
    x = assert_solves(a, b)
    assert x.shape == (17, columns)
    with xl.backend("numpy"):
        assert bool(xl.solve(a, b) == x)


def test_a_planted_solution_is_found_early(solver, rng, ampere):
    a = rng.integers(-(1 << 23), 1 << 23, (40, 40))
    planted = rng.integers(-5, 6, 40)
    ampere.gpu.launches.clear()
    assert assert_solves(a, a @ planted).numerators.tolist() == planted.tolist()
    assert sum(launch.kernel == "xl_system_digits" for launch in ampere.gpu.launches) <= 4


def test_primes_that_divide_the_determinant_are_left_out(solver, rng):
    primes = primes_below(256, 29)
    a = np.diag([int(np.prod(primes[:3])), primes[7], 1, 5] + [1] * 16)
    a[0, 1:] = rng.integers(-9, 10, 19)
    found = dixon.find_lifting(solver, IntegerMatrix(a), Conditions())
    assert set(primes) - set(found.base.moduli) == {*primes[:3], primes[7]}
    assert_solves(a, rng.integers(-9, 10, 20))


@pytest.mark.parametrize("rank", [0, 1, 31, 60])
@pytest.mark.parametrize("shape", [(33, 33), (70, 35), (40, 130)])
def test_minors_with_columns_without_pivots(solver, rng, ampere, shape, rank):
    """Of every block some columns depend on those before them."""
    matrix = rng.integers(-99, 100, (shape[0], rank)) @ rng.integers(-99, 100, (rank, shape[1]))
    matrix[:, 1::3] = 2 * matrix[:, :-1:3]
    matrix[:, 5] = 0
    ampere.gpu.launches.clear()
    assert_minors(solver, matrix, [251, 3, 101])
    assert any(launch.kernel == "xl_system_panel" for launch in ampere.gpu.launches)


def test_minors_of_long_entries_and_of_long_matrices(solver, rng, ampere):
    matrix = random_numbers(rng, (35, 34), 200)
    matrix[:, 3] = matrix[:, 0] - matrix[:, 2]
    assert_minors(solver, matrix, [251, 241])
    ampere.gpu.launches.clear()
    assert_minors(solver, rng.integers(-9, 10, (3, 90)), [251])
    assert_minors(solver, rng.integers(-9, 10, (33, 33)), [4194301])
    assert not ampere.gpu.launches


def test_ranks_that_small_primes_do_not_show(solver, rng, ampere):
    """All primes of a batch divide an entry of the diagonal: a larger one has to decide."""
    a = np.diag([1] * 20).astype(object)
    a[7, 7] = int(np.prod(np.array(primes_below(256, 29), object)))
    a[:7, 7:] = rng.integers(-9, 10, (7, 13))
    a[:, 3] = a[:, 0] + a[:, 2]
    with xl.backend("cuda"):
        assert xl.rank(a) == 19
        basis = xl.nullspace(a)
    assert basis.numerators.ravel().tolist() == [-1, 0, -1, 1] + [0] * 16
    assert any(launch.kernel == "xl_system_panel" for launch in ampere.gpu.launches)


def test_a_singular_matrix_is_proven_to_be_one(solver, rng):
    a = rng.integers(-9, 10, (30, 29)) @ rng.integers(-9, 10, (29, 30))
    with xl.backend("cuda"):
        assert xl.solve(a, np.ones(30, np.int64), singular="none") is None


@pytest.mark.parametrize("kernel", ["xl_system_update", "xl_system_digits", "xl_system_reduce"])
def test_an_interrupt_leaves_the_library_usable(solver, rng, monkeypatch, ampere, kernel):
    a, b = rng.integers(-(1 << 20), 1 << 20, (40, 40)), rng.integers(-99, 100, 40)
    plain = ampere.driver.kernel

    def interrupted(text, name, *rest):
        if name == kernel:
            raise KeyboardInterrupt
        return plain(text, name, *rest)

    with monkeypatch.context() as patch, xl.backend("cuda"):
        patch.setattr(ampere.driver, "kernel", interrupted)
        with pytest.raises(KeyboardInterrupt):
            xl.solve(a, b)
    assert_solves(a, b)


def test_long_work_waits_now_and_then(solver, rng, monkeypatch, ampere):
    """Whoever interrupts has what was launched since to wait for."""
    waits = []
    plain = ampere.device.CudaDevice.download_cells
    monkeypatch.setattr(ampere.inverse, "INTERRUPTIBLE", 1)

    def wait(self, *rest):
        waits.append(rest)
        return plain(self, *rest)

    monkeypatch.setattr(ampere.device.CudaDevice, "download_cells", wait)
    matrix = rng.integers(-9, 10, (100, 100))
    assert_lifts(lifting(solver, matrix, 2), matrix, np.ones((100, 1), np.int64), 1)
    assert len(waits) == 4  # between four blocks, and in the end


def test_the_device_of_the_inverse_is_the_one_that_works(solver, rng, ampere):
    import cupy

    a = rng.integers(-99, 100, (20, 20))
    with cupy.cuda.Device(1), xl.backend("cuda"):
        factors = xl.factor(a)
    used = set()
    plain = ampere.device.CudaDevice.allocate

    def allocate(self, size):
        used.add(self.number)
        return plain(self, size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ampere.device.CudaDevice, "allocate", allocate)
        found = factors.solve(np.ones(20, np.int64))
    assert used == {1}
    assert bool(found == xl.solve(a, np.ones(20, np.int64)))


def test_a_wrong_table_is_noticed(solver, rng, monkeypatch, ampere):
    """The negative control: one word of P / p is off by one."""
    right = ampere.tables.cofactors

    def wrong(base):
        table = right(base).copy()
        table[1, 0] += 1
        return table

    a, b = rng.integers(-(1 << 20), 1 << 20, (24, 24)), rng.integers(-99, 100, (24, 1))
    monkeypatch.setattr(ampere.tables, "cofactors", wrong)
    digits, _ = lifting(solver, a).lift(b, 1)
    monkeypatch.undo()
    expected, _ = lifting(solver, a).lift(b, 1)
    assert any(value(x) != value(y) for x, y in zip(digits[0, 0], expected[0, 0], strict=True))
