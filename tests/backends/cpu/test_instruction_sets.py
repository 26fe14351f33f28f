"""Each instruction set of the CPU backend gives the same bytes: EXACTLA_CPU_INSTRUCTIONS in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

import exactla as xl
from exactla.errors import BackendUnavailable
from tests.core.calls import CALLS

library = pytest.importorskip("exactla_backends.cpu.native.library")
if library.path() is None:
    pytest.skip("this installation has no native library", allow_module_level=True)

VARIABLE = "EXACTLA_CPU_INSTRUCTIONS"
SETS = list(library.listed())

PROGRAM = """
import json
import numpy as np
import exactla as xl
from tests.core.calls import CALLS

rng = np.random.default_rng(2)
wide = [np.ldexp(rng.standard_normal(s), rng.integers(-300, 300, s)) for s in ((40, 70), (70, 33))]
wide[0][0], wide[1][:, 0] = 1.0, np.resize([1.0, -1.0], 70)  # an exact zero, which leading bits do not decide
plain = [rng.standard_normal(s) for s in ((90, 130), (130, 70))]

def digest(result):
    return xl.digest(*(result if isinstance(result, tuple) else (result,)))

with xl.backend("cpu"):
    found = {name: digest(call()) for name, call in CALLS.items()}
    found["wide"] = digest(xl.mm_enclose(*wide))
    found["plain"] = digest(xl.mm_enclose(*plain))
    found["prepared"] = digest(xl.mm(xl.prepare(plain[0]), plain[1]))
    found["gram"] = digest(xl.mm_enclose(plain[0]))
    found["two bytes"] = digest(xl.mm(wide[0] * (1 + 1j), xl.prepare(wide[1])))
print(json.dumps(found))
"""


def run(name, program=PROGRAM):
    """What a program prints, with an instruction set forced; an empty name forces none."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {VARIABLE: name},
        cwd=os.getcwd(),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def digests(name):
    done = run(name)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def expected():
    """From the NumPy backend."""
    done = run("", PROGRAM.replace('xl.backend("cpu")', 'xl.backend("numpy")'))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [name for name, runs_here in SETS if runs_here])
def test_bytes(name, expected):
    assert digests(name) == expected
    assert expected.keys() > CALLS.keys()


@pytest.mark.parametrize("name", [*[name for name, runs_here in SETS if not runs_here], "none-such"])
def test_a_set_that_cannot_run_here_is_refused_with_those_that_can(name):
    done = run(name, "import exactla as xl; print([b.reason for b in xl.backends() if b.name == 'cpu'][0])")
    assert done.returncode == 0, done.stderr
    assert repr(name) in done.stdout
    for other, runs_here in SETS:
        assert f"{other}{'' if runs_here else ' (not here)'}" in done.stdout


def test_a_set_is_for_every_cpu():
    assert any(runs_here for _, runs_here in SETS)
    assert len({name for name, _ in SETS}) == len(SETS) >= 2


def test_the_variable_is_read_when_a_backend_is_made(monkeypatch):
    from exactla_backends.cpu.backend import CpuBackend

    monkeypatch.setenv(VARIABLE, "none-such")
    with pytest.raises(BackendUnavailable, match="none-such"):
        CpuBackend()
    monkeypatch.setenv(VARIABLE, "")
    assert CpuBackend().name == "cpu"
    assert xl.mm([[2.0]], [[3.0]]).tolist() == [[6.0]]
