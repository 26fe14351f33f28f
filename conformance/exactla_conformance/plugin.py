"""A pytest plugin for the authors of backends: `pytest --exactla-conformance BACKEND` adds a test for every case."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from exactla_conformance.case import Case
    from exactla_conformance.report import Outcome


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("exactla", "exactla conformance")
    group.addoption("--exactla-conformance", metavar="BACKEND", help="add the conformance tests of this backend")
    group.addoption("--exactla-engine", metavar="ENGINE", help="force this engine in the conformance tests")


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add an item for every case."""
    backend = config.getoption("--exactla-conformance")
    if backend:
        items.extend(_items(session, backend, config.getoption("--exactla-engine")))


def _items(session: pytest.Session, backend: str, engine: str | None) -> Iterator["ConformanceItem"]:
    from exactla_conformance.cases import all_cases
    from exactla_conformance.runner import check_frozen, forced, reference

    frozen = reference()

    def examine(case: "Case") -> "Outcome":
        with forced(backend, engine):
            return check_frozen(case, frozen)

    for name, case in all_cases().items():
        yield ConformanceItem.from_parent(session, name=f"conformance[{name}]", examine=partial(examine, case))


class ConformanceItem(pytest.Item):
    """One case on one backend."""

    def __init__(self, *, examine: "Callable[[], Outcome]", **keywords: Any) -> None:
        super().__init__(**keywords)
        self._examine = examine

    def runtest(self) -> None:
        """Fail with the report of the case if its digest is not the frozen one."""
        outcome = self._examine()
        if outcome.skipped:
            pytest.skip(str(outcome))
        if outcome.problems:
            pytest.fail(str(outcome), pytrace=False)

    def reportinfo(self) -> tuple[str, None, str]:
        """Where pytest says that the test is."""
        return "exactla_conformance", None, self.name
