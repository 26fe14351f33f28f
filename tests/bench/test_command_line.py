"""`python -m bench` at tiny sizes: every command runs, prints and records; no time is asserted."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("threadpoolctl")

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--threads", "1", "--repeat", "1")
TIMED = (*SMALL, "--pause", "0")


def bench(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )


def recorded(path: Path, *arguments: str) -> dict[str, Any]:
    answer = bench(*arguments, "--output", str(path))
    assert answer.returncode == 0, answer.stdout + answer.stderr
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert content["schema"] == "exactla-bench/1"
    assert content["command"] == arguments[0]
    assert {"cpu", "cpu_flags", "cores", "numpy", "blas", "flint", "exactla", "commit", "date"} <= set(
        content["environment"]
    )
    return content


def test_solve(tmp_path: Path) -> None:
    kinds = "random,planted,pascal,hilbert,lotkin,hadamard,sparse"
    content = recorded(
        tmp_path / "solve.json", "solve", "--sizes", "8", "--data", kinds, "--columns", "1,n", "--peers", "flint-fmpq",
        *TIMED,
    )  # fmt: skip
    rows = content["results"]
    assert {row["data"] for row in rows} == set(kinds.split(","))
    assert {row["columns"] for row in rows} == {1, 8}
    assert {row["contestant"] for row in rows} == {"solve", "flint-fmpq"}
    assert all(row["seconds_median"] > 0 for row in rows if row["reason"] is None)
    assert all(row["reason"] is None for row in rows if row["contestant"] == "solve")
    assert all("parts" in row["details"] for row in rows if row["contestant"] == "solve")


def test_products(tmp_path: Path) -> None:
    subjects = "mm_enclose,mm"
    content = recorded(
        tmp_path / "new" / "record.json",
        *("products", "--sizes", "8,3", "--peers", "numpy,numpy-bound", "--subjects", subjects, *TIMED),
    )
    rows = content["results"]
    assert [r["n"] for r in rows[::4]] == [3, 8] * 4  # two dtypes, two kinds of data
    assert {r["contestant"] for r in rows} == {"mm_enclose", "mm", "numpy", "numpy-bound"}
    assert all(r["seconds_minimum"] <= r["seconds_median"] and r["ratio"] > 0 for r in rows)
    assert all(r["quality"]["missed"] == 0 for r in rows if r["contestant"] != "numpy")
    assert all(r["details"]["moduli"] > 0 and r["ratio"] == 1 for r in rows if r["contestant"] == "mm_enclose")


def test_a_contestant_that_is_too_slow_is_left_out_with_the_reason() -> None:
    answer = bench("products", "--sizes", "2,64", "--limit", "1e-9", "--peers", "none", "--data", "normal", *TIMED)
    assert answer.returncode == 0
    assert "mm_enclose: about" in answer.stdout


def test_calls(tmp_path: Path) -> None:
    rows = recorded(tmp_path / "record.json", "calls", "--peers", "numpy", "--dtypes", "float64", *TIMED)["results"]
    assert {(r["batch"], r["m"], r["k"], r["n"]) for r in rows} == {
        (1, 4, 4, 4), (1, 16, 16, 16), (1, 20, 256, 12), (5, 20, 256, 12),
    }  # fmt: skip
    assert {r["contestant"] for r in rows if r["batch"] == 5} == {"bmm_enclose", "mm_enclose", "mm", "numpy"}


def test_memory(tmp_path: Path) -> None:
    content = recorded(tmp_path / "record.json", "memory", "--sizes", "32", "--peers", "numpy", "--threads", "1")
    for row in content["results"]:
        assert row["reason"] is None
        assert row["growth_bytes"] == row["peak_bytes"] - row["before_bytes"] >= 0
        assert row["operand_bytes"] == 2 * 32 * 32 * 8
    assert [row["result_bytes"] for row in content["results"]] == [2 * 32 * 32 * 8, 32 * 32 * 8]


def test_profile(tmp_path: Path) -> None:
    content = recorded(
        tmp_path / "record.json", "profile", "--backend", "numpy", "--sizes", "8", "--functions", "3", *SMALL
    )
    for row in content["results"]:
        own = [verb for verb in row["verbs"] if verb["verb"] != "whole call"]
        assert {"scan", "residues", "multiply", "round"} <= {verb["verb"] for verb in own}
        assert sum(verb["share"] for verb in own) == pytest.approx(1)
        assert len(row["functions"]) == 3


def test_a_missing_peer_is_printed_with_the_reason() -> None:
    answer = bench("products", "--sizes", "2", "--peers", "octave-tight", "--data", "normal", *TIMED, PATH="")
    assert answer.returncode == 0
    assert "octave-tight      octave-interval" in answer.stdout
    assert "MISSING: octave is not on PATH" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("products", "--peers", "abacus"), "there is no peer named 'abacus'; known are arb-64"),
        (("products", "--sizes", "8,-1"), "sizes are positive integers separated by commas, got '8,-1'"),
        (("products", "--data", "odd"), "there is no kind of data named 'odd'; known are normal, wide"),
        (("calls", "--dtypes", ""), "name at least one dtype"),
        (("profile", "--backend", "abacus"), "exactla has no backend named 'abacus'"),
        (("show", "no-such-file.json"), "no-such-file.json"),
        (("memory", "--threads", "0"), "has to be a whole number of at least 1, got '0'"),
    ],
)
def test_a_request_that_cannot_be_carried_out(arguments: tuple[str, ...], message: str) -> None:
    answer = bench(*arguments)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert "Traceback" not in answer.stderr


def test_without_exactla_the_message_says_how_to_install_it() -> None:
    script = "import runpy, sys; sys.modules['exactla'] = None; runpy.run_module('bench', run_name='__main__')"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert "import of exactla halted" in answer.stderr
    assert "python -m pip install -e '.[bench]'" in answer.stderr
