"""The runner on every engine, and negative controls: whatever is spoiled, however little, must be found."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import exactla as xl
from exactla_conformance import ConformanceError, compare, run, runner, update
from exactla_conformance.arrays import to_array
from exactla_conformance.case import Case
from exactla_conformance.cases import all_cases
from exactla_conformance.digests import DigestFile, load_reference, write_json
from exactla_conformance.encodings import Encoded
from exactla_conformance.report import Outcome, Report, first_difference
from exactla_conformance.runner import check, check_frozen, compute
from exactla_conformance.streams import fixed

ENCLOSURE = all_cases()["shape-1x13x16"]
ROUNDED = all_cases()["tie-float16-normal"]


@pytest.fixture(scope="module")
def frozen():
    return load_reference(xl.BITS_VERSION)


@pytest.fixture
def few(monkeypatch):
    """A suite of three cases, so that a whole run is quick."""
    few = {name: all_cases()[name] for name in ("reported-square", "int-fibonacci", "straddling-sharp")}
    monkeypatch.setattr(runner, "select_cases", lambda pattern=None: few)
    return few


@pytest.fixture
def spoil(monkeypatch):
    """Have every result changed on its way out of exactla."""

    def install(change):
        monkeypatch.setattr(runner, "compute", lambda case, operands: change(compute(case, operands)))

    return install


def bump(array, position=0):
    """The array with one encoding raised by one unit."""
    array = array.copy()
    array.reshape(-1).view(f"u{array.itemsize}")[position] += 1
    return array


@pytest.mark.slow
def test_every_engine_gives_the_frozen_digests(engine):
    report = run()
    assert report.passed, str(report)
    assert not report.skipped, str(report)


def test_every_backend_agrees_with_the_oracle(backend):
    report = run(backend=backend, select="mixed-*", oracle=True)
    assert report.passed, str(report)
    assert len(report.outcomes) > 20
    assert report.environment["backend"] == backend
    assert "PASS" in str(report)


@pytest.mark.parametrize("oracle", [False, True])
def test_an_untouched_case_agrees(frozen, oracle):
    assert check_frozen(ENCLOSURE, frozen, oracle).problems == ()


@pytest.mark.parametrize(
    ("case", "change", "words"),
    [
        (ENCLOSURE, lambda ends: (bump(ends[0]), ends[1]), "lo[0, 0] is 0x"),
        (ENCLOSURE, lambda ends: (ends[0], bump(ends[1], 7)), "hi[0, 7] is 0x"),
        (ENCLOSURE, lambda ends: (ends[1], ends[0]), "lo[0, 0] is 0x"),
        (ENCLOSURE, lambda ends: ends[:1], "1 results, expected 2"),
        (ENCLOSURE, lambda ends: tuple(end.view(np.int64) for end in ends), "lo is int64 [1, 16], expected"),
        (ROUNDED, lambda ends: (bump(ends[0]),), "result[0, 0] is 0x"),
    ],
    ids=["lower end", "upper end", "swapped", "one end lost", "another format", "tie flipped"],
)
def test_a_spoiled_result_is_found(frozen, spoil, case, change, words):
    spoil(change)
    for known in (frozen, DigestFile(1, {})):
        problems = " ".join(check_frozen(case, known, oracle=known is not frozen).problems)
        assert words in problems
        assert "expected" in problems


def test_a_flipped_tie_is_reported_with_both_encodings(frozen, spoil):
    good = compute(ROUNDED, ROUNDED.operands())[0]
    spoil(lambda results: (bump(results[0]),))
    (text,) = [p for p in check_frozen(ROUNDED, frozen).problems if "expected" in p]
    encoding = int(good.reshape(-1).view(np.uint16)[0])
    assert f"{encoding + 1:#06x}" in text
    assert f"expected {encoding:#06x}" in text


def test_a_negated_zero_is_found(frozen, spoil):
    spoil(lambda ends: (-ends[0], ends[1]))
    case = all_cases()["cancel-float64"]
    assert "lo[0, 0] is 0x8000000000000000 (0 * 2**-1074), expected 0x0000000000000000" in str(
        check_frozen(case, frozen)
    )


def test_a_changed_input_is_found(frozen):
    operands = ENCLOSURE.operands()
    entries = [operands[0].entries[0] ^ 1, *operands[0].entries[1:]]
    changed = replace(ENCLOSURE, build=fixed(replace(operands[0], entries=entries), operands[1]))
    assert "not the frozen case" in str(check_frozen(changed, frozen))


def test_a_changed_call_is_found(frozen):
    assert "not the frozen case" in str(check_frozen(replace(ENCLOSURE, keywords={"dtype": "float64"}), frozen))


def test_a_case_that_is_not_frozen_is_found(frozen):
    assert "no such case" in str(check_frozen(replace(ENCLOSURE, name="unheard of"), frozen))


def test_a_lost_case_is_found(few):
    report = run()
    assert not report.failures
    assert not report.passed
    assert "shape-1x13x16" in report.absent
    assert "shape-1x13x16: in the reference, but no longer in the suite" in str(report)


def test_a_wrong_digest_function_is_found(frozen, monkeypatch):
    monkeypatch.setattr(xl, "digest", lambda *arrays: "0" * 64)
    assert "exactla.digest gives 000" in str(check_frozen(ENCLOSURE, frozen))


def test_an_exception_is_a_finding_and_ends_nothing(few, monkeypatch):
    def fail(*operands, **keywords):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(xl, "mm_exact", fail)
    report = run()
    assert [outcome.name for outcome in report.failures] == ["int-fibonacci"]
    assert "mm_exact() raised RuntimeError: out of luck" in str(report)


def test_a_backend_or_engine_that_is_missing_ends_the_run(few):
    with pytest.raises(xl.BackendUnavailable, match="nowhere"):
        run(backend="nowhere")
    with pytest.raises(xl.BackendUnavailable, match="nohow"):
        run(engine="nohow")


def test_a_case_beyond_an_engine_is_said_not_to_be_run(few, monkeypatch):
    def short(*operands, **keywords):
        raise xl.EngineLimitError("engine 'fp8' of backend 'cuda' has no moduli for 3992 bits")

    monkeypatch.setattr(xl, "mm_exact", short)
    report = run()
    assert not report.failures
    assert [(outcome.name, "3992 bits" in outcome.skipped) for outcome in report.skipped] == [("int-fibonacci", True)]


def test_engines_of_products_alone_run_no_multiple_precision(monkeypatch):
    engines = [SimpleNamespace(name=name) for name in ("int8", "fp8")]
    backend = SimpleNamespace(name="cuda", engines=engines, multiprecision=SimpleNamespace(engines=engines[:1]))
    monkeypatch.setattr(runner, "_backend_in_use", lambda: backend)
    with xl.engine("fp8"):
        assert "is none of multiple precision" in check(all_cases()["mp-mm-ties"]).skipped
    with xl.engine("nohow"), pytest.raises(xl.BackendUnavailable, match="nohow"):
        check(all_cases()["mp-mm-ties"])


@pytest.mark.parametrize("name", ["lu-ties-9", "lu-solve-lotkin-8", "mp-mm-3-17-2-700-rounded"])
def test_one_unit_in_multiple_precision_is_found(frozen, monkeypatch, name):
    case = all_cases()[name]
    assert check_frozen(case, frozen, oracle=True).problems == ()

    def spoiled(case, operands):
        first, *others = compute(case, operands)
        first = first.copy()
        first[-1, -1] += 2
        return first, *others

    monkeypatch.setattr(runner, "compute", spoiled)
    problems = check_frozen(case, frozen).problems
    assert "the result is not the frozen one" in problems
    assert "[" in problems[-1]


def test_a_missing_library_is_loud(few, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'ml_dtypes'")

    monkeypatch.setattr(runner, "to_array", missing)
    report = run()
    assert len(report.skipped) == 3
    assert not report.passed
    assert "reported-square: not run, No module named 'ml_dtypes'" in str(report)


def test_no_case_is_no_success():
    with pytest.raises(ValueError, match="no case matches 'nothing'"):
        run(select="nothing")


def test_progress_is_reported(few):
    seen = []
    run(progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_report_is_saved_and_compared(few, tmp_path):
    report = run()
    write_json(report.to_json(), tmp_path / "one.json")
    assert json.loads((tmp_path / "one.json").read_text())["environment"]["exactla"] == xl.__version__
    other = report.to_json()
    write_json(other, tmp_path / "two.json")
    assert compare(tmp_path / "one.json", tmp_path / "two.json").same
    other["cases"] = {name: dict(record) for name, record in other["cases"].items()}
    other["cases"]["int-fibonacci"]["output"] = "00"
    del other["cases"]["reported-square"]
    other["bits_version"] = xl.BITS_VERSION + 1
    write_json(other, tmp_path / "two.json")
    comparison = compare(tmp_path / "one.json", tmp_path / "two.json")
    assert len(comparison.differences) == 3
    assert "reported-square: only in the first file" in str(comparison)


def test_update_freezes_what_the_oracle_agrees_on(few, tmp_path, frozen):
    report = update(tmp_path / "new.json")
    assert report.passed
    written = DigestFile.load(tmp_path / "new.json")
    assert written.cases == {name: frozen.cases[name] for name in few}
    assert not written.environment  # the reference belongs to no machine
    update(tmp_path / "new.json")


def test_update_refuses_where_the_oracle_disagrees(few, tmp_path, spoil):
    update(tmp_path / "new.json")
    before = (tmp_path / "new.json").read_text()
    spoil(lambda results: (*results[:-1], results[-1] ^ True) if results[-1].dtype == bool else results)
    with pytest.raises(ConformanceError, match=r"straddling-sharp: DIFFERS\n.*hull\[0, 0\] is 1, expected 0"):
        update(tmp_path / "new.json")
    assert (tmp_path / "new.json").read_text() == before


def test_update_refuses_where_the_oracle_is_wrong(few, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "answer", lambda case, operands: (Encoded("float64", (1, 1), [0]),) * 2)
    with pytest.raises(ConformanceError, match="nothing is frozen"):
        update(tmp_path / "new.json")
    assert not (tmp_path / "new.json").exists()


def test_update_keeps_what_is_frozen(few, tmp_path):
    update(tmp_path / "new.json")
    data = json.loads((tmp_path / "new.json").read_text())
    data["cases"]["int-fibonacci"]["output"] = "00"
    write_json(data, tmp_path / "new.json")
    with pytest.raises(ConformanceError, match="int-fibonacci: output 00"):
        update(tmp_path / "new.json")
    data["bits_version"] = 0
    write_json(data, tmp_path / "new.json")
    assert update(tmp_path / "new.json").passed


def test_update_loses_no_case(few, tmp_path):
    update(tmp_path / "new.json")
    few.pop("straddling-sharp")
    with pytest.raises(ConformanceError, match="straddling-sharp: only in the first"):
        update(tmp_path / "new.json")


def test_first_difference_of_equal_results():
    array = Encoded("float64", (1,), [5])
    assert first_difference([array], [array]) is None
    assert first_difference([array], [replace(array, entries=[6])]) is not None


def test_every_layout_reaches_exactla():
    case = all_cases()["layout-float64-reversed"]
    assert to_array(case.operands()[0]).strides[0] < 0
    assert check(case).problems == ()


def test_a_report_of_nothing_run_is_no_pass():
    assert not Report(1, {}, [Outcome("a", None, skipped="no library")]).passed
    assert not Report(1, {}, []).passed


def test_a_call_is_told_by_name_and_keywords():
    assert Case("x", "mm", fixed(), {"rounding": "up", "dtype": "float16"}).call == "mm(dtype=float16, rounding=up)"
