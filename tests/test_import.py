"""Importing exactla: NumPy and nothing heavier, little work, and no library for a call that does not need it."""

import json
import subprocess
import sys

import exactla as xl

HEAVY = {
    "torch",
    "jax",
    "jaxlib",
    "cupy",
    "dpnp",
    "dpctl",
    "array_api_strict",
    "ml_dtypes",
    "scipy",
    "tqdm",
    "flint",
    "hypothesis",
    "pytest",
    "matplotlib",
    "pandas",
    "mpmath",
}


def run(program):
    """What a program prints in a fresh interpreter, as JSON."""
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


NEW_MODULES = "import json, sys; before = set(sys.modules); {}; print(json.dumps(sorted(set(sys.modules) - before)))"


def packages(program):
    return {name.partition(".")[0] for name in run(NEW_MODULES.format(program))}


def test_no_array_library_but_numpy_is_imported():
    found = packages("import exactla")
    assert "numpy" in found
    assert not found & HEAVY


def test_no_package_beyond_the_dependencies_is_imported():
    allowed = {"numpy", "exactla", "exactla_backends", "gmpy2"} | set(sys.stdlib_module_names)
    assert not {name for name in packages("import exactla") - allowed if not name.startswith("_")}


def test_a_product_of_numpy_arrays_imports_no_other_library():
    program = "import numpy, exactla; exactla.mm(numpy.eye(2), numpy.eye(2))"
    assert not packages(program) & (HEAVY - {"ml_dtypes"})


def test_a_result_of_a_small_float_imports_its_types():
    assert "ml_dtypes" in packages("import exactla; exactla.mm([[1.0]], [[1.0]], dtype='bfloat16')")


LATER = {
    "exactla.cli",
    "exactla.exact_numbers",
    "exactla.factoring",
    "exactla.gallery",
    "exactla.multiprecision",
    "exactla.solving",
    "exactla_backends",
}
"""What is imported when it is first used."""


def test_parts_are_imported_when_they_are_used():
    found = run(NEW_MODULES.format("import exactla"))
    assert "exactla.products" in found
    assert not {".".join(name.split(".")[:depth]) for name in found for depth in (1, 2)} & LATER
    used = run(NEW_MODULES.format("import exactla; exactla.mp_mm, exactla.lu_factor, exactla.solve, exactla.gallery"))
    assert {"exactla.multiprecision", "exactla.factoring", "exactla.solving", "exactla.gallery"} <= set(used)


def test_importing_does_little():
    program = """
import json, sys, numpy
calls = 0
def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
sys.setprofile(count)
import exactla
sys.setprofile(None)
print(json.dumps(calls))
"""
    # some 54,000 calls, of which most make modules of the standard library; a table of some moduli would take more
    assert 10_000 < run(program) < 150_000


def test_every_public_name_is_there():
    assert sorted(xl.__all__) == sorted(set(xl.__all__))
    for name in xl.__all__:
        assert getattr(xl, name).__doc__ if callable(getattr(xl, name)) else hasattr(xl, name)
    names = (
        "mm mm_nt bmm mm_enclose mm_enclose_nt bmm_enclose mm_exact mm_interval mm_interval_bounds width_ulps digest"
    )
    names += " operand_checks set_operand_checks backend engine backends Info Enclosure workspace_limit"
    assert set(names.split()) <= set(xl.__all__)
    assert isinstance(xl.__version__, str)


def test_an_import_does_not_change_what_numpy_does():
    program = "import json, numpy; x = numpy.geterr(); import exactla; print(json.dumps([x, numpy.geterr()]))"
    before, after = run(program)
    assert before == after


def test_multiple_precision_is_one_package_under_three_names():
    from exactla import mparray, multiprecision

    assert mparray.MPArray is multiprecision.MPArray is xl.MPArray
    assert multiprecision.mp_mm is xl.mp_mm
