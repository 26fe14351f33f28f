"""Every kernel of the CUDA backend compiles without a device, for each generation, into integer instructions alone.

The one exception belongs to the engines fp16 and fp64, whose sums cuBLAS makes and leaves as floats: `reduce.cu` takes
them to integers by one conversion, and residues to float64 by another, exact since all of them are integers of fewer
bits than a significand has.
"""

import ctypes
import re

import pytest

from exactla.formats import BFLOAT16, FLOAT8_E4M3FN, FLOAT8_E5M2FNUZ, FLOAT32, FLOAT64, INTEGER_FORMATS
from exactla_backends.kernels.text import device_text, kernel_text
from tests.backends.cuda import nvrtc
from tests.backends.kernels import compiling
from tests.backends.kernels.data import base_for
from tests.backends.kernels.test_no_floats import _PTX, floating_instructions

TARGETS = ("sm_80", "sm_90", "sm_100")
_CONVERSION = re.compile(r"(ld|st)\.global(\.nc)?\.f\d|cvt\.rzi\.s(32|64)\.f\d|cvt\.rn\.f(32|64)\.s32|\.reg \.f\d")
SERIALIZED = "C7515"
"""The assembler's warning that products wait for each other."""


@pytest.fixture(scope="module", autouse=True)
def compiler():
    reason = compiling.why_no_ptx()
    if reason is not None:
        pytest.skip(f"CUDA kernels under NVRTC NOT EXERCISED: {reason}")


@pytest.fixture(params=TARGETS)
def target(request):
    number = int(request.param.removeprefix("sm_"))
    if number not in nvrtc.architectures():
        pytest.skip(f"this NVRTC does not know {request.param}")
    return request.param


def compiled(cuda, source, target):
    text, name, options = source
    found = nvrtc.compiled(text, (*cuda.driver._OPTIONS, *options), target)
    assert f".entry {name}(" in found.ptx
    assert "warning" not in found.log, found.log
    return found


def spilled(log):
    """Octets of registers that a kernel keeps in memory."""
    return sum(int(n) for n in re.findall(r"(\d+) bytes spill", log))


def parameter_bytes(ptx, name):
    """Sizes of a kernel's parameters that are structures."""
    return [int(n) for n in re.findall(rf"\.b8 {name}_param_\d+\[(\d+)\]", ptx)]


@pytest.mark.parametrize("rows_first", [False, True])
@pytest.mark.parametrize("format", [FLOAT64, FLOAT8_E5M2FNUZ, INTEGER_FORMATS["int64"]], ids=str)
@pytest.mark.parametrize("kernel", ["scan", "exponents", "count"])
def test_looks_at_rows(cuda, target, kernel, format, rows_first):
    source = getattr(cuda.elements, f"_{kernel}_source")(format, rows_first)
    found = compiled(cuda, source, target)
    assert floating_instructions(found.ptx, _PTX) == []
    assert parameter_bytes(found.ptx, source[1]) == [8 * {"scan": 10, "exponents": 9, "count": 11}[kernel]]


@pytest.mark.parametrize(("left", "right", "limbs"), [(FLOAT64, FLOAT64, 6), (FLOAT32, BFLOAT16, 12)], ids=str)
def test_settling(cuda, target, left, right, limbs):
    found = compiled(cuda, cuda.elements._settle_source(left, right, left, limbs), target)
    assert floating_instructions(found.ptx, _PTX) == []


@pytest.mark.parametrize("rows_first", [False, True])
@pytest.mark.parametrize(
    ("format", "limbs", "lanes"),
    [(FLOAT64, 3, 16), (FLOAT64, 12, 16), (FLOAT32, 2, 4), (FLOAT8_E4M3FN, 1, 4), (INTEGER_FORMATS["uint32"], 2, 16)],
    ids=str,
)
def test_residues(cuda, target, format, limbs, lanes, rows_first):
    source = cuda.elements._residues_source(format, limbs, rows_first, lanes)
    found = compiled(cuda, source, target)
    assert floating_instructions(found.ptx, _PTX) == []
    assert "dp4a.u32.s32" in found.ptx
    table = cuda.elements._residue_rows(base_for(256, 60), limbs)
    assert parameter_bytes(found.ptx, source[1]) == [8 * 16, ctypes.sizeof(table)]


