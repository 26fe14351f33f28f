"""Every public product call through the loop-back backend: NumPy's bytes, and no look into a buffer on the way."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import exactla as xl
from exactla import registry
from exactla.backend import Operand
from exactla_backends.loopback import DESCRIPTION
from exactla_backends.loopback.backend import Handle, Loopback
from tests.core.calls import CALLS
from tests.oracle import same_bytes

PRODUCT = {"view", "scan", "tile_bytes", "residues", "multiply", "block", "total"}
ROUNDED = PRODUCT | {"round", "restore", "scope"}
BLOCKS = {"allocate", "store"}
OPTIONAL = BLOCKS | {"free_bytes", "combine", "truncate"}
SPECIAL = ROUNDED | {"special_pieces", "mark"}
INTERVAL = ROUNDED | {"interval_pieces", "integers", "combine"}


def verbs_of(name):
    """What a call has to ask for; `scope` is entered by every one of them."""
    if name.startswith("mm_exact"):
        return PRODUCT | {"integers", "scope"}
    if name.startswith("mm_interval"):
        return INTERVAL | ({"hull_excess"} if "hull" in name else set())
    return SPECIAL if "special" in name else ROUNDED


@pytest.fixture
def loopback(monkeypatch):
    """The backend, where the registry finds it, before any call."""
    descriptions = registry.descriptions() | {"loopback": DESCRIPTION}
    monkeypatch.setattr(registry, "descriptions", lambda: descriptions)
    backend = registry.load("loopback")
    assert isinstance(backend, Loopback)
    backend.calls.clear()
    return backend


def arrays(result):
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("limit", [None, 40_000])
@pytest.mark.parametrize("name", CALLS)
def test_bytes_and_verbs(loopback, name, limit):
    with xl.backend("numpy"):
        expected = CALLS[name]()
    assert not loopback.calls
    with xl.backend("loopback"), xl.workspace_limit(limit):
        found = CALLS[name]()
    for x, y in zip(arrays(found), arrays(expected), strict=True):
        assert x.dtype == y.dtype
        if x.dtype == object:
            assert x.tolist() == y.tolist()
        else:
            same_bytes(x, y)
    asked = set(loopback.calls) - {"engine_is_exact", "direct"}
    empty = {"residues", "multiply", "round", "store", "block"} if "nothing" in name else set()
    assert asked >= verbs_of(name) - empty - {"combine"}
    assert asked <= verbs_of(name) | OPTIONAL
    # one block is the result itself
    if limit is None and not empty:
        assert not asked & BLOCKS
    else:
        assert ("allocate" in asked) >= ("store" in asked)
    # a limit rules the shortcut out
    assert loopback.calls["direct"] == (limit is None and not name.startswith(("mm_exact", "mm_interval")))
    assert loopback.calls["scan"] == loopback.calls["scope"] == loopback.calls["total"] - ("interval" in name) == 1


def test_blocks_are_stored_one_by_one(loopback):
    a = np.arange(600.0).reshape(20, 30)
    with xl.backend("loopback"):
        whole, info = xl.mm(a, a.T, return_info=True)
        assert not loopback.calls.keys() & BLOCKS
        with xl.workspace_limit(info.workspace_bytes // 2):
            found, cut = xl.mm(a, a.T, return_info=True)
    assert loopback.calls["store"] == cut.passes > info.passes == 1
    assert loopback.calls["allocate"] == 1
    same_bytes(found, whole)


def test_the_account_names_the_backend(loopback):
    with xl.backend("loopback"):
        info = xl.mm(np.eye(2), np.eye(2), return_info=True)[1]
    assert info.backend == "loopback"
    with xl.backend("numpy"):
        assert replace(info, backend="numpy") == xl.mm(np.eye(2), np.eye(2), return_info=True)[1]


def test_errors_come_through(loopback):
    bad = np.array([[1.0, np.nan]])
    with xl.backend("loopback"):
        with pytest.raises(xl.NonFiniteError, match=r"b\[1\]"):
            xl.mm(np.ones(2), bad[0])
        with pytest.raises(ValueError, match=r"a_rad\[0, 1\]"):
            xl.mm_interval(np.ones((1, 2)), np.array([[0.0, -1.0]]), np.ones((2, 1)), np.ones((2, 1)))
        with pytest.raises(xl.WorkspaceError), xl.workspace_limit(1):
            xl.mm(np.eye(2), np.eye(2))
        with pytest.raises(xl.BackendUnavailable, match="loopback"), xl.engine("none such"):
            xl.mm(np.eye(2), np.eye(2))


def test_it_is_not_published():
    assert "loopback" not in [b.name for b in xl.backends()]


# ---- negative controls: what an algorithm must not do --------------------------------------------------------------


@pytest.fixture
def operand(loopback):
    from exactla.arrays import read

    return loopback.view(read(np.ones((2, 3)), "x"), part="real", transpose=False)


LOOKS: list[Callable[[Any], Any]] = [
    len,
    iter,
    int,
    lambda b: b[0],
    lambda b: b.shape,
    lambda b: b + b,
    lambda b: np.asarray(b, np.float64),
]


def test_a_buffer_cannot_be_looked_into(operand):
    assert isinstance(operand, Operand)
    assert isinstance(operand.buffer, Handle)
    assert operand.exponents is None
    for look in LOOKS:
        with pytest.raises((TypeError, AttributeError)):
            look(operand.buffer)


def test_an_algorithm_that_looks_into_a_buffer_fails(loopback, monkeypatch):
    from exactla.core import matmul

    monkeypatch.setattr(matmul, "check_operands", lambda backend, contraction, options: sum(contraction.counts))
    with xl.backend("numpy"):
        xl.mm(np.eye(2), np.eye(2))
    with xl.backend("loopback"), pytest.raises(TypeError):
        xl.mm(np.eye(2), np.eye(2))


def test_an_unknown_verb_is_refused(loopback):
    with pytest.raises(AttributeError):
        loopback.transpose(np.eye(2))
