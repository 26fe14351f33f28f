"""The file of SPIR-V that comes with exactla: all modules that launches take, and no arithmetic of floats in any."""

import zipfile

import pytest

from exactla_backends.device.launches import roughly
from exactla_backends.kernels import modules, spirv
from exactla_backends.kernels.ways import BYTES, MATRIX_UNITS
from exactla_backends.sycl.runtime import path_of_modules

TYPE_FLOAT, ENTRY_POINT, SPEC_CONSTANT, DOT = 22, 15, 50, 4452
WITH_LIMBS = ("residues8", "residues16", "integers", "round", "round_certified", "mark", "interval_pieces")
WITHOUT = ("fill", "scan", "exponents", "truncate", "gather", "scatter", "store", "combine", "classify")


@pytest.fixture(scope="module")
def file():
    path = path_of_modules()
    if path is None:
        pytest.skip(f"kernels as SPIR-V NOT EXERCISED: {spirv.why_none() or 'exactla was built without it'}")
    with zipfile.ZipFile(path) as found:
        yield found


def operations(module):
    return [modules.operation(x) for x in modules.instructions(module)]


def test_no_floats(file):
    for name in file.namelist():
        found = operations(file.read(name))
        assert TYPE_FLOAT not in found, name
        assert ENTRY_POINT in found, name


def test_the_file_has_what_the_list_says(file):
    assert file.namelist() == [module.name for module in modules.modules()]


def test_each_launch_has_a_module(file):
    names = set(file.namelist())
    for kernel in WITHOUT:
        assert modules.chosen(kernel, {"XL_MAX_LIMBS": 1, "XL_MAX_GROUPS": 1}) == (kernel, ())
        assert {kernel, kernel + modules.DOTS} <= names
    for kernel in WITH_LIMBS:
        assert modules.chosen(kernel, {"XL_MAX_LIMBS": 5, "XL_MAX_GROUPS": 6, "XL_FIXED": 20}) == (
            f"{kernel}-fixed",
            (5, 6, 20),
        )
        for limbs in (1, 12, 13, 16, 17, 64, 200, 1000, 4096):
            chosen = modules.chosen(kernel, {"XL_MAX_LIMBS": roughly(limbs), "XL_MAX_GROUPS": roughly(limbs + 2)})
            assert chosen.name in names
            assert int(chosen.name.rpartition("-")[2]) >= limbs
    for kernel in ("pack_right", "multiply"):
        for octets in (1, 2):
            for way in (BYTES, *MATRIX_UNITS.values()):
                assert modules.chosen(kernel, way.macros(octets)).name in names


def test_integers_past_the_largest_are_refused():
    with pytest.raises(LookupError, match="8192 limbs"):
        modules.chosen("round", {"XL_MAX_LIMBS": 8192, "XL_MAX_GROUPS": 8192})


def test_specialisation_constants_become_constants(file):
    for name in file.namelist():
        if "-fixed" in name:
            module = file.read(name)
            found = modules.specialised(module, (11, 13, 17))
            assert SPEC_CONSTANT in operations(module)
            assert SPEC_CONSTANT not in operations(found)
            constants = {x[3] for x in modules.instructions(found) if modules.operation(x) == 43}
            assert 11 in constants


def test_dot_products_are_instructions(file):
    for kernel in ("residues8-fixed", "round-fixed", "multiply-1", "multiply-2"):
        plain, dots = (operations(file.read(kernel + end)) for end in ("", modules.DOTS))
        assert DOT not in plain
        assert DOT in dots
        assert b"dot_4x8packed" not in file.read(kernel + modules.DOTS)
