"""The peers of multiple precision solve and multiply right, and are measured in exact arithmetic."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactla as xl
from bench import lu_solvers, mp_products, multiprecision
from bench.contestant import Contestant
from bench.multiprecision import MPJob
from tests.bench.test_command_line import recorded


def result(contestant: Contestant, problem: multiprecision.MPProblem) -> Any:
    job = contestant.prepare(problem, 2)
    assert isinstance(job, MPJob)
    try:
        return job.mp(job.run())
    finally:
        job.close()


@pytest.mark.parametrize("peer", lu_solvers.PEERS.values(), ids=lambda peer: peer.name)
@pytest.mark.parametrize(("kind", "n", "lost"), [("lotkin", 8, 45), ("random", 40, 30), ("conditioned", 70, 90)])
def test_peers_solve(peer: Contestant, kind: str, n: int, lost: int) -> None:
    """Blocks of 32 columns are crossed, and the error is that of rounding: not exact, and not too large."""
    problem = multiprecision.system(kind, n, 400)
    if peer.missing() or peer.refuses(problem):
        pytest.skip("not here, or not for this size")
    bits = multiprecision.solution_bits(result(peer, problem))
    assert bits is not None
    assert 400 - lost < bits < 440


@pytest.mark.parametrize("peer", mp_products.PEERS.values(), ids=lambda peer: peer.name)
@pytest.mark.parametrize(
    ("kind", "precision"), [("components", 106), ("components", 159), ("components", 212), ("random", 300)]
)
def test_peers_multiply(peer: Contestant, kind: str, precision: int) -> None:
    problem = multiprecision.product(kind, 20, precision)
    if peer.missing() or peer.refuses(problem):
        pytest.skip("not here, or not for this kind")
    bits = multiprecision.product_bits(problem, result(peer, problem))
    assert bits is None or precision - 6 <= bits


def test_bits_count_the_worst_entry() -> None:
    exact = xl.MPArray.from_float(np.arange(1, 6))
    assert multiprecision.solution_bits(exact) is None
    off = exact + np.array([0, 0, 0, 2.0**-30, 0])
    assert multiprecision.solution_bits(off) == 31  # 2**-30 / 4 is not below 2**-32


def test_right_hand_sides_are_exact() -> None:
    problem = multiprecision.system("lotkin", 9, 100)
    a, b = problem.a.to_fractions(), problem.b.to_fractions()
    assert (a @ np.arange(1, 10, dtype=object) == b).all()


@pytest.mark.parametrize(("command", "options"), [("lu", ("--data", "lotkin,random")), ("mp", ())])
def test_commands(tmp_path: Path, command: str, options: tuple[str, ...]) -> None:
    pytest.importorskip("exactla.factoring")
    content = recorded(
        tmp_path / "record.json",
        command,
        "--sizes",
        "6",
        "--precisions",
        "106",
        "--repeat",
        "1",
        "--pause",
        "0",
        *options,
    )
    rows = content["results"]
    assert {row["n"] for row in rows} == {6}
    own = [row for row in rows if row["contestant"] in ("lu_factor", "mp_mm")]
    refined = [row for row in rows if row["contestant"] == "lu_factor-refine1"]
    assert len(refined) == (len(own) if command == "lu" else 0)
    assert all(row["quality"]["bits"] is None or row["quality"]["bits"] > 120 for row in refined)
    assert all(row["reason"] is None and row["ratio"] == 1 for row in own)
    assert all(row["quality"]["bits"] is None or row["quality"]["bits"] > 60 for row in own)
