"""The standalone checker: it passes the suite, and finds whatever is spoiled in the file, the plan or a kernel."""

import hashlib
import importlib.util
import re
import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import exactla as xl
from exactla.core.moduli import ResidueBase, residue_base
from exactla_backends.kernels import tables
from exactla_conformance import export as exporting
from exactla_conformance.cases import all_cases
from exactla_conformance.digests import load_reference
from exactla_conformance.export import LEFT_OUT, MAGIC, export
from tests.made_once import made_once

PATH = Path(__file__).resolve().parents[2] / "conformance" / "checker" / "architectures.py"
ALL_PASSED, SOME_FAILED, UNUSABLE = range(3)


def _load():
    specification = importlib.util.spec_from_file_location("checker_architectures", PATH)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


architectures = _load()
NATIVE = architectures.ARCHITECTURES[0]

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="the checker is NOT EXERCISED: no gcc")


@pytest.fixture(scope="module")
def program():
    key = hashlib.sha256(repr((NATIVE, architectures.FLAGS)).encode())
    for folder in (architectures.CHECKER, architectures.KERNELS, architectures.MATRIX):
        for source in sorted((architectures.ROOT / folder).glob("*.[ch]")):
            key.update(source.read_bytes())

    def make(path):
        assert architectures.build(NATIVE, path) == ""

    return made_once(f"checker-{key.hexdigest()[:24]}", make)


@pytest.fixture
def run(program):
    def start(*arguments):
        command = [str(program), *map(str, arguments)]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)

    return start


@pytest.fixture
def cases(tmp_path):
    """Exports cases; returns the path."""

    def write(select, name="cases.bin"):
        export(tmp_path / name, select)
        return tmp_path / name

    return write


# ---- what is right --------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_whole_suite_passes(run, tmp_path):
    count = export(tmp_path / "cases.bin")
    done = run(tmp_path / "cases.bin")
    assert done.stdout.splitlines()[-1] == f"{count} passed, 0 failed"
    assert done.returncode == ALL_PASSED
    assert count == sum(case.function not in LEFT_OUT for case in all_cases().values())


FAMILIES = """
    reported-* *stack-* empty-* gram-* batch-* nt-* exact-* int* complex64-* nonfinite-* midrad-float32-* bounds-*8_*
    unlike-* spread-* *overflow* layout-float16-*
"""


@pytest.mark.parametrize("select", FAMILIES.split())
def test_families_pass(run, cases, select):
    done = run(cases(select))
    assert re.fullmatch(r"[1-9]\d* passed, 0 failed", done.stdout.splitlines()[-1]), done.stdout
    assert done.returncode == ALL_PASSED


@pytest.mark.parametrize("length", [0, 1, 3, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1000])
def test_sha256_is_hashlibs(run, tmp_path, length):
    data = bytes(i * i % 251 for i in range(length))
    (tmp_path / "data").write_bytes(data)
    assert run("--sha256", tmp_path / "data").stdout == hashlib.sha256(data).hexdigest() + "\n"


def test_sources_hold_no_floating_point():
    root = architectures.ROOT
    folders = (architectures.CHECKER, architectures.KERNELS)
    files = [*architectures.SOURCES, *(path for folder in folders for path in (root / folder).glob("*.[ch]"))]
    for file in files:
        code = re.sub(r"/\*.*?\*/|\"[^\"\n]*\"", " ", (root / file).read_text(), flags=re.DOTALL)
        assert not re.search(r"\b(float|double|_Float\w*|__fp16|\d+\.\d*f?|\d+[eE][+-]?\d+)\b", code), file


