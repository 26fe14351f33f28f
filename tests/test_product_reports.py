"""Kinds of input that broke other systems, as public reports tell; each test names the kind, its comment the reports.

All answers are decided by the exact oracle, bit for bit.
"""

import itertools
import os
import platform
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import exactla as xl
from exactla import registry
from tests.operands import ALL_FORMATS, floats, from_encodings, whole_range
from tests.oracle import (
    FORMATS,
    ROUNDINGS,
    assert_bits,
    assert_enclosure,
    assert_ends,
    assert_product,
    encodings,
    exact,
    same_bytes,
)

FLOAT16, FLOAT32, FLOAT64, BFLOAT16 = (FORMATS[n] for n in ("float16", "float32", "float64", "bfloat16"))


# pytorch 45422, 111840, 51276; vllm 55131; TransformerEngine 2986
@pytest.mark.parametrize("depth", [1, 31, 128, 1000, 1024])
@pytest.mark.parametrize("rows", [1, 2, 8, 17, 64, 257])
def test_a_row_does_not_depend_on_its_batch_or_neighbours(rng, backend, rows, depth):
    a, b = floats(rng, FLOAT32, (rows, depth), 12), floats(rng, FLOAT32, (depth, 5), 12)
    a[rows // 2] = floats(rng, FLOAT32, (depth,), whole_range(FLOAT32))
    whole = xl.mm_enclose(a, b)
    nearest = xl.mm(a, b)
    for i, j in {(0, 1), (rows // 2, rows), (rows // 3, rows // 2 + 1)}:
        part = xl.mm_enclose(a[i:j], b)
        same_bytes(part.lo, whole.lo[i:j])
        same_bytes(part.hi, whole.hi[i:j])
        same_bytes(xl.mm(a[i:j], b), nearest[i:j])
    assert_product(nearest[:2], a[:2], b, FLOAT32)
    assert_product(nearest[rows // 2 : rows // 2 + 1], a[rows // 2 : rows // 2 + 1], b, FLOAT32)


# the same, for float64, columns and batches beside a neighbour that spans the whole range
@pytest.mark.parametrize("depth", [16, 33])
def test_a_column_and_a_batch_do_not_depend_on_their_neighbours(rng, backend, depth):
    a, b = floats(rng, FLOAT64, (3, 5, depth), 10), floats(rng, FLOAT64, (3, depth, 6), 10)
    a[1], b[1, :, 2] = floats(rng, FLOAT64, (5, depth), 2000), floats(rng, FLOAT64, (depth,), 2000)
    whole = xl.bmm_enclose(a, b)
    for k, j in itertools.product(range(3), range(6)):
        same_bytes(xl.mm_enclose(a[k], b[k][:, j : j + 1]).hi, whole.hi[k][:, j : j + 1])
        same_bytes(xl.mm_enclose(a[k], b[k, :, j]).lo, whole.lo[k, :, j])


DIGEST_PROGRAM = """
import numpy as np, exactla as xl
rng = np.random.default_rng(7)
a = np.ldexp(rng.standard_normal((70, 190)), rng.integers(-40, 40, (70, 190)))
b = np.ldexp(rng.standard_normal((190, 60)), rng.integers(-40, 40, (190, 60)))
found = set()
for status in xl.backends():
    if status.available:
        with xl.backend(status.name):
            found.add(xl.digest(*xl.mm_enclose(a, b), xl.mm(np.float32(a), np.float32(b))))
print(*found)
"""
X86 = platform.machine().lower() in ("x86_64", "amd64")
ENVIRONMENTS = [
    {},
    {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    {"OPENBLAS_NUM_THREADS": "7"},
    *([{"OPENBLAS_CORETYPE": core} for core in ("Prescott", "Nehalem", "Haswell")] if X86 else []),
    *([{"NPY_DISABLE_CPU_FEATURES": "AVX512F AVX2 FMA3"}] if X86 else []),
]


# numpy 20564, 25100, 30136; OpenBLAS 1401, PR 5972
def test_processor_and_thread_settings_do_not_show():
    digests = set()
    for extra in ENVIRONMENTS:
        command = [sys.executable, "-W", "ignore", "-c", DIGEST_PROGRAM]
        done = subprocess.run(command, env=os.environ | extra, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        digests.update(done.stdout.split())
    assert len(digests) == 1


# the same: buffer addresses
@pytest.mark.parametrize("offset", [0, 1, 4, 8, 24, 63])
def test_the_address_of_a_buffer_does_not_show(offset):
    rng = np.random.default_rng(8)
    a, b = floats(rng, FLOAT64, (9, 40), 30), floats(rng, FLOAT64, (40, 7), 30)
    memory = np.zeros(a.nbytes + 64, dtype=np.uint8)
    moved = memory[offset : offset + a.nbytes].view(np.float64).reshape(a.shape)
    moved[...] = a
    same_bytes(xl.mm(moved, b), xl.mm(a, b))


# the same: number of threads
def test_the_thread_pool_does_not_show(rng):
    a, b = floats(rng, FLOAT64, (100, 256), 40), floats(rng, FLOAT64, (256, 90), 40)
    found = []
    for threads in range(1, 5):
        with threadpool_limits(limits=threads):
            found.append(xl.mm(a, b))
    for result in found[1:]:
        same_bytes(result, found[0])


# pytorch 31421, tvm 19578
@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_an_inner_dimension_of_zero_gives_zeros(backend, fmt):
    for left, right in [((3, 0), (0, 4)), ((0,), (0,)), ((0,), (0, 3)), ((2, 3, 0), (0, 2)), ((5, 1, 2, 0), (3, 0, 2))]:
        junk = np.full((64, 64), 7.0)  # so that memory taken next is not zero by chance
        del junk
        a, b = np.zeros(left, dtype=fmt.dtype), np.zeros(right, dtype=fmt.dtype)
        shape = np.matmul(np.zeros(left), np.zeros(right)).shape
        for result in (*xl.mm_enclose(a, b), xl.mm(a, b), xl.mm(a, b, rounding="down")):
            assert_bits(result, np.zeros(shape, dtype=fmt.word), fmt)


# the same: no rows, no columns, no batch
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((0, 3), (3, 4)),
        ((4, 3), (3, 0)),
        ((0, 3), (3, 0)),
        ((0, 0), (0, 0)),
        ((0, 2, 3), (3, 4)),
        ((0, 2, 3), (1, 3, 4)),
        ((5, 0, 2, 3), (1, 3, 4)),
        ((3,), (3, 0)),
        ((2, 0, 3), (3,)),
    ],
)
def test_empty_results_have_the_shape_of_matmul(backend, left, right):
    a, b = np.ones(left), np.ones(right)
    shape = np.matmul(a, b).shape
    for result in (*xl.mm_enclose(a, b), xl.mm(a, b, dtype="float32").astype(np.float64)):
        assert_bits(result, np.zeros(shape, dtype=np.uint64), FLOAT64)


# candle 3744, mlx 3480
def test_a_repeated_batch_is_the_batch_of_its_copy(rng, backend):
    a = np.broadcast_to(floats(rng, FLOAT32, (1, 4, 6), 10), (5, 4, 6))
    b = np.broadcast_to(floats(rng, FLOAT32, (6, 3), 10), (5, 6, 3))
    varied = floats(rng, FLOAT32, (5, 6, 3), 10)
    for x, y in ((a, b), (a, varied), (a.copy(), b)):
        assert_enclosure(xl.mm_enclose(x, y), x.copy(), y.copy(), FLOAT32)
        assert_product(xl.bmm(x, y), x.copy(), y.copy(), FLOAT32)


# numpy 29164, dpnp 1871
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("step", [1, -1, 2, -3])
def test_order_and_negative_steps(rng, backend, order, step):
    a, b = floats(rng, FLOAT64, (9, 13), 15), floats(rng, FLOAT64, (13, 8), 15)
    x, y = np.array(a, order=order)[::step, ::-step], np.array(b, order=order)[::-step, ::step]
    assert_product(xl.mm(x, y), np.ascontiguousarray(x), np.ascontiguousarray(y), FLOAT64)
    assert_product(xl.mm_nt(x, y.T), np.ascontiguousarray(x), np.ascontiguousarray(y), FLOAT64)


# pytorch 191083, mlx 1051: the strides of a view leave 32 bits although few pages of its memory are ever touched
def test_offsets_past_two_to_the_31(rng):
    far = np.zeros((1 << 31) + 64, dtype=np.uint8)
    x, y = far[:: 1 << 31].reshape(2, 1), np.arange(1, 4, dtype=np.uint8).reshape(1, 3)
    x[:] = [[3], [5]]
    assert_product(xl.mm(x, y), x, y, FLOAT64)
    narrow = far[: 1 << 31 : 1 << 26].reshape(4, 8).view(FORMATS["float8_e4m3fn"].dtype)
    narrow[...] = floats(rng, FORMATS["float8_e4m3fn"], (4, 8), 3)
    assert_product(xl.mm(narrow, narrow.T), narrow, narrow.T, FORMATS["float8_e4m3fn"])


# the same: dimensions past 2^31 beside an empty one
def test_dimensions_past_two_to_the_31():
    wide, tall = np.empty((0, (1 << 31) + 3), np.float32), np.empty(((1 << 31) + 3, 0), np.float32)
    assert xl.mm(wide, tall).shape == (0, 0)


# the same: more operand entries than 2^31 in full
@pytest.mark.skipif("EXACTLA_TEST_LARGE" not in os.environ, reason="minutes of work: set EXACTLA_TEST_LARGE=1")
def test_an_operand_of_more_than_two_to_the_31_entries():
    depth = 1 << 20
    a = np.broadcast_to((np.arange(depth) % 3 == 0), (2049, depth))
    assert a.size > 1 << 31
    result = xl.mm(a, np.ones((depth, 1), dtype=bool))
    assert (result == (depth + 2) // 3).all()


# ozIMMU 1, pytorch PR 178469
@pytest.mark.parametrize("n", range(1, 34))
def test_small_and_unaligned_sizes(rng, engine, n):
    for rows, depth, columns in ((n, n, n), (1, n, 1), (n, 1, n), (n, 34 - n, 7)):
        a, b = floats(rng, FLOAT32, (rows, depth), 10), floats(rng, FLOAT32, (depth, columns), 10)
        assert_product(xl.mm(a, b), a, b, FLOAT32)


# pytorch 136746, oneDNN 476: an engine whose sums are longer than its accumulator is exact for
def test_an_engine_that_multiplies_wrongly_is_refused(monkeypatch):
    numpy_backend = registry.load("numpy")
    single = next(e for e in numpy_backend.engines if e.name == "fp32")
    boastful = replace(single, accumulator_bits=single.accumulator_bits + 2)
    monkeypatch.setattr(numpy_backend, "engines", (boastful,))
    with xl.backend("numpy"), pytest.raises(xl.BackendUnavailable, match=r"'fp32'.*'numpy'.*wrongly"):
        xl.mm(np.ones((9, 9)), np.ones((9, 9)))
    monkeypatch.undo()
    with xl.backend("numpy"), xl.engine("fp32"):
        assert (xl.mm(np.ones((2, 2)), np.ones((2, 2))) == 2).all()


# cupy 8382, array-api 339
@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_subnormals_are_not_flushed(fmt):
    one = from_encodings([encodings(np.ones(1, dtype=fmt.dtype))[0]], fmt).reshape(1, 1)
    subnormals = from_encodings(list(range(1, min(1 << fmt.fraction_bits, 300))), fmt).reshape(-1, 1)
    same_bytes(xl.mm(subnormals, one), subnormals)
    same_bytes(xl.mm(one, -subnormals.T), -subnormals.T)
    assert_enclosure(xl.mm_enclose(subnormals, subnormals.T), subnormals, subnormals.T, fmt)
    exponents = range(fmt.least_exponent - 3, fmt.least_exponent + fmt.fraction_bits + 3)
    halves = np.array([[2.0 ** max(e, -1074)] for e in exponents])
    ones = np.array([[1.0, 0.5, 1.5]])
    assert_enclosure(xl.mm_enclose(halves, ones, dtype=fmt.dtype), halves, ones, fmt)


# libblastrampoline 106
def test_a_sum_just_above_one_rounds_up():
    x = np.array([1.0, 2.0**-53])
    lo, hi = xl.mm_enclose(x, x)
    assert float(lo) == 1.0
    assert float(hi) == np.nextafter(1.0, 2.0)
    assert xl.mm(x, x, rounding="up") == np.nextafter(1.0, 2.0)
    assert xl.mm(x, x) == xl.mm(x, x, rounding="down") == xl.mm(x, x, rounding="zero") == 1.0


# IntervalArithmetic.jl 761
@pytest.mark.parametrize("method", ["sharp", "hull"])
def test_a_product_of_positive_intervals_is_positive(rng, method):
    lo_a, lo_b = (np.ldexp(rng.random(shape) + 0.5, rng.integers(-60, 60, shape)) for shape in ((4, 5), (5, 3)))
    hi_a, hi_b = lo_a * 2.0**40, lo_b * 2.0**30
    result = xl.mm_interval_bounds(lo_a, hi_a, lo_b, hi_b, method=method)
    assert_ends(result, (exact(lo_a) @ exact(lo_b), exact(hi_a) @ exact(hi_b)), FLOAT64)
    assert (result.lo > 0).all()


# IntervalArithmetic.jl 776
@pytest.mark.parametrize("method", ["rump", "sharp", "hull"])
def test_the_conversion_to_midpoint_and_radius_loses_nothing(method):
    lo, hi, one = np.array([[-(2.0**-60)]]), np.array([[1.0]]), np.array([[1.0]])
    result = xl.mm_interval_bounds(lo, hi, one, one, method=method)
    assert_ends(result, (exact(lo), exact(hi)), FLOAT64)


NAN, INF = np.nan, np.inf
SPECIAL_A = np.array([[0.0, 1.0], [INF, 1.0], [NAN, 0.0], [INF, -INF], [2.0, 3.0], [1.0, -INF]])
SPECIAL_B = np.array([[INF, 0.0, 1.0], [1.0, 1.0, 1.0]])
SPECIAL_PRODUCT = [[NAN, 1, 1], [INF, NAN, INF], [NAN, NAN, NAN], [NAN, NAN, NAN], [INF, 3, 5], [NAN, -INF, -INF]]


def by_vectors(call):
    return [[call(row, column) for column in SPECIAL_B.T] for row in SPECIAL_A]


# each path: how it makes the product of the two arrays above from mm, mm_nt and bmm or their enclosing twins
PATHS = {
    "plain": lambda mm, nt, bmm: mm(SPECIAL_A, SPECIAL_B),
    "transposed": lambda mm, nt, bmm: nt(SPECIAL_A, np.ascontiguousarray(SPECIAL_B.T)),
    "batched": lambda mm, nt, bmm: bmm(SPECIAL_A[None], SPECIAL_B[None])[0],
    "stacks": lambda mm, nt, bmm: mm(np.stack([SPECIAL_A, SPECIAL_A]), SPECIAL_B)[1],
    "vectors": lambda mm, nt, bmm: by_vectors(mm),
}


# mpmath 591, LAPACK 1077
@pytest.mark.parametrize("path", PATHS)
def test_zero_times_infinity_and_nan_do_not_depend_on_the_path(backend, path):
    for rounding in ROUNDINGS:
        options = {"rounding": rounding, "nonfinite": "propagate"}
        forms = (partial(call, **options) for call in (xl.mm, xl.mm_nt, xl.bmm))
        np.testing.assert_array_equal(PATHS[path](*forms), SPECIAL_PRODUCT)
    for end in (0, 1):
        forms = (
            lambda *args, call=call, end=end: call(*args, nonfinite="propagate")[end]
            for call in (xl.mm_enclose, xl.mm_enclose_nt, xl.bmm_enclose)
        )
        np.testing.assert_array_equal(PATHS[path](*forms), SPECIAL_PRODUCT)
    for call in (xl.mm, xl.mm_enclose):
        with pytest.raises(xl.NonFiniteError, match=r"a\[1, 0\]"):
            call(SPECIAL_A, SPECIAL_B)


# numpy 21342
@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_an_exact_zero_is_positive(fmt):
    zero, one = np.zeros((1, 1), dtype=fmt.dtype), np.ones((1, 1), dtype=fmt.dtype)
    minus = -zero if fmt.style != "fnuz" else zero
    sums = np.hstack([one, -one]), np.vstack([one, one])
    for a, b in ((minus, one), (one, minus), (minus, minus), (-one, zero), sums, (zero, -one)):
        for result in (*xl.mm_enclose(a, b), *(xl.mm(a, b, rounding=r) for r in ("nearest", "down", "up", "zero"))):
            assert_bits(result, np.zeros((1, 1), dtype=fmt.word), fmt)


# the same: what is not zero keeps its sign when it is rounded to zero
@pytest.mark.parametrize("name", ["float16", "float32", "float64", "bfloat16"])
def test_a_vanishing_product_keeps_its_sign(name):
    fmt = FORMATS[name]
    tiny = from_encodings([[1]], fmt)
    lo, hi = xl.mm_enclose(-tiny, tiny)
    assert (int(encodings(lo)[0, 0]), int(encodings(hi)[0, 0])) == (fmt.sign_bit | 1, fmt.sign_bit)
    assert int(encodings(xl.mm(-tiny, tiny))[0, 0]) == fmt.sign_bit
    assert int(encodings(xl.mm(tiny, tiny))[0, 0]) == 0


# ml_dtypes 63, DeepSeek-V3 197
@pytest.mark.parametrize("fmt", [f for f in ALL_FORMATS if f.bits < 32], ids=str)
@pytest.mark.parametrize("count", [255, 257, 1000, 5000])
def test_long_sums_of_short_formats_do_not_stick(fmt, count):
    ones = np.ones((1, count), dtype=fmt.dtype)
    assert_product(xl.mm(ones, ones.T), ones, ones.T, fmt)
    assert xl.mm(ones, ones.T, dtype="float32")[0, 0] == count


# jax 9973
@pytest.mark.parametrize("name", ["float64", "int64", "float32"])
def test_integers_up_to_two_to_the_53_are_exact(library, name):
    rng = np.random.default_rng(9)
    top = 2**24 if name == "float32" else 2**53
    a = rng.integers(-top, top, (4, 4), endpoint=True).astype(name)
    identity = np.eye(4, dtype=name)
    if name not in library.dtypes or "float64" not in library.dtypes:
        pytest.skip(f"{library.name} has no {name} or no float64 here")
    result = library.host(xl.mm(library.make(a), library.make(identity)))
    assert (result == a).all()


# GEMMul8 header, ozaki-jax
@pytest.mark.parametrize("depth", [1040, 1041, 4096, (1 << 17) - 1, 1 << 17, (1 << 17) + 1, 1 << 18])
def test_any_inner_dimension_on_any_engine(rng, engine, depth):
    a, b = floats(rng, FLOAT64, (1, depth), 5), floats(rng, FLOAT64, (depth, 1), 5)
    assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)
    ones = np.ones((1, depth), dtype=np.int8) * np.int8(-128)
    assert xl.mm(ones, ones.T)[0, 0] == depth * 16384
