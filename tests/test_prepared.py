"""Prepared operands: the same bytes as from the arrays, with what they are made of made once."""

import threading
from collections import Counter

import numpy as np
import pytest

import exactla as xl
from exactla import registry
from tests.operands import floats, operand
from tests.oracle import FORMATS, assert_complex, assert_enclosure, assert_product, same_bytes

FLOAT64 = FORMATS["float64"]


@pytest.fixture
def calls(monkeypatch, backend):
    """How many sides were scanned and how many operands converted, by the backend at hand."""
    counted: Counter[str] = Counter()
    device = registry.load(backend)
    scan, residues = device.scan, device.residues

    def counting_scan(sides):
        counted["scan"] += len(sides)
        return scan(sides)

    def counting_residues(*args):
        counted["residues"] += 1
        return residues(*args)

    monkeypatch.setattr(device, "scan", counting_scan)
    monkeypatch.setattr(device, "residues", counting_residues)
    return counted


def counts(calls):
    """Sides scanned and operands converted since the last look."""
    found = calls["scan"], calls["residues"]
    calls.clear()
    return found


def leaves(result):
    return list(result) if isinstance(result, tuple) else [result]


def same(found, expected):
    for x, y in zip(leaves(found), leaves(expected), strict=True):
        same_bytes(x, y)


# ---- the same bytes ------------------------------------------------------------------------------------------------

FORMS = {
    "mm": xl.mm,
    "mm downwards": lambda a, b: xl.mm(a, b, rounding="down"),
    "mm in another format": lambda a, b: xl.mm(a, b, dtype=np.float32),
    "enclose": xl.mm_enclose,
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("spread", [0, 12, 300])
def test_on_either_side(rng, backend, name, spread):
    form = FORMS[name]
    a, b = floats(rng, FLOAT64, (5, 7), spread), floats(rng, FLOAT64, (7, 4), spread)
    expected = form(a, b)
    left, right = xl.prepare(a), xl.prepare(b)
    for _ in range(2):
        same(form(left, b), expected)
        same(form(a, right), expected)
        same(form(left, right), expected)


def test_against_the_oracle(rng, backend):
    a = floats(rng, FLOAT64, (6, 9), 30)
    left = xl.prepare(a)
    for spread in (0, 30, 2, 900, 30):
        b = floats(rng, FLOAT64, (9, 5), spread)
        assert_enclosure(xl.mm_enclose(left, b), a, b, FLOAT64)
        assert_product(xl.mm(left, b), a, b, FLOAT64)


def test_transposed_forms(rng, backend):
    a, b = floats(rng, FLOAT64, (5, 7), 9), floats(rng, FLOAT64, (4, 7), 9)
    left, right = xl.prepare(a), xl.prepare(b)
    for _ in range(2):
        same(xl.mm_nt(left, right), xl.mm_nt(a, b))
        same(xl.mm_enclose_nt(a, right), xl.mm_enclose_nt(a, b))
        # one operand in both places of a product
        same(xl.mm_nt(left, left), xl.mm_nt(a, a))
        same(xl.mm(left, xl.prepare(a.T)), xl.mm(a, a.T))
    square = floats(rng, FLOAT64, (5, 5), 9)
    both = xl.prepare(square)
    same(xl.mm(both, both), xl.mm(square, square))
    same(xl.mm(both, both), xl.mm(square, square))


def test_gram_products(rng, backend, calls):
    a = floats(rng, FLOAT64, (5, 7), 9)
    prepared = xl.prepare(a)
    expected = xl.mm_enclose(a)
    counts(calls)
    same(xl.mm_enclose(prepared), expected)
    assert counts(calls) == (1, 1)
    same(xl.mm_enclose(prepared), expected)
    assert counts(calls) == (0, 0)


@pytest.mark.parametrize(
    "shapes", [((7,), (7, 4)), ((5, 7), (7,)), ((7,), (7,)), ((3, 5, 7), (7, 2)), ((5, 7), (3, 7, 2))]
)
def test_vectors_and_stacks(rng, backend, shapes):
    a, b = (floats(rng, FLOAT64, shape, 9) for shape in shapes)
    left, right = xl.prepare(a), xl.prepare(b)
    for x, y in ((left, b), (a, right), (left, right), (left, right)):
        same(np.asarray(xl.mm(x, y)), np.asarray(xl.mm(a, b)))


def test_batches(rng, backend, calls):
    a, b = floats(rng, FLOAT64, (3, 4, 5), 9), floats(rng, FLOAT64, (3, 5, 2), 9)
    expected = xl.bmm(a, b), xl.bmm_enclose(a, b)
    left, right = xl.prepare(a), xl.prepare(b)
    counts(calls)
    same(xl.bmm(left, right), expected[0])
    assert counts(calls) == (2, 2)
    same(xl.bmm_enclose(left, right), expected[1])
    assert counts(calls) == (0, 0)
    same(xl.mm(left, right), expected[0])


@pytest.mark.parametrize("real", ["neither", "a", "b"])
def test_complex_operands(rng, backend, real):
    a, b = (
        floats(rng, FLOAT64, s, 9) + (0 if real == n else 1j * floats(rng, FLOAT64, s, 9))
        for n, s in (("a", (4, 6)), ("b", (6, 3)))
    )
    left, right = xl.prepare(a), xl.prepare(b)
    for x, y in ((left, b), (a, right), (left, right), (left, right)):
        assert_complex(xl.mm(x, y), a, b, np.complex128, "nearest")
    same(xl.mm_enclose(left, right), xl.mm_enclose(a, b))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e4m3fn", "float32", "int8", "uint64", "bool", "int"])
def test_types(rng, backend, name):
    a, b = operand(rng, name, (4, 5), 4), floats(rng, FORMATS["float32"], (5, 3), 4)
    same(xl.mm(xl.prepare(a), b, dtype=np.float64), xl.mm(a, b, dtype=np.float64))
    same(xl.mm(b.T, xl.prepare(a.T)), xl.mm(b.T, a.T))


def test_views_and_lists(rng, backend):
    a, b = floats(rng, FLOAT64, (9, 12), 9), floats(rng, FLOAT64, (6, 3), 9)
    for view in (a[::-1, ::2], a.T[:, 2:8], np.broadcast_to(a[0, :6], (4, 6))):
        same(xl.mm(xl.prepare(view), b), xl.mm(view, b))
    assert xl.mm(xl.prepare([[1, 2], [3, 4]]), [[1.0], [0.5]]).tolist() == [[2.0], [5.0]]


@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0)])
def test_nothing(backend, shape):
    rows, depth, columns = shape
    a, b = xl.prepare(np.ones((rows, depth))), xl.prepare(np.ones((depth, columns)))
    for _ in range(2):
        assert xl.mm(a, b).tolist() == np.zeros((rows, columns)).tolist()


