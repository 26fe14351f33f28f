"""The workspace limit of solving, and interrupts in its parts."""

import pytest

import exactla as xl
from exactla_backends.cpu import lifting


@pytest.fixture
def system(rng):
    return rng.integers(-(1 << 23), 1 << 23, (80, 80)), rng.integers(-(1 << 23), 1 << 23, (80, 9))


def test_a_limit_that_is_too_small_is_told_before_the_work(backend, system):
    a, b = system
    for call in (lambda: xl.solve(a, b), lambda: xl.det(a), lambda: xl.inv(a), lambda: xl.factor(a)):
        with (
            xl.workspace_limit(1 << 16),
            pytest.raises(xl.WorkspaceError, match=r"80 unknowns needs .* bytes") as fault,
        ):
            call()
        assert fault.value.allowed == 1 << 16 < fault.value.needed
    for call in (lambda: xl.rank(a), lambda: xl.nullspace(a), lambda: xl.solve_general(a, b)):
        with xl.workspace_limit(1 << 16), pytest.raises(xl.WorkspaceError, match="bytes"):
            call()


def test_what_is_needed_is_enough(backend, system):
    a, b = system
    expected = xl.solve(a, b)
    with xl.workspace_limit(1 << 16), pytest.raises(xl.WorkspaceError) as fault:
        xl.solve(a, b)
    with xl.workspace_limit(fault.value.needed):
        assert xl.solve(a, b) == expected
        assert xl.det(a) == xl.factor(a).det()


def test_small_systems_need_little(backend, rng):
    a, b = rng.integers(-99, 99, (20, 20)), rng.integers(-99, 99, 20)
    with xl.workspace_limit(1 << 20):
        assert xl.solve(a, b).shape == (20,)


def test_inverses_in_many_calls(rng, monkeypatch):
    a, b = rng.integers(-99, 99, (600, 600)), rng.integers(-99, 99, 600)
    with xl.backend("cpu"):
        expected = xl.solve(a, b)
        monkeypatch.setattr(lifting, "INTERRUPTIBLE", 1)
        assert xl.solve(a, b) == expected
