"""No floating-point arithmetic in what compilers make of the kernels: host code, PTX and SPIR-V."""

import re
import shutil
import subprocess

import pytest

from exactla_backends.kernels import modules, spirv
from exactla_backends.kernels.text import device_text
from exactla_backends.kernels.ways import BYTES
from tests.backends.kernels import building, compiling

# x86: scalar and packed arithmetic, comparison and conversion of floats, also fused, and the x87 unit; not moves and
# logic, which compilers use on integers too. AArch64: the instructions that begin with f, and conversions.
_X86 = re.compile(
    r"\sv?(?:(?:add|sub|mul|div|sqrt|min|max|round|rcp14|rsqrt14|rcp|rsqrt|cmp\w*|u?comi|scalef|getexp|getmant|dp|hadd|"
    r"hsub|addsub|reduce|range|fixupimm|rndscale)[ps][sdh]|f(?:n?m(?:add|sub)|maddsub|msubadd)\d*[ps][sdh]|"
    r"cvt\w*[ps][sdh]\w*)\s|\sf(?:add|sub|mul|div|ild|ist|ld|st|com|sqrt)\w*\s"
)
_ARM = re.compile(r"\t(?:f(?!mov\b)[a-z]+|[su]cvtf)\s")
KERNELS = 20
_PTX = re.compile(r"\.(?:f16|bf16|f32|f64)(?:x2)?\b")


def floating_instructions(listing: str, pattern: re.Pattern[str]) -> list[str]:
    return [line.strip() for line in listing.splitlines() if pattern.search(line)]


@pytest.mark.parametrize("variant", building.variants(), ids=lambda variant: variant.name)
def test_host(variant):
    reason = "no compiler" if building.compiler() is None else None if shutil.which("objdump") else "no objdump"
    if reason is not None:
        pytest.skip(f"disassembly of {variant.name} NOT EXERCISED: {reason}")
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(building.build(variant))],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert f"<xl_round_{variant.name}>" in listing
    assert floating_instructions(listing, _ARM if "aarch64" in listing[:200] else _X86) == []


@pytest.mark.parametrize("architecture", ["compute_80", "compute_90"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_ptx(architecture, lanes):
    reason = compiling.why_no_ptx()
    if reason is not None:
        pytest.skip(f"kernels under NVRTC NOT EXERCISED: {reason}")
    listing = compiling.ptx(architecture, [f"-DXL_LANES={lanes}", *compiling.DEFINES])
    assert listing.count(".visible .entry xl_kernel_") == KERNELS
    assert "dp4a.u32.s32" in listing
    assert floating_instructions(listing, _PTX) == []


def operations(module):
    """The operations of SPIR-V."""
    return [modules.operation(x) for x in modules.instructions(module)]


def made(text, options):
    if spirv.why_none() is not None:
        pytest.skip(f"kernels as SPIR-V NOT EXERCISED: {spirv.why_none()}")
    return operations(spirv.spirv(text, options))


TYPE_FLOAT, CONVERT_TO_FLOAT, ENTRY_POINT = 22, 111, 15


@pytest.mark.parametrize("lanes", [1, 4])
def test_spirv(lanes):
    found = made(device_text(), (f"-DXL_LANES={lanes}", *compiling.DEFINES))
    assert found.count(ENTRY_POINT) == KERNELS
    assert TYPE_FLOAT not in found


@pytest.mark.parametrize("octets", [1, 2])
def test_spirv_of_products(octets):
    found = made(modules.matrix_text(), [f"-D{name}={value}" for name, value in BYTES.macros(octets).items()])
    assert found.count(ENTRY_POINT) == 2
    assert TYPE_FLOAT not in found


def test_floats_in_spirv_are_found():
    """The negative control: where there is arithmetic of floats, there is their type."""
    text = "kernel void xl_kernel_float(global int *x) { x[0] = (int)((float)x[1] * 0.5f); }"
    found = made(text, ())
    assert TYPE_FLOAT in found
    assert CONVERT_TO_FLOAT in found


def test_floating_instructions_are_found():
    """The negative control: what the patterns are for, and what they let through."""
    bad = [
        "\tvaddpd %ymm0,%ymm1,%ymm2",
        "\tmulss %xmm0,%xmm1",
        "\tvfmadd213pd (%rax),%zmm1,%zmm2",
        "\tcvtsi2sd %rax,%xmm0",
    ]
    bad += ["\tfadd %st(1),%st", "\tvcvtdq2pd %ymm0,%zmm1", "\tucomisd %xmm0,%xmm1", "\tvminph %zmm0,%zmm1,%zmm2"]
    good = [
        "\tvpaddd %zmm0,%zmm1,%zmm2",
        "\tvmovaps %ymm0,(%rax)",
        "\tvxorps %xmm0,%xmm0,%xmm0",
        "\tshufps $1,%xmm0,%xmm1",
    ]
    assert [bool(floating_instructions(line, _X86)) for line in bad + good] == [True] * len(bad) + [False] * len(good)
    assert floating_instructions("\tfmla\tv0.2d, v1.2d, v2.2d", _ARM)
    assert not floating_instructions("\tfmov\td0, x1", _ARM)
    assert floating_instructions("\tfma.rn.f64 \t%fd1, %fd2, %fd3, %fd4;", _PTX)
