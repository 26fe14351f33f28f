"""Every kernel of the CUDA backend compiles without a device, for each generation, into integer instructions alone.

The one exception belongs to the engines fp16 and fp64, whose sums cuBLAS makes and leaves as floats: `reduce.cu` takes
them to integers by one conversion, and residues to float64 by another, exact since all of them are integers of fewer
bits than a significand has. The engine fp8 is its matrix instruction, whose sums become integers.
"""

import ctypes
import re
from functools import partial

import pytest

from exactla.formats import BFLOAT16, FLOAT8_E4M3FN, FLOAT8_E5M2FNUZ, FLOAT16, FLOAT32, FLOAT64, INTEGER_FORMATS
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


@pytest.fixture
def build(cuda, target, monkeypatch):
    """A function that compiles what a launch would launch, with the parameters that it would pass."""
    return partial(built, cuda, monkeypatch, target=target)


def built(cuda, monkeypatch, launch, *arguments, target):
    """A kernel as a function of `elements` launches it: integers alone, and parameters of the sizes that it takes."""
    seen = []
    with monkeypatch.context() as patch:
        patch.setattr(cuda.driver, "kernel", lambda text, name, options, *_: (text, name, options))
        patch.setattr(cuda.elements, "Launch", lambda source, grid, block, given: seen.append((source, given)))
        launch(cuda.elements.Place(0, target), *arguments)
    ((source, given),) = seen
    found = compiled(cuda, source, target)
    assert floating_instructions(found.ptx, _PTX) == []
    assert parameter_bytes(found.ptx, source[1]) == [ctypes.sizeof(x) for x in given]
    return found


def entries(cuda, rows_first, rows=64, depth=64):
    """An operand of octets, somewhere."""
    return cuda.elements.Entries(0, rows * depth, *((1, rows) if rows_first else (depth, 1)), 1, rows, depth)


INT64, UINT32 = INTEGER_FORMATS["int64"], INTEGER_FORMATS["uint32"]


@pytest.mark.parametrize(
    ("format", "rows_first"),
    [(FLOAT64, False), (FLOAT32, True), (FLOAT8_E5M2FNUZ, False), (INT64, True)],
    ids=str,
)
def test_ranges_and_counts(cuda, build, format, rows_first):
    x = entries(cuda, rows_first)
    build(cuda.elements.scan, format, x, 0, 0)
    build(cuda.elements.exponents, format, x, 0, 0)
    if format is not INT64:
        build(cuda.elements.count_dropped, format, x, cuda.elements.Exponents(0, 0), 0)


RESIDUES = [
    (FLOAT64, 3, False, 16),
    (FLOAT64, 3, True, 4),
    (FLOAT64, 12, False, 4),
    (FLOAT32, 2, True, 16),
    (FLOAT16, 2, False, 16),
    (FLOAT8_E4M3FN, 1, True, 4),
    (UINT32, 2, False, 4),
]


@pytest.mark.parametrize(("format", "limbs", "rows_first", "lanes"), RESIDUES, ids=str)
def test_residues(cuda, build, format, limbs, rows_first, lanes):
    size = 2048 if lanes == cuda.elements.LANES else 64
    x = entries(cuda, rows_first, size, size)
    rest = cuda.elements.Exponents(0, 0), (0, size), (60, False, True, 0)
    found = build(cuda.elements.residues8, format, base_for(256, 60), limbs, x, *rest)
    assert "dp4a.u32.s32" in found.ptx
    assert f"-DXL_LANES={lanes}" in cuda.elements._residues_source(format, limbs, rows_first, lanes)[2]


def results(cuda):
    return cuda.elements.Results(*[0] * 10, (0, 0), (0, 0))


@pytest.mark.parametrize(
    ("format", "bits", "certified"),
    [
        *((FLOAT64, 230, False), (FLOAT64, 130, True), (FLOAT32, 100, False), (FLOAT32, 100, True)),
        *((BFLOAT16, 20, True), (FLOAT8_E4M3FN, 4, False)),
    ],
    ids=str,
)
def test_round(cuda, build, format, bits, certified):
    certificate = cuda.elements.Certificate() if certified else None
    found = build(cuda.elements.round8, format, base_for(256, bits), results(cuda), certificate)
    assert "dp2a.lo.u32.u32" in found.ptx
    assert ("atom" in found.ptx) is certified


@pytest.mark.parametrize(
    ("formats", "limbs"),
    [((FLOAT64, FLOAT64, FLOAT64), 6), ((FLOAT64, FLOAT32, BFLOAT16), 12), ((FLOAT16, BFLOAT16, FLOAT8_E4M3FN), 1)],
    ids=str,
)
def test_settle(cuda, build, formats, limbs):
    side = entries(cuda, rows_first=False), cuda.elements.Exponents(0, 0)
    found = build(cuda.elements.settle, formats, limbs, (side, side), results(cuda), cuda.elements.Certificate(), 0)
    assert "shfl.sync.bfly" in found.ptx


