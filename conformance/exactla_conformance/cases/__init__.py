"""The frozen cases, one module for each kind. A module is a list of generators; a generator makes a family."""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cache

from exactla_conformance.case import Case
from exactla_conformance.cases import (
    complexes,
    dtypes,
    integers,
    intervals,
    multiprecision,
    nonfinite,
    rounding,
    scales,
    shapes,
    systems,
)

_FAMILIES: tuple[Callable[[], Iterator[Case]], ...] = (
    *dtypes.FAMILIES,
    *rounding.FAMILIES,
    *scales.FAMILIES,
    *shapes.FAMILIES,
    *integers.FAMILIES,
    *complexes.FAMILIES,
    *intervals.FAMILIES,
    *nonfinite.FAMILIES,
    *systems.FAMILIES,
    *multiprecision.FAMILIES,
)


@cache
def all_cases() -> dict[str, Case]:
    """Every case by its name."""
    cases: dict[str, Case] = {}
    for family in _FAMILIES:
        for case in family():
            if case.name in cases:
                raise ValueError(f"two cases are called {case.name}")
            cases[case.name] = case
    return cases


def select_cases(pattern: str | None = None) -> dict[str, Case]:
    """The cases whose name matches a shell pattern, or contains it where it has no wildcard; all for None."""
    if pattern is None:
        return dict(all_cases())
    if not any(mark in pattern for mark in "*?["):
        pattern = f"*{pattern}*"
    return {name: case for name, case in all_cases().items() if fnmatchcase(name, pattern)}