@pytest.mark.parametrize("certified", [False, True])
@pytest.mark.parametrize(
    ("format", "bits"), [(FLOAT64, 166), (FLOAT64, 355), (BFLOAT16, 20), (FLOAT8_E4M3FN, 4)], ids=str
)
def test_round(cuda, target, format, bits, certified):
    base = base_for(256, bits)
    source = cuda.elements._round_source(format, cuda.elements.crt_limbs(base), -(-len(base.moduli) // 2), certified)
    found = compiled(cuda, source, target)
    assert floating_instructions(found.ptx, _PTX) == []
    assert "dp2a.lo.u32.u32" in found.ptx
    table = cuda.elements._crt_pairs(base)
    assert parameter_bytes(found.ptx, source[1]) == [8 * 21, ctypes.sizeof(table)]


def test_the_kernels_of_large_products_keep_their_numbers_in_registers(cuda):
    """Normally distributed float64 at n = 8,192: 22 moduli, three limbs in and six out. A word or two may leave."""
    base = base_for(256, 168)
    for source in (
        cuda.elements._residues_source(FLOAT64, 3, False, 16),
        cuda.elements._residues_source(FLOAT64, 3, True, 16),
        cuda.elements._round_source(FLOAT64, cuda.elements.crt_limbs(base), len(base.moduli) // 2, False),
    ):
        assert spilled(compiled(cuda, source, "sm_90").log) <= 16


@pytest.mark.parametrize("digits", [1, 2])
@pytest.mark.parametrize("kind", ["int8", "fp16", "fp64"])
def test_reductions_of_sums(cuda, target, kind, digits):
    options = (f"-DXL_SUM={cuda.blas.KINDS[kind].sum_name}", f"-DXL_DIGITS={digits}")
    found = compiled(cuda, (cuda.blas._text(), "xl_reduce", options), target)
    floating = floating_instructions(found.ptx, _PTX)
    if kind == "int8":
        assert floating == []
    else:
        assert floating, "the engine's sums are floats"
        assert all(_CONVERSION.match(line) for line in floating)


@pytest.mark.parametrize("limits", [("-DXL_MAX_LIMBS=6", "-DXL_MAX_GROUPS=6", "-DXL_FIXED=22"), ("-DXL_MAX_LIMBS=64",)])
@pytest.mark.parametrize("kernel", re.findall(r"^XL_KERNEL xl_kernel_(\w+)", device_text(), re.MULTILINE))
def test_kernels_of_all_devices(cuda, kernel, limits):
    groups = () if "-DXL_MAX_GROUPS=6" in limits else ("-DXL_MAX_GROUPS=64",)
    options = (*limits, *groups, f"-DXL_LANES={cuda.device.CudaDevice.lanes}")
    found = compiled(cuda, (kernel_text(kernel), f"xl_kernel_{kernel}", options), "sm_80")
    assert floating_instructions(found.ptx, _PTX) == []


@pytest.mark.parametrize(
    "variant",
    [
        *((columns, 1, False, False) for columns in (64, 128, 256)),
        *((columns, 2, True, True) for columns in (64, 128, 256)),
        *((256, 1, True, False), (256, 1, False, True), (256, 2, True, False)),
    ],
    ids=str,
)
def test_products_of_hopper(cuda, variant):
    """Sums stay in registers; where 256 columns are added to what is there, a few do not while that is done."""
    source = cuda.hopper.source(cuda.hopper.Variant(*variant))
    found = compiled(cuda, source, "sm_90a")
    columns, _, _, is_signed = variant
    assert floating_instructions(found.ptx, _PTX) == []
    assert f"wgmma.mma_async.sync.aligned.m64n{columns}k32.s32.s8.s8" in found.ptx
    assert SERIALIZED not in found.log
    assert spilled(found.log) <= (256 if columns == 256 and is_signed else 0)
    sizes = ctypes.sizeof(cuda.driver.TensorMap), ctypes.sizeof(cuda.hopper._Problem)
    assert parameter_bytes(found.ptx, source[1]) == [sizes[0], sizes[0], sizes[1]]


def test_the_stages_of_hopper_fit_its_shared_memory(cuda):
    for columns in (64, 128, 256):
        *_, stages = cuda.hopper.source(cuda.hopper.Variant(columns, 1, False, False))[2]
        count = int(stages.removeprefix("-DXL_STAGES="))
        used = 1023 + count * (cuda.hopper.ROWS + columns) * cuda.hopper.DEPTH + 16 * count
        assert count >= 4
        assert used <= 227 << 10


def test_what_the_tests_look_for_is_found(cuda):
    """The negative controls: a float, a spill and a text that is wrong."""
    text = 'extern "C" __global__ void f(int *x, float y) { *x = (int)(y * 2.0f); }'
    assert floating_instructions(nvrtc.compiled(text, (), "sm_80").ptx, _PTX)
    many = "".join(f"int a{i} = x[{i}];" for i in range(100))
    sums = "".join(f"x[{i}] = a{99 - i};" for i in range(100))
    text = f'extern "C" __global__ void __launch_bounds__(1024) f(volatile int *x) {{ {many} {sums} }}'
    assert spilled(nvrtc.compiled(text, (), "sm_80").log)
    with pytest.raises(RuntimeError, match="undefined"):
        nvrtc.compiled("__global__ void f() { undefined; }", (), "sm_80")