@pytest.mark.skipif(not NATIVE.flags, reason="floating point is NOT refused by this compiler")
def test_the_native_build_refuses_floating_point(tmp_path):
    (tmp_path / "half.c").write_text("double half(double x) { return x / 2; }\n")
    command = [NATIVE.compiler, *NATIVE.flags, "-c", "half.c"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode != 0


# ---- spoiled files --------------------------------------------------------------------------------------------------
def spoil(path, place, bit=1):
    data = bytearray(path.read_bytes())
    data[place] ^= bit
    path.write_bytes(bytes(data))


def test_another_frozen_digest_is_found(run, cases):
    path = cases("reported-square")
    frozen = load_reference(xl.BITS_VERSION).cases["reported-square"].output
    spoil(path, path.read_bytes().index(bytes.fromhex(frozen)))
    done = run(path)
    assert done.returncode == SOME_FAILED
    other = f"{int(frozen[:2], 16) ^ 1:02x}{frozen[2:]}"
    assert done.stdout.splitlines()[2:] == [
        "reported-square: the digest of the results differs",
        f"    found  {frozen}",
        f"    frozen {other}",
        "0 passed, 1 failed",
    ]


def test_another_operand_is_found(run, cases):
    path = cases("reported-square")
    entry = all_cases()["reported-square"].operands()[0].entries[1]
    spoil(path, path.read_bytes().index(struct.pack("<Q", entry)))
    done = run(path)
    assert done.returncode == SOME_FAILED
    assert "reported-square: the digest of the operands differs" in done.stdout


def test_a_spoiled_constant_is_found(run, cases):
    path = cases("spread-float32-8")
    case = all_cases()["spread-float32-8"]
    base = exporting._base(exporting._product_plan(case, case.operands()).bits)
    weights = tables.crt(base, 1).weights.astype("<u4").tobytes()
    spoil(path, path.read_bytes().index(weights) + len(weights) // 2)
    done = run(path)
    assert done.returncode == SOME_FAILED
    assert "the digest of the results differs" in done.stdout


@pytest.mark.parametrize(
    ("place", "bit", "message"),
    [
        (0, 1, "is no case file of this version"),
        (-1, None, "the file ends in the middle of a record"),
        (len(MAGIC) + 6, 0xFF, "the file is too short for what it claims to hold"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(run, cases, place, bit, message):
    path = cases("reported-square")
    if bit is None:
        path.write_bytes(path.read_bytes()[:place])
    else:
        spoil(path, place, bit)
    done = run(path)
    assert done.returncode == UNUSABLE
    assert message in done.stderr


def test_no_file_is_refused(run, tmp_path):
    done = run(tmp_path / "absent.bin")
    assert done.returncode == UNUSABLE
    assert "absent.bin" in done.stderr
    assert run().returncode == UNUSABLE


# ---- plans that do not hold -----------------------------------------------------------------------------------------
def test_too_few_moduli_are_found(run, cases, monkeypatch):
    monkeypatch.setattr(exporting, "_base", lambda bits: residue_base(256, bits - 8))
    done = run(cases("spread-float64-8"))
    assert done.returncode == SOME_FAILED
    assert "spread-float64-8: the scan finds more bits than the moduli hold" in done.stdout


def test_too_few_limbs_are_found(run, cases, monkeypatch):
    def narrow(case, operands):
        plan = planned(case, operands)
        return replace(plan, sides=tuple(side._replace(bits=side.bits // 2) for side in plan.sides))

    planned = exporting._product_plan
    monkeypatch.setattr(exporting, "_product_plan", narrow)
    for name in ("spread-float64-30", "spread-float64-2097", "int-wide-exact"):
        done = run(cases(name))
        assert done.returncode == SOME_FAILED
        assert "the scan finds more bits than the residue tables hold" in done.stdout


def test_moduli_with_a_common_divisor_are_refused(run, cases, monkeypatch):
    spoiled = ResidueBase((255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 211, 199, 197, 186))
    monkeypatch.setattr(exporting, "_base", lambda bits: spoiled)
    monkeypatch.setattr(ResidueBase, "weights", (1,) * len(spoiled.moduli))
    done = run(cases("spread-float32-8"))
    assert done.returncode == UNUSABLE
    assert "moduli 186 and 255 of the file have a divisor in common" in done.stderr


def test_what_is_not_finite_has_to_be_asked_for(run, cases, monkeypatch):
    known = all_cases()["nonfinite-float32"]
    case = replace(known, keywords={})
    monkeypatch.setattr(exporting, "select_cases", lambda pattern: {case.name: case})
    done = run(cases("nonfinite-float32"))
    assert done.returncode == SOME_FAILED
    assert "nonfinite-float32: an entry is not finite" in done.stdout


def test_other_keywords_are_other_cases(run, cases, monkeypatch):
    known = all_cases()["straddling-sharp"]
    case = replace(known, keywords={**known.keywords, "method": "rump"})
    monkeypatch.setattr(exporting, "select_cases", lambda pattern: {case.name: case})
    assert "the digest of the results differs" in run(cases("straddling-sharp")).stdout


# ---- spoiled kernels ------------------------------------------------------------------------------------------------
MUTANTS = {
    "rounding forgets what lies below": (
        "xl_round.h",
        "const uint64_t inexact = next | x->sticky[w]",
        "const uint64_t inexact = next",
    ),
    "ties go away from zero": ("xl_round.h", "(nearest & next & (x->sticky[w] | truncated))", "(nearest & next)"),
    "a carry is lost": ("xl_crt.h", "carry[w] = high >> 16;", "carry[w] = 0;"),
    "signs are lost": ("xl_format.h", "x->negative[w] = negative;", "x->negative[w] = 0;"),
    "straddling is forgotten": ("host_intervals.h", "straddles[w] = 0u - one;", "straddles[w] = 0;"),
    "a NaN becomes an infinity": ("xl_special.h", "encodings[w] = nan ? f.nan", "encodings[w] = nan & 2 ? f.nan"),
}


@pytest.fixture(scope="module")
def quick_cases(tmp_path_factory):
    """All cases but those of long sums."""
    path = tmp_path_factory.mktemp("checker") / "cases.bin"
    export(path, "[!lw]*")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_spoiled_kernel_is_found(mutant, tmp_path, quick_cases):
    name, before, after = MUTANTS[mutant]
    for folder in (architectures.CHECKER, architectures.KERNELS, architectures.MATRIX):
        shutil.copytree(architectures.ROOT / folder, tmp_path / "copy" / folder)
    file = tmp_path / "copy" / architectures.KERNELS / name
    text = file.read_text()
    assert text.count(before) == 1
    file.write_text(text.replace(before, after))
    assert architectures.build(NATIVE, tmp_path / "checker", tmp_path / "copy") == ""
    command = [str(tmp_path / "checker"), str(quick_cases)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == SOME_FAILED
    assert int(done.stdout.splitlines()[-1].split()[-2]) > 0


# ---- the table of architectures -------------------------------------------------------------------------------------
def test_run_prints_a_line_for_each(capsys):
    assert architectures.main(["native", "--no-install", "--select", "reported-square"]) == 0
    line, verdict = capsys.readouterr().out.splitlines()
    assert re.match(r"native +gcc .*-endian, .*-bit addresses +1 passed, 0 failed", line)
    assert verdict == "PASS"


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--all"], 1)])
def test_a_missing_architecture_is_loud(monkeypatch, capsys, options, status):
    absent = replace(NATIVE, name="vax", compiler="vax-gcc", packages=("gcc-vax",))
    monkeypatch.setattr(architectures, "ARCHITECTURES", (NATIVE, absent))
    assert architectures.main(["--no-install", "--select", "reported-square", *options]) == status
    output = capsys.readouterr().out
    assert re.search(r"^vax +NOT EXERCISED: no vax-gcc; apt-get install gcc-vax$", output, re.MULTILINE)
    assert output.splitlines()[-1] == ("FAIL" if status else "PASS")


def test_nothing_exercised_is_a_failure(monkeypatch, capsys):
    monkeypatch.setattr(architectures, "ARCHITECTURES", (replace(NATIVE, compiler="vax-gcc"),))
    assert architectures.main(["--no-install", "--select", "reported-square"]) == 1
    assert "NOT EXERCISED" in capsys.readouterr().out


def test_a_checker_that_fails_is_shown(monkeypatch, capsys, tmp_path):
    path = tmp_path / "cases.bin"
    export(path, "reported-square")
    spoil(path, path.stat().st_size - 1)
    outcome = architectures.exercise(NATIVE, tmp_path, path)
    assert not outcome.passed
    assert outcome.result == "0 passed, 1 failed"
    assert "the digest of the results differs" in outcome.output


def test_a_machine_runs_what_it_can_without_the_emulator(tmp_path):
    export(tmp_path / "cases.bin", "reported-square")
    foreign = replace(NATIVE, emulator="qemu-vax", also_on=architectures.NATIVE)
    outcome = architectures.exercise(foreign, tmp_path, tmp_path / "cases.bin")
    assert outcome.passed
    assert outcome.machine.startswith(f"{architectures.NATIVE}, ")


def test_what_a_machine_cannot_run_is_emulated(monkeypatch):
    monkeypatch.setattr(architectures, "NATIVE", "vax")
    foreign = replace(NATIVE, emulator="qemu-i386", also_on="vax")
    assert architectures._emulator(foreign, Path(__file__)) == "qemu-i386"  # no program
    assert architectures._emulator(replace(foreign, also_on=""), Path(__file__)) == "qemu-i386"


def test_what_does_not_compile_is_shown(tmp_path):
    broken = replace(NATIVE, flags=("-DXL_TARGET=",))
    outcome = architectures.exercise(broken, tmp_path, tmp_path / "none.bin")
    assert (outcome.result, outcome.passed) == ("DOES NOT COMPILE", False)
    assert "error" in outcome.output


@pytest.mark.slow
@pytest.mark.parametrize("architecture", architectures.ARCHITECTURES[1:], ids=lambda a: a.name)
def test_other_architectures(architecture, tmp_path):
    if architecture.missing():
        pytest.skip(f"{architecture.name} NOT EXERCISED: no {', '.join(architecture.missing())}")
    export(tmp_path / "cases.bin", "[bcegimnrsu]*-float32*")
    outcome = architectures.exercise(architecture, tmp_path, tmp_path / "cases.bin")
    assert outcome.passed, outcome.output
