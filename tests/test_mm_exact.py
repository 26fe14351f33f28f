"""Exact integer products: every width with its extremes, int64 where it fits and Python integers where it does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactla as xl
from tests.operands import big_integers, floats, integers, operand
from tests.oracle import FORMATS, INTEGER_NAMES

MOST = 2**63 - 1


def objects(array):
    """Python integers in place of every entry."""
    return np.array([int(v) for v in np.asarray(array).flat], dtype=object).reshape(np.shape(array))


def assert_integers(result, a, b):
    """Fail unless `result` is a @ b, in int64 exactly if every entry fits."""
    expected = np.asarray(np.matmul(objects(a), objects(b)), dtype=object)
    fits = all(-MOST - 1 <= v <= MOST for v in expected.flat)
    result = np.asarray(result)
    assert result.dtype == (np.int64 if fits else object)
    assert result.shape == expected.shape
    if not fits:
        assert {type(v) for v in result.flat} == {int}
    assert result.tolist() == expected.tolist()


@pytest.mark.parametrize("left", INTEGER_NAMES)
@pytest.mark.parametrize("right", [*INTEGER_NAMES, "int"])
def test_every_pair_of_types(rng, engine, left, right):
    a, b = integers(rng, left, (4, 6)), operand(rng, right, (6, 3))
    assert_integers(xl.mm_exact(a, b), a, b)
    assert_integers(xl.mm_exact(b.T, a.T), b.T, a.T)


@pytest.mark.parametrize("name", INTEGER_NAMES)
def test_nothing_but_the_extremes(name):
    extremes = [False, True] if name == "bool" else [np.iinfo(name).min, np.iinfo(name).max]
    for x in extremes:
        for y in extremes:
            a, b = np.full((2, 37), x, dtype=name), np.full((37, 3), y, dtype=name)
            assert_integers(xl.mm_exact(a, b), a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([[2**62]], [[2]]),
        ([[2**62]], [[-2]]),
        ([[2**31, 1]], [[2**32 - 1], [2**31 - 1]]),
        ([[2**31, 1]], [[2**32 - 1], [2**31]]),
        ([[-(2**63)]], [[1]]),
        ([[-(2**63)]], [[-1]]),
        ([[-(2**63), -1]], [[1], [1]]),
        ([[2**63, -1]], [[1], [1]]),
        ([[2**64 - 1, 2**63]], [[1], [-1]]),
    ],
)
def test_at_the_edge_of_int64(engine, a, b):
    a, b = np.array(a, dtype=object), np.array(b, dtype=object)
    assert_integers(xl.mm_exact(a, b), a, b)


def test_one_entry_too_large_makes_all_of_them_python_integers():
    a = np.array([[2**62, 1], [3, 4]])
    result = xl.mm_exact(a, np.array([[2, 1], [0, 0]]))
    assert result.dtype == object
    assert result.tolist() == [[2**63, 2**62], [6, 3]]


@pytest.mark.parametrize("bits", [1, 62, 63, 64, 127, 500, 6000])
def test_python_integers_of_any_size(rng, backend, bits):
    a, b = big_integers(rng, (3, 5), bits), big_integers(rng, (5, 4), bits)
    assert_integers(xl.mm_exact(a, b), a, b)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(data=st.data(), shape=st.tuples(*[st.integers(0, 4)] * 3), bits=st.integers(0, 300))
def test_drawn_integers(data, shape, bits):
    rows, depth, columns = shape
    numbers = st.one_of(st.integers(-(2**bits), 2**bits), st.sampled_from([0, 1, -1, MOST, -MOST - 1, 2**64 - 1]))
    a, b = (
        np.array(data.draw(st.lists(numbers, min_size=m * n, max_size=m * n)), dtype=object).reshape(m, n)
        for m, n in ((rows, depth), (depth, columns))
    )
    assert_integers(xl.mm_exact(a, b), a, b)


@pytest.mark.parametrize("depth", [0, 1, 1000, (1 << 17) + 1, 300_000])
@pytest.mark.parametrize("name", ["int8", "uint64", "bool"])
def test_any_inner_dimension(rng, depth, name):
    a, b = integers(rng, name, (2, depth)), integers(rng, name, (depth, 1))
    assert_integers(xl.mm_exact(a, b), a, b)


SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((4, 2, 3), (3, 2)),
    ((2, 1, 2, 3), (5, 3, 1)),
    ((0, 3), (3, 2)),
]
SHAPES += [((2, 0), (0, 3)), ((0,), (0,)), ((0, 2, 3), (3, 1)), ((3, 2), (2, 0))]


@pytest.mark.parametrize("name", ["int32", "uint64", "int"])
@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_vectors_stacks_and_broadcasting(rng, backend, left, right, name):
    a, b = operand(rng, name, left), operand(rng, name, right)
    assert_integers(xl.mm_exact(a, b), a, b)


def test_strides_and_other_integers(rng):
    gmpy2 = pytest.importorskip("gmpy2")
    a = integers(rng, "int64", (6, 8))
    for x in (a[::-1, ::2], np.asfortranarray(a)[:, ::-2], np.broadcast_to(a[:1], (5, 8))):
        assert_integers(xl.mm_exact(x, x.T), x, x.T)
    mixed = np.array([[gmpy2.mpz(5) ** 80, np.int16(-2), True]], dtype=object)
    assert_integers(xl.mm_exact(mixed, mixed.T), mixed, mixed.T)
    swapped = a.astype(a.dtype.newbyteorder("S"))
    assert_integers(xl.mm_exact(swapped, a.T), a, a.T)
    assert_integers(xl.mm_exact([[1, 2**80]], [[3], [4]]), [[1, 2**80]], [[3], [4]])


def test_known_powers():
    # Fibonacci numbers from powers of a matrix: int64 wraps at the 93rd
    m, power = np.array([[1, 1], [1, 0]], dtype=object), np.array([[1, 0], [0, 1]], dtype=object)
    previous, current = 0, 1
    for _ in range(200):
        power = xl.mm_exact(power, m)
        previous, current = current, previous + current
        assert int(power[0, 1]) == previous
    assert previous == 280571172992510140037611932413038677189525


@pytest.mark.parametrize("name", INTEGER_NAMES)
def test_every_library(rng, library, name):
    if name not in library.dtypes:
        pytest.skip(f"{library.name} has no {name}")
    a, b = integers(rng, name, (3, 4)), integers(rng, name, (4, 2))
    excess = 8 * a.itemsize - 30  # bits to drop so that sums fit int64
    if excess > 0:
        a, b = a >> a.dtype.type(excess), b >> b.dtype.type(excess)
    result = xl.mm_exact(library.make(a), library.make(b))
    assert library.device(result) == library.device(library.make(a))
    assert_integers(library.host(result), a, b)


def test_a_library_without_wider_integers_says_so(library):
    if library.name == "numpy":
        pytest.skip("NumPy has Python integers")
    a = library.make(np.array([[2**62]]))
    with pytest.raises(OverflowError, match="68 bits"):
        xl.mm_exact(a, library.make(np.array([[16]])))


def test_info(rng):
    a = integers(rng, "int16", (3, 3))
    result, info = xl.mm_exact(a, a, return_info=True)
    assert_integers(result, a, a)
    assert info.lossless
    assert info.capacity >= info.bits


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "complex128"])
def test_floats_are_refused(rng, dtype):
    a = np.zeros((2, 2), dtype=FORMATS[dtype].dtype if dtype in FORMATS else dtype)
    for args in ((a, np.eye(2, dtype=int)), (np.eye(2, dtype=int), a)):
        with pytest.raises(TypeError, match="mm_exact takes integers"):
            xl.mm_exact(*args)
    with pytest.raises(TypeError, match="float64"):
        xl.mm_exact(floats(rng, FORMATS["float64"], (2, 2), 3), [[1], [2]])


def test_chunks_do_not_show(rng, backend):
    a, b = integers(rng, "int64", (20, 50)), integers(rng, "int64", (50, 15))
    expected = xl.mm_exact(a, b)
    with xl.workspace_limit(1), pytest.raises(xl.WorkspaceError) as caught:
        xl.mm_exact(a, b)
    for limit in (caught.value.needed + extra for extra in (50_000, 200_000, 1_000_000)):
        with xl.workspace_limit(limit):
            result, info = xl.mm_exact(a, b, return_info=True)
        assert info.workspace_bytes <= limit
        assert result.tolist() == expected.tolist()


def test_a_wrong_entry_is_noticed(rng):
    a = integers(rng, "int64", (3, 3))
    result = xl.mm_exact(a, a)
    assert_integers(result, a, a)
    result = result.copy()
    result[1, 2] += 1
    with pytest.raises(AssertionError):
        assert_integers(result, a, a)