def test_the_kernels_of_large_products_keep_their_numbers_in_registers(cuda):
    """Normally distributed float64 at n = 8,192: 22 moduli of all bits, or 18 of the leading ones. A word may leave."""
    elements = cuda.elements
    for source in (
        *(
            elements._residues_source(FLOAT64, 3, rows_first, lanes)
            for rows_first in (False, True)
            for lanes in (4, 16)
        ),
        *(
            elements._round_source(FLOAT64, elements.crt_limbs(base), -(-len(base.moduli) // 2), certified)
            for base, certified in ((base_for(256, 168), False), (base_for(256, 138), True))
        ),
        elements._settle_source(FLOAT64, FLOAT64, FLOAT64, 6),
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


LIMITS = ("-DXL_MAX_LIMBS=6", "-DXL_MAX_GROUPS=6", "-DXL_FIXED=22"), ("-DXL_MAX_LIMBS=64", "-DXL_MAX_GROUPS=64")


@pytest.mark.parametrize("kernel", re.findall(r"^XL_KERNEL xl_kernel_(\w+)", device_text(), re.MULTILINE))
def test_kernels_of_all_devices(cuda, kernel):
    """Of many limbs, and where constants are unrolled of few too."""
    for limits in LIMITS if kernel in ("integers", "round") else LIMITS[1:]:
        options = (*limits, f"-DXL_LANES={cuda.device.CudaDevice.lanes}")
        found = compiled(cuda, (kernel_text(kernel), f"xl_kernel_{kernel}", options), "sm_80")
        assert floating_instructions(found.ptx, _PTX) == []


@pytest.mark.parametrize(
    "variant",
    [
        *((64, 1, False, False), (128, 1, True, False), (256, 1, False, False), (256, 1, False, True)),
        *((64, 2, True, False), (256, 2, True, True)),
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


_EIGHT_BITS = re.compile(
    r"mma\.sync\.aligned\.m16n8k32\.row\.col\.f32\.e4m3\.e4m3\.f32|cvt\.rzi\.s32\.f32"
    r"|mov\.f32\s+%\w+, 0f00000000;|\.reg \.f32"
)


@pytest.mark.parametrize("target", ["sm_89", "sm_90", "sm_100"])
def test_products_of_numbers_of_eight_bits(cuda, target):
    """Matrix instructions from zeros, and conversions of their sums: no other instruction has floats."""
    if int(target.removeprefix("sm_")) not in nvrtc.architectures():
        pytest.skip(f"this NVRTC does not know {target}")
    source = cuda.fp8.source()
    found = compiled(cuda, source, target)
    floating = floating_instructions(found.ptx, _PTX)
    assert [line for line in floating if not _EIGHT_BITS.match(line)] == []
    # four products for each of eight columns' tiles, and three sums of four numbers that become integers
    assert [sum(word in line for line in floating) for word in ("mma.sync", "cvt.rzi")] == [8 * 4, 8 * 3 * 4]
    assert parameter_bytes(found.ptx, source[1]) == [8 * 13]
    assert spilled(found.log) == 0


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


WIDE = [
    *(("conversions", kernel) for kernel in ("octets", "residues", "planes", "weighted", "integers", "toeplitz")),
    *(
        ("entries", kernel)
        for kernel in ("scale", "round_leading", "largest", "copy_rows", "store", "add", "compare", "lengths")
    ),
    ("elimination", "join"),
    ("triangles", "triangle"),
    *(("panel", f"panel_{kernel}") for kernel in ("sums", "divide", "rows")),
]
WIDE_MACROS = "-DXL_THREADS=256", "-DXL_PANEL_THREADS=256", "-DXL_PIVOT_LIMBS=16"


@pytest.mark.parametrize(("text", "kernel"), WIDE)
def test_long_integers(cuda, target, text, kernel):
    macros = (f"-DXL_THREADS={cuda.verbs.COMPARED}",) if kernel == "largest" else WIDE_MACROS
    source = cuda.kernels.text(text, cuda.limbs.FOLDER), f"xl_wide_{kernel}", macros
    found = compiled(cuda, source, target)
    assert floating_instructions(found.ptx, _PTX) == []
    (own,) = (part for part in found.log.split("Compiling entry function") if f"'xl_wide_{kernel}'" in part)
    assert spilled(own) == 0
    if text == "panel":  # the rest is for what launches ask for
        assert sum(map(int, re.findall(r"(\d+) bytes smem", own))) <= cuda.driver._STATIC_SHARED


SYSTEMS = [
    *(("inverse", kernel, {}) for kernel in ("residues", "panel", "update", "arrange")),
    *(
        ("steps", kernel, {"WORDS": words, "COLUMNS": columns, "ENTRY": entry})
        for kernel, most in (("digits", 8), ("residuals", 4), ("pad", 4), ("sums", 8), ("divide", 8))
        for words, columns, entry in ((7, 1, "int32_t"), (2, most, "int64_t"))
    ),
    *(("numbers", kernel, {"WORDS": 7}) for kernel in ("combine", "octets", "weights", "reduce")),
]


@pytest.mark.parametrize(("text", "kernel", "macros"), SYSTEMS, ids=lambda x: x if isinstance(x, str) else None)
def test_systems(cuda, target, text, kernel, macros):
    options = tuple(f"-DXL_{name}={value}" for name, value in macros.items())
    found = compiled(cuda, (cuda.kernels.text(text), f"xl_system_{kernel}", options), target)
    assert floating_instructions(found.ptx, _PTX) == []
    (own,) = (part for part in found.log.split("Compiling entry function") if f"'xl_system_{kernel}'" in part)
    assert spilled(own) == 0
