"""Tiles of sums of products against NumPy integers: shapes, depths, signs, extremes, and what may not be written."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.backends.cpu.matrix.library import COLUMNS, UNTOUCHED, Term
from tests.backends.cpu.matrix.oracle import random_terms, residues

MODULI = {1: (256, 255, 253, 171, 170, 129, 128, 127, 64, 3, 2), 2: (65536, 65521, 65280, 65279, 32749, 257, 2)}
SIGNS = [(1,), (-1,), (1, 1, -1), (-1, 1, -1, 1)]


@pytest.fixture(params=[1, 2], ids=["one digit", "two digits"])
def digits(request):
    return request.param


def assert_right(kernels, terms, moduli, digits):
    rows, columns = terms[0].left.shape[2], terms[0].right.shape[2]
    found = kernels.tile(terms, moduli, digits, range(rows), range(columns), gap=3)
    expected = residues(terms, moduli)
    assert np.array_equal(found[:, :, :columns], expected), first_difference(found[:, :, :columns], expected)
    assert not found[:, :, columns:-3].any()
    assert (found[:, :, -3:] == UNTOUCHED).all()


def first_difference(found, expected):
    place = tuple(int(i) for i in np.argwhere(found != expected)[0])
    return f"at {place}: {found[place]} for {expected[place]}"


@pytest.mark.parametrize("seed", range(8))
def test_shapes(kernels, digits, seed):
    rng = np.random.default_rng(seed)
    for signs in SIGNS:
        rows, columns, depth = (int(n) for n in rng.integers(1, 71, 3))
        moduli = rng.choice(MODULI[digits], 4, replace=False).tolist()
        assert_right(kernels, random_terms(rng, signs, digits, 4, rows, columns, depth), moduli, digits)


@pytest.mark.parametrize(
    ("rows", "columns", "depth"),
    [(1, 1, 1), (16, 16, 64), (32, 32, 64), (33, 17, 65), (48, 31, 128), (64, 64, 1024), (5, 40, 1281), (40, 33, 2600)],
)
def test_edges_of_blocks_and_chunks(kernels, digits, rows, columns, depth):
    rng = np.random.default_rng(rows)
    terms = random_terms(rng, (1, -1), digits, len(MODULI[digits]), rows, columns, depth)
    assert_right(kernels, terms, MODULI[digits], digits)


def test_every_modulus(kernels):
    rng = np.random.default_rng(5)
    moduli = range(2, 257)
    assert_right(kernels, random_terms(rng, (1,), 1, len(moduli), 3, 20, 130), moduli, 1)


@pytest.mark.parametrize("depth", [0, 131072 + 64, 300_000])
@pytest.mark.parametrize("signs", [(1,), (1, -1)])
def test_depths(kernels, digits, depth, signs):
    rng = np.random.default_rng(depth)
    terms = random_terms(rng, signs, digits, 2, 2, 5, depth)
    assert_right(kernels, terms, MODULI[digits][:2], digits)


@pytest.mark.parametrize("depth", [131072 + 64, 300_000])
@pytest.mark.parametrize("ends", [(-128, -128), (-128, 127), (127, -128), (127, 127)])
def test_extremes(kernels, digits, depth, ends):
    left, right = (np.full((2, digits, 3, depth), end, np.int8) for end in ends)
    for sign in (1, -1):
        assert_right(kernels, [Term(sign, left, right)], MODULI[digits][:2], digits)


def test_terms_of_different_depths(kernels, digits):
    rng = np.random.default_rng(7)
    depths = (70, 0, 1500, 64)
    terms = [random_terms(rng, (sign,), digits, 2, 9, 21, k)[0] for sign, k in zip((1, -1, -1, 1), depths, strict=True)]
    assert_right(kernels, terms, MODULI[digits][:2], digits)


def test_no_terms_give_zeros(kernels, digits):
    found = kernels.tile([], MODULI[digits], digits, range(35), range(20))
    assert not found.any()


@pytest.mark.parametrize("depth", [60, 1400])
def test_a_tile_is_a_part_of_the_whole(kernels, digits, depth):
    rng = np.random.default_rng(11)
    terms = random_terms(rng, (1, -1), digits, 2, 90, 70, depth)
    whole = residues(terms, MODULI[digits][:2])
    for rows, columns in ((range(3, 40), range(16, 70)), (range(64, 90), range(48, 49)), (range(89, 90), range(70))):
        part = kernels.tile(terms, MODULI[digits][:2], digits, rows, columns)
        assert np.array_equal(
            part[:, :, : len(columns)], whole[:, rows.start : rows.stop, columns.start : columns.stop]
        )


@pytest.mark.parametrize(
    ("rows", "columns"), [(range(0), range(20)), (range(20), range(0)), (range(5, 5), range(16, 16))]
)
def test_empty_tiles(kernels, digits, rows, columns):
    rng = np.random.default_rng(13)
    terms = random_terms(rng, (1,), digits, 2, 20, 20, 64)
    assert kernels.tile(terms, MODULI[digits][:2], digits, rows, columns, gap=2).size == 4 * len(rows)


def test_a_block_of_columns_is_packed_alone(kernels):
    """Packing in parts gives what packing at once does, and columns that are not there count as zeros."""
    rng = np.random.default_rng(17)
    plane = rng.integers(-128, 128, (1, 1, 3 * COLUMNS + 5, 128), np.int8)
    padded = np.concatenate([plane, np.zeros((1, 1, COLUMNS - 5, 128), np.int8)], axis=2)
    assert np.array_equal(kernels.pack(plane), kernels.pack(padded))


def test_tiles_on_several_threads(kernels, digits):
    """Calls share nothing: ctypes lets the threads run at the same time."""
    rng = np.random.default_rng(23)
    terms = random_terms(rng, (1, -1), digits, 2, 96, 50, 1400)
    expected = residues(terms, MODULI[digits][:2])
    parts = [range(i, i + 12) for i in range(0, 96, 12)]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda rows: kernels.tile(terms, MODULI[digits][:2], digits, rows, range(50)), parts)
    assert np.array_equal(np.concatenate(list(found), axis=1)[:, :, :50], expected)


def test_the_oracle_notices_one_unit(kernels):
    """The negative control."""
    rng = np.random.default_rng(19)
    (term,) = random_terms(rng, (1,), 1, 2, 4, 4, 64)
    term.right[0, 0, 2, 5] ^= 1
    found = kernels.tile([term], (251, 250), 1, range(4), range(4))[:, :, :4]
    term.right[0, 0, 2, 5] ^= 1
    assert np.argwhere((found != residues([term], (251, 250))).any(axis=1)).tolist() == [[0, 2]]
