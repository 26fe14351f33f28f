"""Run the cases through exactla, and hold the results against the frozen digests and the oracle."""

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import exactla as xl
from exactla_conformance import linear, multiprecision
from exactla_conformance.arrays import dtype, from_array, to_array
from exactla_conformance.case import Case
from exactla_conformance.cases import select_cases
from exactla_conformance.digests import DigestFile, Record, digest, load_reference, reference_path, write_json
from exactla_conformance.encodings import Encoded
from exactla_conformance.oracle import answer
from exactla_conformance.report import (
    Comparison,
    ConformanceError,
    Outcome,
    Report,
    compare_digests,
    first_difference,
)

Progress = Callable[[int, int], None]
"""Called with the number of cases done and the number in all."""

FROZEN, ORACLE = "frozen digests", "exact oracle"


def reference() -> DigestFile:
    """The frozen digests that this version of exactla has to give."""
    return load_reference(xl.BITS_VERSION)


def compute(case: Case, operands: Sequence[Encoded]) -> tuple[Any, ...]:
    """Call exactla: the result arrays of a case."""
    keywords: dict[str, Any] = dict(case.keywords)
    if case.function in multiprecision.FUNCTIONS:
        return _multiprecision(case.function, operands, keywords)
    if "dtype" in keywords:
        keywords["dtype"] = dtype(keywords["dtype"])
    result = getattr(xl, case.function)(*map(to_array, operands), **keywords)
    if keywords.get("return_info"):
        ends, info = result
        return (*ends, info.hull)
    if case.function in linear.FUNCTIONS:
        return _fraction(result)
    return tuple(result) if isinstance(result, tuple) else (result,)


def _fraction(result: Any) -> tuple[Any, Any]:
    """Numerators and the denominator, as arrays of integers; a number is an array of one."""
    if isinstance(result, xl.Rational):
        return result.numerators, np.array([result.denominator], object)
    return np.array([result.numerator], object), np.array([result.denominator], object)