def test_other_calls_take_the_array(rng, backend):
    n = xl.prepare(rng.integers(-9, 10, (3, 4)))
    assert (xl.mm_exact(n, n.array.T) == n.array @ n.array.T).all()
    m, r = floats(rng, FLOAT64, (3, 4), 3), abs(floats(rng, FLOAT64, (3, 4), 3))
    found = xl.mm_interval(xl.prepare(m), xl.prepare(r), m.T, xl.prepare(r.T), method="hull")
    same(found, xl.mm_interval(m, r, m.T, r.T, method="hull"))


# ---- what is made once ---------------------------------------------------------------------------------------------


def test_later_products_neither_scan_nor_convert(rng, backend, calls):
    a = floats(rng, FLOAT64, (5, 7), 5)
    left = xl.prepare(a)
    assert counts(calls) == (0, 0)
    partners = [np.ldexp(rng.uniform(1, 2, (7, n)), rng.integers(0, 3, (7, n))) for n in (3, 3, 8, 1)]
    xl.mm(left, partners[0])
    assert counts(calls) == (2, 2)
    for b in partners:
        xl.mm(left, b)
        assert counts(calls) == (1, 1)  # the partner's
    right = xl.prepare(partners[0])
    xl.mm(left, right)
    assert counts(calls) == (1, 1)
    xl.mm_enclose(left, right)
    assert counts(calls) == (0, 0)


def test_arrays_as_they_are_are_made_again(rng, backend, calls):
    # negative control of the counts
    a, b = floats(rng, FLOAT64, (5, 7), 5), floats(rng, FLOAT64, (7, 5), 5)
    for _ in range(2):
        xl.mm(a, b, return_info=True)
        assert counts(calls) == (2, 2)


