"""Every public product call on the backend of whole numbers gives NumPy's bytes, and keeps to the contract."""

import pytest

import exactla as xl
from tests.core.calls import CALLS
from tests.oracle import same_bytes


def leaves(result):
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("limit", [None, 60])
@pytest.mark.parametrize("name", CALLS)
def test_bytes(published, name, limit):
    published.cost = lambda tile, pieces, groups: tile.pairs * tile.rows * tile.columns * tile.depth
    with xl.backend("numpy"):
        expected = CALLS[name]()
    with xl.backend("exact"), xl.workspace_limit(limit):
        found = CALLS[name]()
    for x, y in zip(leaves(found), leaves(expected), strict=True):
        assert x.dtype == y.dtype
        if x.dtype == object:
            assert x.tolist() == y.tolist()
        else:
            same_bytes(x, y)
    assert published.calls["scan"] == 1
    assert published.inside == 0
