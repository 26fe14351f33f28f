"""The pytest plugin, in a pytest of its own: nothing without its option, a test for each case with it."""

import os
import subprocess
import sys

import pytest

from exactla_conformance.cases import all_cases

SPOILED = """
import pytest
import exactla as xl

@pytest.fixture(autouse=True, scope="session")
def spoiled():
    xl.digest = lambda *arrays: "0"

def test_nothing(spoiled):
    pass
"""


def run_pytest(folder, *arguments):
    """The output of pytest with the plugin, and without any other that happens to be installed."""
    environment = dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    command = [sys.executable, "-m", "pytest", "-p", "exactla_conformance.plugin", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_without_the_option_nothing_is_added(tmp_path):
    code, text = run_pytest(tmp_path)
    assert code == pytest.ExitCode.NO_TESTS_COLLECTED, text


def test_a_test_for_each_case(tmp_path):
    code, text = run_pytest(tmp_path, "--exactla-conformance", "numpy", "--collect-only", "-q")
    assert code == 0, text
    assert sum("conformance[" in line for line in text.splitlines()) == len(all_cases())


def test_the_cases_pass_on_the_numpy_backend(tmp_path):
    code, text = run_pytest(tmp_path, "--exactla-conformance", "numpy", "-k", "reported")
    assert code == 0, text
    assert "9 passed" in text


def test_a_difference_fails_with_its_report(tmp_path):
    (tmp_path / "test_spoiled.py").write_text(SPOILED)
    code, text = run_pytest(tmp_path, "--exactla-conformance", "numpy", "-k", "nothing or reported-square")
    assert code == 1, text
    assert "reported-square: DIFFERS" in text
    assert "exactla.digest gives 0" in text


def test_an_unknown_backend_fails(tmp_path):
    code, text = run_pytest(tmp_path, "--exactla-conformance", "nowhere", "-k", "reported-square")
    assert code == 1, text
    assert "nowhere" in text
