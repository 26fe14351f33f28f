"""Products of components that never become limbs: the same as by way of limbs, wherever they are taken."""

from fractions import Fraction

import numpy as np
import pytest

import exactla as xl
from exactla import registry
from exactla.libraries.base import Source
from exactla.multiprecision import component_products, products
from exactla.multiprecision.products import _read

library = pytest.importorskip("exactla_backends.cpu.native.library")
if library.path() is None:
    pytest.skip("this installation has no native library", allow_module_level=True)


def expansions(rng, shape, count, spread=0):
    """Numbers of `count` components, zeros, and shorter ones among them, by powers of two up to 2**spread apart."""
    found = np.zeros((*shape, count))
    top = rng.integers(-spread, spread + 1, shape)
    for i in range(count):
        magnitude = rng.integers(1 << 51, 1 << 52, shape).astype(float)
        found[..., i] = np.ldexp(magnitude * rng.choice([-1.0, 1.0], shape), top - 54 * i)
    found[rng.random(shape) < 0.1, 1:] = 0
    found[rng.random(shape) < 0.1] = 0
    return kept(found)


def kept(numbers):
    """Numbers without what follows a component of 0."""
    return np.where(np.logical_and.accumulate(numbers != 0, axis=-1), numbers, 0.0)


def direct(a, b):
    """The product and its account; None where the general path is taken."""
    with xl.backend("cpu"):
        sides = _read(a, "a"), _read(b, "b")
        assert all(isinstance(x, Source) for x in sides)
        found = component_products.product(*sides)
        return None if found is None else (found[0].view(np.float64), found[1])


def of_limbs(a, b):
    with xl.backend("cpu"):
        product = products._of_limbs(_read(a, "a"), _read(b, "b"), None)[0]
        return product.to_components(max(a.shape[-1], b.shape[-1]))


def same(x, y):
    return np.array_equal(np.asarray(x).view(np.uint64), np.asarray(y).view(np.uint64))


@pytest.mark.parametrize("shape", [(17, 3000, 2), (9, 20_000, 2), (2, 2, 20_000)])
def test_rows_that_no_cache_holds(rng, shape):
    m, k, n = shape
    a, b = expansions(rng, (m, k), 2), expansions(rng, (k, n), 2)
    assert same(direct(a, b)[0], of_limbs(a, b))


@pytest.mark.parametrize(("count", "spread", "limit"), [(2, 0, 256), (3, 0, 256), (4, 0, 65280), (2, 100, 65280)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 200, 5), (70, 65, 130)])
def test_the_same_as_by_way_of_limbs(rng, count, spread, limit, shape):
    m, k, n = shape
    a, b = expansions(rng, (m, k), count, spread), expansions(rng, (k, n), count, spread)
    if m > 1:
        a[0, 0], b[0, 0] = np.ldexp([1.0, *[0.0] * (count - 1)], spread), 0.0
    found, info = direct(a, b)
    assert same(found, of_limbs(a, b))
    if m > 3:
        moduli = xl.registry.load("cpu").multiprecision.engines[0].modulus_limits
        assert limit in moduli
        assert (info.capacity / info.moduli < 8) == (limit == 256)
    row, column = (xl.MPArray.from_components(x).to_fractions() for x in (a[0], b[:, -1]))
    rest = sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0))
    for component in found[0, -1]:
        assert component == float(rest)
        rest -= Fraction(float(component))


def test_counts_that_differ_and_strides(rng):
    a, b = expansions(rng, (33, 20), 2), expansions(rng, (20, 17), 3)
    expected = of_limbs(a, b)
    assert same(direct(a, b)[0], expected)
    turned = np.ascontiguousarray(b.swapaxes(0, 1)).swapaxes(0, 1)
    spaced = np.zeros((33, 40, 4))[:, ::2, :2]
    spaced[...] = a
    assert same(direct(spaced, turned)[0], expected)
    assert same(direct(a[::-1], b)[0], expected[::-1])


def test_subnormal_results(rng):
    a, b = expansions(rng, (9, 12), 2), expansions(rng, (12, 7), 2)
    a, b = a * 2.0**-560, b * 2.0**-560  # components that round are still numbers of their own
    a, b = kept(a), kept(b)
    found = direct(a, b)
    assert found is not None
    assert same(found[0], of_limbs(a, b))


def test_rows_of_powers_of_two(rng):
    a, b = expansions(rng, (40, 30), 2), expansions(rng, (30, 50), 2)
    scaled = a * 2.0 ** rng.integers(-300, 300, (40, 1, 1))
    found, info = direct(scaled, b)
    assert info.bits == direct(a, b)[1].bits  # rows have units of their own
    assert same(found, of_limbs(scaled, b))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_left_to_the_general_path(wrong):
    a, b = np.ones((3, 4, 2)) * [1.0, 2.0**-60], np.ones((4, 5, 2)) * [1.0, 2.0**-60]
    assert direct(a, b) is not None
    for spoiled in ([wrong, 0.0], [1.0, wrong], [1.0, 2.0**-52], [1.0, 1.0], [0.0, 2.0**-60]):
        x = a.copy()
        x[2, 3] = spoiled
        assert direct(x, b) is None
        assert direct(np.ascontiguousarray(b.swapaxes(0, 1)), x.swapaxes(0, 1)) is None
        with xl.backend("cpu"), pytest.raises((ValueError, xl.NonFiniteError), match=r"a\[2, 3"):
            xl.mp_mm(x, b)
    large = np.ones((3, 4, 2)) * [1e300, 1e280]
    assert direct(large, large.swapaxes(0, 1)) is None
    with xl.backend("cpu"), pytest.raises(OverflowError, match=r"entry \[0, 0\] is beyond"):
        xl.mp_mm(large, large.swapaxes(0, 1))
    assert direct(a[:, :0], b[:0]) is None
    with xl.engine("fp64"):
        assert direct(a, b) is None
    with xl.workspace_limit(1):
        assert direct(a, b) is None


def test_blocks_cannot_be_seen(rng):
    a, b = expansions(rng, (90, 40), 2), expansions(rng, (40, 60), 2)
    whole, info = direct(a, b)
    done = []
    with xl.workspace_limit(info.workspace_bytes * 3 // 4), xl.progress(lambda i, n: done.append((i, n))):
        found, account = direct(a, b)
    assert account.passes > 1
    assert done[-1] == (90, 90)
    assert same(found, whole)


def test_every_instruction_set(rng):
    a, b = expansions(rng, (40, 70), 3), expansions(rng, (70, 33), 3)
    expected = of_limbs(a, b)
    component_class = type(registry.load("cpu").multiprecision.component_products)
    for name, runs in library.listed():
        if runs:
            kernels = component_class(library.Instructions(library.load(), name))
            x, y = (kernels.scan(v.view(np.uint64)) for v in (a, b.swapaxes(0, 1)))
            base = xl.core.moduli.residue_base(256, x.bits + y.bits + 8)
            found = np.empty((40, 33, 3), np.uint64)
            sides = kernels.left_residues(x, base), kernels.right_residues(y, base)
            assert kernels.product((x, y), sides, base, found)
            assert same(found, expected)


def test_views_whose_strides_count_for_nothing(rng):
    """Axes of length 1 may have any stride, and be contiguous for all that."""
    a = expansions(rng, (4, 4), 4)[..., :2]
    for left, right in ((a[:1, :1], a[:1, :1]), (a[:1, ::4], a[:1, ::3]), (a[::4, ::4], a[::2][:1])):
        found = direct(left, right)
        assert same(found[0], of_limbs(left, right))