def test_sides_are_kept_apart(rng, backend, calls):
    a = floats(rng, FLOAT64, (6, 6), 5)
    prepared = xl.prepare(a)
    xl.mm(prepared, a)
    assert counts(calls) == (2, 2)
    xl.mm(a, prepared)
    assert counts(calls) == (2, 2)
    xl.mm(prepared, prepared)
    assert counts(calls) == (0, 0)


def test_partners_of_a_little_more_or_less_bits_share_a_conversion(rng, backend, calls):
    left = xl.prepare(np.full((3, 4), 1.0))
    found = set()
    for bits in range(1, 53):
        b = np.full((4, 2), 1.0)
        b[0] = 2.0**-bits
        xl.mm(left, b)
        found.add(counts(calls))
    assert found == {(2, 2), (1, 1), (1, 2)}
    # all of these once more: nothing is converted twice
    for bits in range(1, 53):
        b = np.full((4, 2), 1.0)
        b[0] = 2.0**-bits
        xl.mm(left, b)
    assert counts(calls) == (52, 52)


def test_partners_of_other_exponents(rng, backend, calls):
    a = floats(rng, FLOAT64, (5, 7), 5)
    left = xl.prepare(a)
    for spread in (5, 200, 900, 5, 200, 900):
        b = floats(rng, FLOAT64, (7, 4), spread, zeros=0)
        same(xl.mm(left, b), xl.mm(a, b))


def test_the_account_of_a_second_product(rng, backend):
    a, b = floats(rng, FLOAT64, (5, 7), 5), floats(rng, FLOAT64, (7, 4), 5)
    left, right = xl.prepare(a), xl.prepare(b)
    first, second = (xl.mm(left, right, return_info=True)[1] for _ in range(2))
    assert (first.host_syncs, second.host_syncs) == (2, 1)
    assert first.bits == second.bits
    assert first.bits % 16 == 0
    assert first.bits - 16 < xl.mm(a, b, return_info=True)[1].bits <= first.bits


def test_backends_and_engines_are_kept_apart(rng):
    a, b = floats(rng, FLOAT64, (5, 7), 5), floats(rng, FLOAT64, (7, 4), 5)
    left, right = xl.prepare(a), xl.prepare(b)
    expected = xl.mm(a, b)
    for _ in range(2):
        for status in xl.backends():
            for engine in status.engines if status.available else ():
                with xl.backend(status.name), xl.engine(engine):
                    same(xl.mm(left, right), expected)


@pytest.mark.parametrize("factor", [1, 4, 20])
def test_the_workspace_limit(rng, backend, factor):
    a, b = floats(rng, FLOAT64, (9, 30), 5), floats(rng, FLOAT64, (30, 8), 5)
    left, right = xl.prepare(a), xl.prepare(b)
    expected = xl.mm(a, b)
    with xl.workspace_limit(1), pytest.raises(xl.WorkspaceError) as caught:
        xl.mm(left, right)
    for _ in range(2):
        with xl.workspace_limit(caught.value.needed * factor):
            found, info = xl.mm(left, right, return_info=True)
        same(found, expected)
        assert info.workspace_bytes <= caught.value.needed * factor
        same(xl.mm(left, right), expected)


def test_progress(rng, backend):
    seen = []
    a = xl.prepare(floats(rng, FLOAT64, (5, 7), 5))
    with xl.progress(lambda *state: seen.append(state)):
        xl.mm(a, a.array.T)
        xl.mm(a, a.array.T)
    assert seen == [(1, 1), (1, 1)]


