"""The choice of kernels and their check: right ones pass, spoiled ones do not; sanitizers and other architectures."""

import shutil
import subprocess

import pytest

from tests.backends.cpu.matrix import building


def test_listed_kernels_and_their_choice(native):
    names = native.names()
    assert names[-1] == "portable"
    fastest = native.select(None)
    assert fastest is not None
    assert fastest.name == next(name for name in names if native.select(name) is not None)


def test_unknown_kernels_are_refused(native):
    assert native.select("abacus") is None
    assert native.select("") is None


def test_check(kernels):
    assert kernels.check() == 1


def run(program, *emulator):
    """What each of the kernels' checks said."""
    done = subprocess.run([*emulator, str(program)], check=False, capture_output=True, text=True)
    lines = done.stdout.split()
    assert lines, done.stderr
    assert (done.returncode == 0) == ("WRONG" not in lines), done.stderr
    return dict(zip(lines[::2], lines[1::2], strict=True))


SPOILED = {
    "offset": ("avx512_reduce.h", "_mm512_dpbusd_epi32(c->offset2,", "_mm512_dpbusd_epi32(c->half,", "avx512_vnni"),
    "centre": ("avx512_reduce.h", "_mm512_sub_epi8(r, c->half)", "r", "amx"),
    "correction": ("vnni.h", "(uint32_t)-128 *", "(uint32_t)-127 *", "avx512_vnni"),
    "rows": ("registers.h", "row + i < block->rows ? row + i : 0", "row", "avx_vnni"),
    "saturation": ("avx2.c", "_mm256_madd_epi16(a, b1)", "_mm256_maddubs_epi16(a, b1)", "avx2"),
    "unsigned": ("amx.c", "_tile_dpbssd(3", "_tile_dpbsud(3", "amx"),
    "remainder": ("portable_reduce.h", "r < m ? r : r - m", "r", "portable"),
    "sign": ("tile.c", ".negate = of->done == of->negative", ".negate = 0", "portable"),
    "length": ("tile.c", ".fold = of->room < XL_CHUNK", ".fold = 0", "portable"),
    "waiting": ("tile.c", "finish(work); /* before", "; /* before", "amx"),
}


@pytest.mark.parametrize("spoiled", SPOILED)
def test_spoiled_kernels_are_found(native, tmp_path, spoiled):
    """The negative control: one wrong constant, instruction or condition, and the check fails."""
    name, text, instead, kernels = SPOILED[spoiled]
    if native.select(kernels) is None:
        pytest.skip(f"check of spoiled {kernels} kernels NOT EXERCISED: they do not run here")
    shutil.copytree(building.SOURCES, tmp_path, dirs_exist_ok=True)
    source = (tmp_path / name).read_text()
    assert source.count(text) == 1
    (tmp_path / name).write_text(source.replace(text, instead))
    assert run(building.build(tmp_path, [building.SELFCHECK], ("-O1", "-w")))[kernels] == "WRONG"


def test_sanitizers(native):
    flags = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    found = run(building.build(building.SOURCES, [building.SELFCHECK], flags))
    assert set(found) == set(native.names())
    assert set(found.values()) <= {"right", "absent"}


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [
        ("max", {"neon_i8mm": "right", "neon_dotprod": "right", "portable": "right"}),
        ("neoverse-n1", {"neon_i8mm": "absent", "neon_dotprod": "right", "portable": "right"}),
        ("cortex-a57", {"neon_i8mm": "absent", "neon_dotprod": "absent", "portable": "right"}),
    ],
)
def test_aarch64(cpu, expected):
    compiler, emulator = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
    if compiler is None or emulator is None:
        pytest.skip("NEON kernels NOT EXERCISED: apt-get install gcc-aarch64-linux-gnu qemu-user")
    program = building.build(building.SOURCES, [building.SELFCHECK], ("-O3", "-static"), compiler)
    assert run(program, emulator, "-cpu", cpu) == expected