def _multiprecision(function: str, operands: Sequence[Encoded], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """The results of a call in multiple precision, in integers."""
    arrays = [_numbers(function, operand) for operand in operands]
    if function == "mp_mm":
        product = xl.mp_mm(*arrays, **keywords)
        return _dyadic(product) if isinstance(product, xl.MPArray) else (product,)
    factors = xl.lu_factor(arrays[0], **keywords)
    if function == "lu_solve":
        return _dyadic(xl.lu_solve(factors, arrays[1]))
    lower, upper = (_integers(x.scaled(factors.precision)) for x in (factors.L, factors.U))
    return lower, upper, factors.perm, factors.row_exponents, factors.column_exponents


def _numbers(function: str, operand: Encoded) -> Any:
    array = to_array(operand)
    plain = function == "mp_mm" and len(operand.shape) == 2
    return xl.MPArray.from_float(array) if plain or operand.format == "int" else array


def _dyadic(array: Any) -> tuple[Any, Any]:
    """Integers, not all of them even, and the exponent."""
    fractions = array.to_fractions()
    places = [_lowest_bit(x) for x in fractions.flat if x]
    exponent = min(places, default=0)
    return _integers(array.scaled(-exponent)), np.array([exponent], object)


def _lowest_bit(value: Any) -> int:
    return int((value.numerator & -value.numerator).bit_length() - value.denominator.bit_length())


def _integers(array: Any) -> Any:
    found = np.empty(array.shape, object)
    found.flat[:] = [x.numerator for x in array.to_fractions().flat]
    return found


def _check_engine(case: Case) -> None:
    """Engines of products may be none of multiple precision, whose cases do not run then."""
    forced = xl.settings.forced_engine.get()
    if forced is None or case.function not in multiprecision.FUNCTIONS:
        return
    backend = _backend_in_use()
    if forced in {e.name for e in backend.engines} - {e.name for e in backend.multiprecision.engines}:
        raise xl.EngineLimitError(f"engine {forced!r} of backend {backend.name!r} is none of multiple precision")


def _backend_in_use() -> Any:
    forced = xl.settings.forced_backend.get()
    return xl.registry.default("cpu") if forced is None else xl.registry.load(forced)


def check(case: Case, frozen: Record | None = None, oracle: bool = True) -> Outcome:
    """Run one case under the backend and engine in force, and compare with what is known of it."""
    start = perf_counter()
    operands = case.operands()
    given = digest(*operands)
    problems = []
    if frozen and (frozen.call, frozen.input) != (case.call, given):
        problems.append(f"not the frozen case: {case.call} of {given}, frozen {frozen.call} of {frozen.input}")
    try:
        _check_engine(case)
        arrays = compute(case, operands)
        found = [from_array(array) for array in arrays]
        stated = xl.digest(*arrays)
    except (xl.EngineLimitError, ModuleNotFoundError) as error:
        return Outcome(case.name, None, skipped=str(error))
    except xl.BackendUnavailable:
        raise
    except Exception as error:  # whatever a backend raises is a finding about this case and must not end the run
        problems.append(f"{case.call} raised {type(error).__name__}: {error}")
        return Outcome(case.name, None, tuple(problems), seconds=perf_counter() - start)
    record = Record(case.call, given, digest(*found))
    if stated != record.output:
        problems.append(f"exactla.digest gives {stated}, its definition {record.output}")
    differs = frozen is not None and frozen.output != record.output
    if differs:
        problems.append("the result is not the frozen one")
    if oracle or differs:
        difference = first_difference(found, answer(case, operands))
        problems += [difference] if difference else []
    return Outcome(case.name, record, tuple(problems), seconds=perf_counter() - start)


def environment(backend: str | None, engine: str | None) -> dict[str, str]:
    """Where a run took place."""
    return {
        "exactla": xl.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "backend": backend or "automatic",
        "engine": engine or "automatic",
    }


@contextmanager
def forced(backend: str | None, engine: str | None) -> Iterator[None]:
    """Force a backend and an engine, where they are named."""
    with ExitStack() as stack:
        if backend is not None:
            stack.enter_context(xl.backend(backend))
        if engine is not None:
            stack.enter_context(xl.engine(engine))
        yield


def check_frozen(case: Case, frozen: DigestFile, oracle: bool = False) -> Outcome:
    """Run one case and compare with a digest file, which has to know it."""
    outcome = check(case, frozen.cases.get(case.name), oracle)
    if case.name in frozen.cases:
        return outcome
    return replace(outcome, problems=(*outcome.problems, "the reference has no such case"))


def _run(cases: Mapping[str, Case], examine: Callable[[Case], Outcome], progress: Progress | None) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for case in cases.values():
        outcomes.append(examine(case))
        if progress is not None:
            progress(len(outcomes), len(cases))
    return outcomes


def run(
    backend: str | None = None,
    engine: str | None = None,
    select: str | None = None,
    progress: Progress | None = None,
    *,
    oracle: bool = False,
) -> Report:
    """Run the suite and compare every result with the frozen digests.

    Parameters
    ----------
    backend, engine : str, optional
        Names to force; the automatic choice where absent.
    select : str, optional
        A shell pattern, or a part, of the names of the cases to run.
    progress : callable, optional
        Called as ``progress(done, total)`` after each case.
    oracle : bool
        Compute every answer a second time with the exact oracle. Without it, the oracle is only asked what a result
        that differs should have been.

    Returns
    -------
    Report
        ``report.passed`` says whether every result is the frozen one, byte by byte.

    Raises
    ------
    exactla.BackendUnavailable
        The backend or the engine cannot run here.
    ValueError
        No case matches `select`.
    """
    cases = select_cases(select)
    if not cases:
        raise ValueError(f"no case matches {select!r}")
    frozen = reference()
    with forced(backend, engine):
        outcomes = _run(cases, lambda case: check_frozen(case, frozen, oracle), progress)
    absent = sorted(frozen.cases.keys() - cases.keys()) if select is None else []
    against = (FROZEN, ORACLE) if oracle else (FROZEN,)
    return Report(xl.BITS_VERSION, environment(backend, engine), outcomes, absent, against)


def compare(path_a: str | os.PathLike[str], path_b: str | os.PathLike[str]) -> Comparison:
    """Compare two digest files or saved reports."""
    return compare_digests(DigestFile.load(path_a), DigestFile.load(path_b))


def update(path: str | os.PathLike[str] | None = None, progress: Progress | None = None) -> Report:
    """Freeze the digests of all cases, if the oracle agrees with exactla on every one of them in this same run.

    Parameters
    ----------
    path : path, optional
        The file to write; the reference of this installation where absent.
    progress : callable, optional
        Called as ``progress(done, total)`` after each case.

    Raises
    ------
    ConformanceError
        A case differs or could not be run, or the file to be written holds a case that would be lost or would
        change although `exactla.BITS_VERSION` is still the same. Nothing is written.
    """
    target = reference_path(xl.BITS_VERSION) if path is None else Path(path)
    outcomes = _run(select_cases(), check, progress)
    report = Report(xl.BITS_VERSION, environment(None, None), outcomes, against=(ORACLE,))
    if report.failures or report.skipped:
        raise ConformanceError(f"nothing is frozen, for the oracle does not agree on every case\n{report}")
    frozen = report.digests()
    if target.exists():
        _refuse_changes(DigestFile.load(target), frozen)
    write_json(DigestFile(frozen.bits_version, frozen.cases).to_json(), target)
    return report


def _refuse_changes(old: DigestFile, new: DigestFile) -> None:
    """Within one version of the bits, cases may be added and nothing else."""
    if old.bits_version != new.bits_version:
        return
    kept = DigestFile(new.bits_version, {name: new.cases[name] for name in old.cases if name in new.cases})
    changes = compare_digests(old, kept)
    if not changes.same:
        raise ConformanceError(f"frozen cases would change under the same exactla.BITS_VERSION\n{changes}")