def test_threads_share_a_prepared_operand(rng, backend):
    a = floats(rng, FLOAT64, (20, 30), 9)
    partners = [floats(rng, FLOAT64, (30, 10), spread) for spread in (0, 9, 60, 300)]
    expected = [xl.mm(a, b) for b in partners]
    left = xl.prepare(a)
    found: dict[int, list[np.ndarray]] = {}

    def work(i):
        found[i] = [xl.mm(left, partners[(i + j) % 4]) for j in range(4)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        for j in range(4):
            same(found[i][j], expected[(i + j) % 4])


# ---- special entries -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_entries_are_refused_each_time(rng, backend, special):
    a, b = floats(rng, FLOAT64, (3, 4), 5), floats(rng, FLOAT64, (4, 3), 5)
    a[1, 2] = special
    prepared = xl.prepare(a)
    for _ in range(2):
        with pytest.raises(xl.NonFiniteError, match=r"^a\[1, 2\]"):
            xl.mm(prepared, b)
    with pytest.raises(xl.NonFiniteError, match=r"^b\[1, 2\]"):
        xl.mm(b.T[:, :3], prepared)
    with pytest.raises(xl.NonFiniteError, match=r"^bt\[1, 2\]"):
        xl.mm_nt(b.T, prepared)


def test_special_entries_are_propagated(rng, backend):
    a, b = floats(rng, FLOAT64, (5, 4), 5), floats(rng, FLOAT64, (4, 6), 5)
    a[1, 2], a[3, 0], b[2, 2], b[0, 4] = np.inf, np.nan, -np.inf, 0
    expected = xl.mm_enclose(a, b, nonfinite="propagate")
    left, right = xl.prepare(a), xl.prepare(b)
    for x, y in ((left, b), (a, right), (left, right), (left, right)):
        same(xl.mm_enclose(x, y, nonfinite="propagate"), expected)
    ones = np.ones((4, 1))
    same(xl.mm(left, ones, nonfinite="propagate"), xl.mm(a, ones, nonfinite="propagate"))


# ---- the object ----------------------------------------------------------------------------------------------------


def test_the_array_is_kept_as_it_is(rng):
    a = floats(rng, FLOAT64, (3, 4), 5)
    prepared = xl.prepare(a)
    assert prepared.array is a
    assert prepared.shape == (3, 4)
    assert isinstance(prepared, xl.Prepared)
    with pytest.raises(AttributeError):
        prepared.shape = (4, 3)  # type: ignore[misc]


def test_how_it_looks():
    assert repr(xl.prepare(np.ones((2, 3)))) == "<exactla.Prepared: numpy array of shape (2, 3), float64>"
    assert (
        repr(xl.prepare(np.ones(2, np.complex64)))
        == "<exactla.Prepared: numpy array of shape (2,), complex of float32>"
    )
    assert str(xl.prepare([[1, 2]])) == "<exactla.Prepared: numpy array of shape (1, 2), int64>"


def test_two_of_one_array_are_not_equal():
    a = np.eye(2)
    first, second = xl.prepare(a), xl.prepare(a)
    assert first == first
    assert first != second
    assert len({first, second, first}) == 2


def test_what_is_no_operand_is_refused():
    for bad in ("text", None, np.array(["a"]), np.ones(2, np.longdouble), [[1, "a"]], np.array([1.5], object)):
        with pytest.raises(TypeError, match=r"^a"):
            xl.prepare(bad)
    with pytest.raises(ValueError, match="lists"):
        xl.prepare([[1, 2], [3]])
    with pytest.raises(TypeError, match=r"^a is a .*Prepared"):
        xl.prepare(xl.prepare(np.eye(2)))


def test_shapes_are_checked_in_the_product():
    a = xl.prepare(np.ones((2, 3)))
    with pytest.raises(ValueError, match="inner dimensions"):
        xl.mm(a, a)
    with pytest.raises(ValueError, match="Gram"):
        xl.mm_enclose(xl.prepare(np.ones(3)))
    with pytest.raises(ValueError, match="batched"):
        xl.bmm(a, a)


# ---- array libraries -----------------------------------------------------------------------------------------------


def test_arrays_of_every_library(rng, library):
    name = "float32" if "float64" not in library.dtypes else "float64"
    fmt = FORMATS[name]
    a, b = floats(rng, fmt, (4, 5), 5), floats(rng, fmt, (5, 3), 5)
    left, right = library.make(a), library.make(b)
    expected = xl.mm(a, b)
    prepared = xl.prepare(left)
    assert prepared.array is left
    assert library.name in repr(prepared)
    for _ in range(2):
        found = xl.mm(prepared, right)
        assert isinstance(found, library.kind())
        same(library.host(found), expected)
        same(library.host(xl.mm(left, xl.prepare(right))), expected)


def test_libraries_are_not_mixed(library):
    if library.name == "numpy":
        return
    with pytest.raises(TypeError, match=rf"numpy.*{library.name}|{library.name}.*numpy"):
        xl.mm(xl.prepare(library.make(np.ones((2, 2), np.float32))), np.ones((2, 2), np.float32))
