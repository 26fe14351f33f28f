"""Steps of an LU on a CUDA device, on one that is pretended: what is recorded; no time is asserted."""

import json
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

import exactla as xl
from bench import lu_steps
from bench.cli import main
from tests.backends.cuda.emulation import compiler
from tests.backends.cuda.emulation.installing import installed

SIZE, PRECISION = 5, 90


@pytest.fixture
def device() -> Iterator[None]:
    reason = compiler.why_not()
    if reason is not None:
        pytest.skip(f"CUDA kernels on the host NOT EXERCISED: {reason}")
    is_exact = mock.patch("exactla_backends.device.backend.extreme_products_are_exact", return_value=True)
    with installed((8, 0)), is_exact:
        yield


def test_steps_are_recorded_beside_the_digest_of_the_factors(device: None, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    arguments = ["--sizes", str(SIZE), "--precisions", str(PRECISION), "--data", "lotkin", "--peers", "none"]
    timed = ["--repeat", "1", "--pause", "0", "--threads", "1", "--output", str(path)]
    assert main(["lu", "--backend", "cuda", "--steps", *arguments, *timed]) == 0
    rows = json.loads(path.read_text())["results"]
    assert [row["contestant"] for row in rows] == ["lu_factor", "lu_factor-refine1"]
    factors = xl.lu_factor(xl.gallery.lotkin(SIZE, PRECISION), precision=PRECISION)
    for row in rows:
        assert row["details"]["digest"] == xl.digest(factors.perm, factors.L, factors.U)
        for steps in row["details"]["steps"].values():
            *own, whole = steps
            assert whole["step"] == "whole call"
            assert own
            assert all(step["calls"] > 0 for step in own)
            assert [step["seconds"] for step in own] == sorted((step["seconds"] for step in own), reverse=True)
    assert rows[1]["quality"]["bits"] > rows[0]["quality"]["bits"]


def test_nothing_is_timed_afterwards(device: None) -> None:
    from exactla_backends.cuda.multiprecision.verbs import CudaMultiprecision

    before = CudaMultiprecision.scale
    with xl.backend("cuda"):
        _, steps = lu_steps.timed(lambda: xl.lu_factor([[1, 2], [4, 3]], precision=PRECISION))
        assert CudaMultiprecision.scale is before
    assert len(steps) > 1


def test_steps_are_those_of_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lu", "--backend", "cpu", "--steps"]) == 2
    assert "--steps are of the cuda backend" in capsys.readouterr().err
