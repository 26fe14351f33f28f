"""Whatever multiplies the residues, on however many threads, from whatever library: the same bytes."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import exactla as xl
from tests.operands import (
    ALL_FORMATS,
    floats,
    integers,
    operand,
)
from tests.oracle import (
    FORMATS,
    INTEGER_NAMES,
    ROUNDINGS,
    assert_complex,
    assert_enclosure,
    assert_product,
    format_of,
)

FLOAT32, FLOAT64 = FORMATS["float32"], FORMATS["float64"]


def test_every_engine_gives_the_same_bytes(rng):
    engines = [(s.name, e) for s in xl.backends() if s.available for e in s.engines]
    assert len(engines) > 1
    cases = [(floats(rng, f, (7, 300), s), floats(rng, f, (300, 6), s)) for f in ALL_FORMATS for s in (3, 2000)]
    cases += [(integers(rng, name, (5, 50)), integers(rng, name, (50, 6))) for name in INTEGER_NAMES]
    for a, b in cases:
        digests = set()
        for backend_name, engine_name in engines:
            with xl.backend(backend_name), xl.engine(engine_name):
                digests.add(xl.digest(*xl.mm_enclose(a, b), xl.mm(a, b)))
        assert len(digests) == 1


def test_the_number_of_threads_does_not_show(rng):
    a, b = floats(rng, FLOAT64, (130, 300), 25), floats(rng, FLOAT64, (300, 140), 25)
    digests = set()
    for threads in (1, 2, 3):
        with threadpool_limits(limits=threads):
            digests.add(xl.digest(*xl.mm_enclose(a, b)))
    assert len(digests) == 1


def test_calls_from_several_threads_at_once(rng):
    cases = [(floats(rng, f, (9, 20), 15), floats(rng, f, (20, 8), 15)) for f in ALL_FORMATS] * 3
    expected = [xl.digest(*xl.mm_enclose(a, b)) for a, b in cases]
    barrier = threading.Barrier(8)

    def work(start):
        barrier.wait(timeout=60)
        order = cases[start:] + cases[:start]
        found = [xl.digest(*xl.mm_enclose(a, b)) for a, b in order]
        return found[len(cases) - start :] + found[: len(cases) - start]

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(work, range(8)):
            assert found == expected


LIBRARY_TYPES = [*FORMATS, *INTEGER_NAMES]


@pytest.mark.parametrize("name", LIBRARY_TYPES)
def test_every_library_gets_its_own_arrays_back_with_the_same_bits(rng, library, name):
    if name not in library.dtypes:
        pytest.skip(f"{library.name} has no {name}")
    fmt = FORMATS.get(name, FLOAT64)
    if fmt.name not in library.dtypes:
        pytest.skip(f"{library.name} cannot hold the result, {fmt}")
    a, b = operand(rng, name, (4, 6)), operand(rng, name, (6, 3))
    x, y = library.make(a), library.make(b)
    result = xl.mm_enclose(x, y)
    assert library.device(result.lo) == library.device(result.hi) == library.device(x)
    host = xl.Enclosure(*(library.host(end) for end in result))
    assert_enclosure(host, a, b, fmt)
    assert_product(library.host(xl.mm(x, y, rounding="up")), a, b, fmt, "up")
    assert_product(library.host(xl.mm_nt(x, library.make(np.ascontiguousarray(b.T)))), a, b, fmt)
    assert_product(library.host(xl.bmm(library.make(a[None]), library.make(b[None]))), a[None], b[None], fmt)
    assert xl.digest(*result) == xl.digest(*xl.mm_enclose(a, b))


def test_every_library_into_another_type(rng, library):
    a, b = floats(rng, FLOAT32, (4, 6), 10), floats(rng, FLOAT32, (6, 3), 10)
    x, y = library.make(a), library.make(b)
    for name in library.dtypes:
        if name in FORMATS:
            assert_product(library.host(xl.mm(x, y, dtype=name)), a, b, FORMATS[name])


def test_every_library_with_vectors_and_stacks(rng, library):
    for left, right in [
        ((5,), (5,)),
        ((5,), (5, 2)),
        ((3, 5), (5,)),
        ((2, 1, 3, 5), (4, 5, 2)),
        ((0, 5), (5, 2)),
        ((3, 0), (0, 2)),
    ]:
        a, b = floats(rng, FLOAT32, left, 10), floats(rng, FLOAT32, right, 10)
        result = xl.mm_enclose(library.make(a), library.make(b))
        assert_enclosure(xl.Enclosure(*(library.host(end) for end in result)), a, b, FLOAT32)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_every_library_with_complex_entries(rng, library, name):
    if name not in library.dtypes:
        pytest.skip(f"{library.name} has no {name}")
    fmt = format_of(name)
    a, b = (
        (floats(rng, fmt, shape, 10).astype(name) + 1j * floats(rng, fmt, shape, 10)).astype(name)
        for shape in ((3, 4), (4, 2))
    )
    for rounding in ROUNDINGS:
        result = library.host(xl.mm(library.make(a), library.make(b), rounding=rounding))
        assert_complex(result, a, b, name, rounding)


def test_strided_torch_tensors(rng):
    torch = pytest.importorskip("torch")
    a, b = floats(rng, FLOAT64, (6, 8), 20), floats(rng, FLOAT64, (8, 6), 20)
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    assert_product(xl.mm(x[::2, 1:], y.T[:, 1:].T).numpy(), a[::2, 1:], b[1:], FLOAT64)
    assert_product(xl.mm(x[:1].expand(4, 8), y).numpy(), np.repeat(a[:1], 4, axis=0), b, FLOAT64)
    z = torch.complex(x, x.flip(0))
    assert_complex(xl.mm(z.conj(), z.T).numpy(), z.conj().resolve_conj().numpy(), z.numpy().T, np.complex128, "nearest")
    negative = z.conj().imag
    assert negative.is_neg()
    assert_product(xl.mm(negative, y).numpy(), negative.resolve_neg().numpy(), b, FLOAT64)


def test_torch_result_without_grad_inside_no_grad(rng):
    torch = pytest.importorskip("torch")
    x = torch.ones((2, 2), dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        result = xl.mm(x, x)
    assert not result.requires_grad
    assert_product(result.numpy(), np.ones((2, 2)), np.ones((2, 2)), FLOAT64)


def test_the_second_device_of_array_api_strict(rng):
    xp = pytest.importorskip("array_api_strict")
    device = xp.Device("device1")
    a = floats(rng, FLOAT64, (3, 3), 10)
    x = xp.asarray(a, device=device)
    result = xl.mm(x, x)
    assert result.device == device
    assert_product(np.asarray(result.to_device(xp.Device("CPU_DEVICE"))), a, a, FLOAT64)


@pytest.mark.parametrize(
    ("variable", "asked", "test"),
    [
        ("EXACTLA_TEST_BACKENDS", "abacus", "test_products.py::test_info_tells_how_a_product_was_computed"),
        ("EXACTLA_TEST_LIBRARIES", "papyrus", "test_independence.py::test_every_library_into_another_type"),
    ],
)
def test_what_is_asked_for_and_missing_fails_and_what_is_left_out_is_named(variable, asked, test):
    where = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(where / test)]
    environment = os.environ | {variable: asked}
    done = subprocess.run(
        command, env=environment, cwd=where.parent, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 1, done.stdout
    assert f"{variable} asks for '{asked}'" in done.stdout
    assert "NOT EXERCISED" in done.stdout
    assert f"numpy: left out by {variable}" in done.stdout
    assert "passed" not in done.stdout
