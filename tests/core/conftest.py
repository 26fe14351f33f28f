"""The backend of whole numbers, alone and as one that the registry knows."""

import pytest

from exactla import registry
from exactla.core import planning
from tests.core.exact_backend import ExactBackend


@pytest.fixture
def exact() -> ExactBackend:
    return ExactBackend()


@pytest.fixture
def published(exact: ExactBackend, monkeypatch: pytest.MonkeyPatch) -> ExactBackend:
    """The backend of whole numbers, which `exactla.backend("exact")` finds."""
    descriptions = registry.descriptions() | {exact.name: exact.description()}
    monkeypatch.setattr(registry, "descriptions", lambda: descriptions)
    return exact


@pytest.fixture(autouse=True)
def forget_engines():
    """Every test finds its engines unchecked."""
    planning._check_engine.cache_clear()
