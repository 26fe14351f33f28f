"""Random jobs on the native library: instruction sets agree with each other, and each with exact integers."""

import numpy as np
import pytest

from exactla_backends.cpu.native import library
from tests.backends.cpu.fuzz import __main__ as fuzz
from tests.backends.cpu.fuzz import building, jobs

SECONDS = 60


@pytest.fixture
def names():
    if library.path() is None:
        pytest.skip("native library NOT EXERCISED: exactla was installed without it")
    return [name for name, runs_here in library.listed() if runs_here]


def test_some_jobs(names):
    assert fuzz.main(["--jobs", "60", "--seed", "7", "--seconds", "200"]) == 0


def test_jobs_on_threads(names):
    assert fuzz.main(["--jobs", "4", "--seed", "8", "--seconds", "200", "--threads", "3"]) == 0


def test_a_job_is_a_function_of_its_bytes(names):
    data = np.random.default_rng(3).bytes(500)
    first, second = (jobs.outcome(library.Instructions(library.load(), names[0]), data) for _ in range(2))
    assert jobs.difference(first, second) is None


@pytest.mark.parametrize("data", ["", "00", "ff" * 40, "0100", "0200", "03"])
def test_short_jobs(names, data):
    assert fuzz.main(["--job", data]) == 0


def test_differences_are_found(names, monkeypatch, capfd):
    """The negative control: one bit of one output of one instruction set."""
    honest, data = fuzz._outcome, np.random.default_rng(5).bytes(600)

    def spoiled(name, data):
        outcome = honest(name, data)
        array = outcome[-1][1]
        if name == names[0]:
            array.reshape(-1).view(np.uint8)[-1] ^= 1
        return outcome

    assert fuzz.main(["--job", data.hex()]) == 0
    monkeypatch.setattr(fuzz, "_outcome", spoiled)
    assert fuzz.main(["--job", data.hex()]) == (1 if len(names) > 1 else 0)
    if len(names) > 1:
        message = capfd.readouterr().err
        assert f"{names[0]} and {names[-1]} differ" in message
        assert f"--job {data.hex()}" in message


@pytest.mark.slow
def test_many_jobs(names):
    """For a bounded time, on the library as it is installed."""
    assert fuzz.main(["--seconds", "30", "--seed", "9"]) == 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_coverage_guided():
    """For a bounded time, and from a fixed seed: libFuzzer keeps the inputs that reach new branches."""
    reason = building.why_not(building.LIBFUZZER)
    if reason is not None:
        pytest.skip(f"native library under libFuzzer NOT EXERCISED: {reason}")
    done = building.run_jobs(building.LIBFUZZER, ["--libfuzzer", "--seconds", str(SECONDS)], timeout=1000)
    assert done.returncode == 0, done.stderr
    assert "stat::number_of_executed_units" in done.stderr, done.stderr
