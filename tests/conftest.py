"""Fixtures over backends, engines and array libraries, and the loud list of those that a run has not exercised.

EXACTLA_TEST_BACKENDS=numpy,cpu and EXACTLA_TEST_LIBRARIES=torch,jax name what has to run: each of those that is
missing fails the tests that would have used it. Without them, all that is found here is used.
"""

import gc
import os
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from tests.array_libraries import KINDS, ArrayLibrary, missing, opened


def _required(variable: str) -> list[str]:
    return [name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()]


@cache
def _backend_reasons() -> dict[str, str | None]:
    """Each backend that is installed or required, with the reason why it cannot run here."""
    import exactla

    found = {b.name: None if b.available else b.reason for b in exactla.backends()}
    return found | {name: "not installed" for name in _required("EXACTLA_TEST_BACKENDS") if name not in found}


@cache
def _library_reasons() -> dict[str, str | None]:
    required = _required("EXACTLA_TEST_LIBRARIES")
    # what is left out is not imported either
    found = {name: None if required and name not in required else missing(name) for name in KINDS}
    return found | {name: "unknown to the tests" for name in required if name not in found}


def _chosen(reasons: dict[str, str | None], variable: str) -> list[str]:
    return _required(variable) or [name for name, reason in reasons.items() if reason is None]


def _check_present(variable: str, name: str, reasons: dict[str, str | None]) -> None:
    if reasons[name] is not None:
        pytest.fail(f"{variable} asks for {name!r}: {reasons[name]}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        names = _chosen(_backend_reasons(), "EXACTLA_TEST_BACKENDS")
        metafunc.parametrize("backend", names, indirect=True)
    if "library" in metafunc.fixturenames:
        names = _chosen(_library_reasons(), "EXACTLA_TEST_LIBRARIES")
        metafunc.parametrize("library", names, indirect=True)
    if "engine" in metafunc.fixturenames:
        import exactla

        found = {b.name: b.engines for b in exactla.backends() if b.available}
        chosen = _chosen(_backend_reasons(), "EXACTLA_TEST_BACKENDS")
        pairs = [(name, e) for name in chosen for e in found.get(name, ("missing",))]
        metafunc.parametrize("engine", pairs, indirect=True, ids="-".join)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep what was collected out of each later search for garbage, which would take a third of a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of its own for each test, the same in every run."""
    return np.random.default_rng(list(request.node.name.encode()))


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a backend, which is forced during the test."""
    import exactla

    name: str = request.param
    _check_present("EXACTLA_TEST_BACKENDS", name, _backend_reasons())
    with exactla.backend(name):
        yield name


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of an engine, which is forced during the test together with its backend."""
    import exactla

    backend_name, name = request.param
    _check_present("EXACTLA_TEST_BACKENDS", backend_name, _backend_reasons())
    with exactla.backend(backend_name), exactla.engine(name):
        yield name


@pytest.fixture
def library(request: pytest.FixtureRequest) -> Iterator[ArrayLibrary]:
    """An array library, inside settings under which it holds all its types."""
    _check_present("EXACTLA_TEST_LIBRARIES", request.param, _library_reasons())
    with opened(request.param) as found:
        yield found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name every backend and library whose tests did not run, of those kinds that a test of this run asked for."""
    lines = []
    distributed = bool(config.getoption("numprocesses", None))  # then the tests are known to other processes only
    for kind, known, variable in (
        ("backend", _backend_reasons, "EXACTLA_TEST_BACKENDS"),
        ("library", _library_reasons, "EXACTLA_TEST_LIBRARIES"),
    ):
        if not (known.cache_info().currsize or distributed):
            continue
        reasons = known()
        chosen = _chosen(reasons, variable)
        left_out = {name: reason for name, reason in reasons.items() if name not in chosen}
        lines += [f"{kind} {name}: {reason or f'left out by {variable}'}" for name, reason in left_out.items()]
    if lines:
        terminalreporter.section("NOT EXERCISED", sep="!", red=True, bold=True)
        for line in lines:
            terminalreporter.line(line)
