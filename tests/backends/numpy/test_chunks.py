"""Pieces of elementwise work: they cover an array once and stay small."""

import numpy as np
import pytest

from exactla_backends.numpy.chunks import CHUNK, chunks

SHAPES = [(), (1,), (10,), (7, 5), (3, 4, 5), (2, 3, 4, 5), (1, 1, 100), (100, 1, 1), (13, 1, 9)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20, 21, 59, 60, 61, 10**6])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_entry_is_in_one_piece(shape, size):
    seen = np.zeros(shape, int)
    for piece in chunks(shape, size):
        assert seen[piece].size <= size
        seen[piece] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)], ids=str)
def test_no_pieces_of_nothing(shape):
    assert sum(1 for _ in chunks(shape)) == 0


@pytest.mark.parametrize("shape", [(CHUNK,), (CHUNK + 1,), (3, CHUNK), (300, 300), (2, 1000, 100)], ids=str)
def test_pieces_are_about_as_large_as_they_may_be(shape):
    pieces = list(chunks(shape))
    assert all(np.prod([s.stop - s.start for s in piece]) <= CHUNK for piece in pieces)
    assert len(pieces) <= 2 * np.prod(shape) / CHUNK + shape[0]
