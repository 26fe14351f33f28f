"""`mp_mm` beside Fractions, on every backend and engine."""

from fractions import Fraction

import numpy as np
import pytest

import exactla as xl


def integers(rng, shape, bits):
    entries = [int.from_bytes(rng.bytes(bits // 8 + 1), "little") >> 8 - bits % 8 for _ in range(int(np.prod(shape)))]
    found = np.empty(len(entries), object)
    found[:] = [x if i % 3 else -x for i, x in enumerate(entries)]
    return found.reshape(shape)


def mp(values, exponent=0):
    return xl.MPArray.from_float(values).scaled(exponent) if values.size else xl.MPArray.from_float(values)


def rounded(value, precision):
    dropped = max(value.bit_length() - precision, 0)
    return round(Fraction(value, 1 << dropped)) << dropped


@pytest.mark.parametrize(("m", "k", "n", "bits"), [(1, 1, 1, 30), (5, 9, 4, 64), (17, 33, 20, 700), (3, 130, 2, 3000)])
def test_products(backend, rng, m, k, n, bits):
    a, b = integers(rng, (m, k), bits), integers(rng, (k, n), bits // 2 + 3)
    expected = a.dot(b)
    with xl.backend(backend):
        names = [e.name for e in xl.registry.load(backend).multiprecision.engines if e.modulus_limits[-1] > 1 << 15]
        for name in (None, *names):
            with xl.engine(name):
                found, info = xl.mp_mm(mp(a, -7), mp(b, 3), return_info=True)
            assert name in (None, info.engine)
            assert (found.to_fractions() == np.vectorize(lambda x: Fraction(x, 16), otypes=[object])(expected)).all()
        nearest = xl.mp_mm(mp(a), mp(b), precision=24).to_fractions()
    assert nearest.tolist() == [[rounded(int(x), 24) for x in row] for row in expected]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_components(backend, rng, count):
    def expansions(shape):
        values = rng.integers(1, 1 << 50, shape).astype(object) << 200
        values += rng.integers(1, 1 << 50, shape).astype(object) << 100
        values += rng.integers(1, 1 << 50, shape)
        return xl.MPArray.from_float(values).to_components(count)

    a, b = expansions((7, 12)), expansions((12, 5))
    with xl.backend(backend):
        found = xl.mp_mm(a, b)
        for slices in (0, 1, 2) if has_octets(backend) else (0,):
            with xl.slices(slices):
                if slices == 1 and count > 2:
                    with pytest.raises(xl.EngineLimitError):
                        xl.mp_mm(a, b)
                else:
                    assert np.array_equal(xl.mp_mm(a, b), found)
    left, right = (xl.MPArray.from_components(x).to_fractions() for x in (a, b))
    for i, j in np.ndindex(7, 5):
        rest = sum((x * y for x, y in zip(left[i], right[:, j], strict=True)), Fraction(0))
        for component in found[i, j]:
            assert component == float(rest)
            rest -= Fraction(float(component))


@pytest.mark.parametrize("precision", [None, 60])
def test_components_are_of_the_library_of_the_operands(library, precision):
    if "float64" not in library.dtypes:
        pytest.skip(f"{library.name} has no float64")
    numbers = [[Fraction(1, 3), Fraction(-2, 7), 5], [6, Fraction(1, 10**9), -1]]
    host = xl.MPArray.from_fractions(numbers, 106).to_components(2)
    a, b = library.make(host), library.make(np.ascontiguousarray(host.swapaxes(0, 1)))
    expected = xl.mp_mm(host, host.swapaxes(0, 1), precision)
    for found in (xl.mp_mm(a, b, precision), xl.mp_mm(host.tolist(), b, precision)):
        assert library.device(found) == library.device(a)
        assert np.array_equal(library.host(found), expected)


def has_octets(backend):
    return any(256 in e.modulus_limits for e in xl.registry.load(backend).multiprecision.engines)


@pytest.mark.parametrize("slices", [0, 1, 2, 3])
@pytest.mark.parametrize("bits", [5, 64, 150])
def test_slices_cannot_be_seen(backend, rng, slices, bits):
    a, b = integers(rng, (17, 33), bits), integers(rng, (33, 20), bits + 10)
    a[3], b[:, 4] = (1 << bits) - 1, -(1 << bits)
    a[4] = 0
    with xl.backend(backend), xl.slices(slices):
        if slices and not has_octets(backend):
            with pytest.raises(xl.EngineLimitError):
                xl.mp_mm(mp(a), mp(b))
            return
        found, info = xl.mp_mm(mp(a, -7), mp(b, 7), return_info=True)
        nearest = xl.mp_mm(mp(a), mp(b), precision=24).to_fractions()
    assert info.slices == max(slices, 1)
    assert ("slices" in str(info)) == (slices > 1)
    if slices != 1:
        assert (info.capacity * max(slices, 1) ** 2 / info.moduli < 8) == (slices > 1)
    expected = a.dot(b)
    assert (found.to_fractions() == np.vectorize(Fraction, otypes=[object])(expected)).all()
    assert nearest.tolist() == [[rounded(int(x), 24) for x in row] for row in expected]


def test_slices_of_long_numbers(backend, rng):
    if not has_octets(backend):
        pytest.skip("no moduli of 8 bits")
    a, b = integers(rng, (4, 9), 400), integers(rng, (9, 5), 600)
    with xl.backend(backend):
        with xl.slices(1), pytest.raises(xl.EngineLimitError):
            xl.mp_mm(mp(a), mp(b))
        with xl.slices(5):
            found = xl.mp_mm(mp(a), mp(b))
    assert (found.to_fractions() == np.vectorize(Fraction, otypes=[object])(a.dot(b))).all()


def test_vectors_and_nothing(backend):
    with xl.backend(backend):
        x = xl.MPArray.from_float(np.array([1, 2, 3]))
        assert xl.mp_mm(x, x).item() == 14
        empty = xl.MPArray.from_float(np.zeros((2, 0)))
        assert xl.mp_mm(empty, empty.T).tolist() == [[0, 0], [0, 0]]
        assert xl.mp_mm(empty.T, empty).shape == (0, 0)


def test_blocks_cannot_be_seen(backend, rng):
    a = mp(integers(rng, (40, 30), 500))
    with xl.backend(backend):
        whole = xl.mp_mm(a, a.T)
        for limit in (1 << 29, 700_000):
            try:
                with xl.workspace_limit(limit):
                    found, info = xl.mp_mm(a, a.T, return_info=True)
            except xl.WorkspaceError as error:
                assert error.allowed < error.needed  # noqa: PT017
                continue
            assert (found == whole).all()
            assert info.workspace_bytes <= limit


def test_faults():
    x = xl.MPArray.from_float(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"a has shape \(2, 3\) and b has shape \(2, 3\)"):
        xl.mp_mm(x, x)
    with pytest.raises(TypeError, match="neither an MPArray"):
        xl.mp_mm(x, 2.0)
    with pytest.raises(ValueError, match="2 bits or more, got 0"):
        xl.mp_mm(x, x.T, precision=0)
    for call in (lambda: xl.mp_mm(x, x.T, 10**9), lambda: xl.lu_factor(np.eye(2), precision=10**9)):
        with pytest.raises(ValueError, match="262144 bits at most, got 1000000000"):
            call()
    with pytest.raises(ValueError, match=r"the components of b\[0, 0\] overlap"):
        xl.mp_mm(np.eye(2)[:, :, None] * [1.0, 0.0], np.ones((2, 1, 2)))
