"""Compiling, keeping and launching kernels, and which of them the backend takes, on devices that are pretended."""

import ctypes
import importlib
import subprocess
import sys

import numpy as np
import pytest

import exactla as xl
from exactla.backend import Tile
from exactla.core.moduli import ResidueBase
from exactla_backends.cuda import DESCRIPTION, INSTALL
from tests.backends.cuda.emulation import compiler
from tests.backends.cuda.emulation.installing import installed
from tests.backends.devices import open_device
from tests.backends.kernels.data import base_for

TEXT = """
typedef long long int64_t;
struct job { int64_t *to; int64_t step; };
extern "C" __global__ void words(int64_t *to, int64_t first, int64_t second) {
    to[threadIdx.x + blockDim.x * threadIdx.y] = first + XL_FACTOR * second + blockIdx.x;
}
extern "C" __global__ void structures(const __grid_constant__ job j, int factor) {
    *j.to = factor * j.step;
}
"""


@pytest.fixture(scope="module", autouse=True)
def host_compiler():
    reason = compiler.why_not()
    if reason is not None:
        pytest.skip(f"CUDA kernels on the host NOT EXERCISED: {reason}")


@pytest.fixture
def fresh(tmp_path):
    """The driver with an empty cache, which does not remember what was loaded."""
    with installed((8, 0), tmp_path / "cache") as gpu:
        driver = importlib.import_module("exactla_backends.cuda.driver")
        yield gpu, driver


def load(driver, factor=2, device=0):
    driver.kernel.cache_clear()
    return driver.kernel(TEXT, "words", (f"-DXL_FACTOR={factor}",), "sm_80", device)


# ---- importing -------------------------------------------------------------------------------------------------------


def test_the_description_costs_nothing_to_import():
    code = "import sys, exactla_backends.cuda; sys.exit(bool({'cupy', 'ctypes.wintypes', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_missing_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert DESCRIPTION.missing() == f"CuPy is not installed: {INSTALL}"
    assert "exactla[cuda13]" in INSTALL


def test_devices_that_are_not_there(monkeypatch):
    def fail():
        raise RuntimeError("cudaErrorNoDevice")

    with installed((8, 0)):
        import cupy

        runtime = cupy.cuda.runtime
        description = importlib.import_module("exactla_backends.cuda").DESCRIPTION
        assert description.missing() is None
        monkeypatch.setattr(runtime, "getDeviceCount", lambda: 0)
        assert description.missing() == "CuPy finds no CUDA device"
        monkeypatch.setattr(runtime, "getDeviceCount", fail)
        assert description.missing() == "CuPy finds no CUDA device: cudaErrorNoDevice"
        monkeypatch.setattr(runtime, "is_hip", True)
        assert description.missing() == "this CuPy is built for ROCm"


# ---- compiling and keeping -------------------------------------------------------------------------------------------


def test_machine_code_is_kept_for_the_next_process(fresh, tmp_path):
    gpu, driver = fresh
    load(driver)
    (kept,) = (tmp_path / "cache").iterdir()
    assert kept.suffix == ".cubin"
    load(driver)
    assert len(gpu.compiled) == 1
    load(driver, factor=3)
    assert len(gpu.compiled) == len(list((tmp_path / "cache").iterdir())) == 2
    assert all("-arch=sm_80" in options for options in gpu.compiled)


def test_each_device_loads_a_kernel_for_itself(fresh):
    gpu, driver = fresh
    driver.kernel(TEXT, "words", ("-DXL_FACTOR=1",), "sm_80", 0)
    driver.kernel(TEXT, "words", ("-DXL_FACTOR=1",), "sm_80", 1)
    assert (driver.kernel.cache_info().currsize, len(gpu.compiled)) == (2, 1)


@pytest.mark.parametrize("chosen", ["file/cache", "/proc/exactla"])
def test_a_folder_that_cannot_be_written_to_costs_a_compilation(fresh, tmp_path, monkeypatch, chosen):
    gpu, driver = fresh
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXACTLA_CACHE_DIR", str(tmp_path / chosen))
    load(driver)
    load(driver)
    assert len(gpu.compiled) == 2


def test_a_file_appears_whole_or_not_at_all(fresh, tmp_path, monkeypatch):
    _, driver = fresh
    seen = []

    def replace(source, target):
        seen.append((source, target))
        raise OSError("no")

    monkeypatch.setattr(driver.os, "replace", replace)
    load(driver)
    ((source, target),) = seen
    assert source != str(target)
    assert not target.exists()
    assert str(target.parent) == str(tmp_path / "cache")


def test_where_the_cache_is(fresh, monkeypatch):
    _, driver = fresh
    monkeypatch.setenv("EXACTLA_CACHE_DIR", "/somewhere")
    assert str(driver.cache_folder()) == "/somewhere"
    monkeypatch.delenv("EXACTLA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert str(driver.cache_folder()) == "/cache/exactla"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert str(driver.cache_folder()) == "/home/someone/.cache/exactla"


def test_a_text_that_does_not_compile(fresh, tmp_path):
    _, driver = fresh
    with pytest.raises(RuntimeError, match=r"(?s)does not compile for sm_80: .*undefined_name"):
        driver.kernel("int f() { return undefined_name; }", "f", (), "sm_80", 0)
    assert not (tmp_path / "cache").exists()


# ---- launching -------------------------------------------------------------------------------------------------------


def test_words_arrive(fresh):
    gpu, driver = fresh
    to = np.zeros(6, np.int64)
    driver.launch_words(load(driver, factor=10), (1, 1, 1), (3, 2), 5, (to.ctypes.data, -(1 << 62), 7))
    assert to.tolist() == [-(1 << 62) + 70] * 6
    launch = gpu.launches[-1]
    assert (launch.kernel, launch.grid, launch.block, launch.stream) == ("words", (1, 1, 1), (3, 2, 1), 5)


def test_structures_arrive(fresh):
    class Job(ctypes.Structure):
        _fields_ = (("to", ctypes.c_void_p), ("step", ctypes.c_int64))

    _, driver = fresh
    to = np.zeros(1, np.int64)
    function = driver.kernel(TEXT, "structures", ("-DXL_FACTOR=1",), "sm_80", 0)
    driver.Launch(function, (1, 1, 1), (1, 1), (Job(to.ctypes.data, 1 << 40), ctypes.c_int32(-3))).run(0)
    assert to[0] == -3 << 40


def test_more_shared_memory_is_asked_for_once(fresh):
    _, driver = fresh
    function = driver.kernel(TEXT, "structures", ("-DXL_FACTOR=1",), "sm_80", 0, 200 << 10)
    to = np.zeros(3, np.int64)
    words = (to.ctypes.data, 0, 1)
    driver.Launch(function, (1, 1, 1), (1, 1), [*map(ctypes.c_int64, words)], 200 << 10).run(0)
    with pytest.raises(ValueError, match="shared memory"):
        driver.Launch(load(driver), (1, 1, 1), (1, 1), [*map(ctypes.c_int64, words)], 200 << 10).run(0)


def test_a_tensor_that_the_driver_refuses(fresh):
    _, driver = fresh
    map = driver.tensor_map(1 << 20, (128, 5, 3), (128, 640), (128, 64, 1))
    assert list(map.words)[:4] == [1 << 20, 128, 5, 3]
    with pytest.raises(RuntimeError, match=r"sizes \(128, 5, 3\) and strides \(100, 640\): 1"):
        driver.tensor_map(1 << 20, (128, 5, 3), (100, 640), (128, 64, 1))


def test_grids_stay_within_what_a_device_takes(emulated):
    """A kernel steps by the size of the grid where there are more rows or matrices than blocks."""
    device = emulated.device.CudaDevice()
    emulated.gpu.launches.clear()
    memory = device.allocate(4 * 70_000)
    device.launch(
        "fill", {"XL_LANES": 1, "XL_MAX_LIMBS": 1, "XL_MAX_GROUPS": 1}, (70_000, 1, 1), (memory, 0, 70_000, 7)
    )
    assert (device.download(memory, np.dtype(np.int32), (70_000,)) == 7).all()
    assert emulated.gpu.launches[-1].grid == (274, 1, 1)


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_memory(emulated):
    device = emulated.device.CudaDevice()
    assert device.allocate(0).ptr % 64 == 0
    array = np.arange(5, dtype=np.int32)
    memory = device.upload(array)
    array[:] = 0
    assert device.download(memory, np.dtype(np.int32), (5,)).tolist() == [0, 1, 2, 3, 4]
    device.clear(memory)
    assert not device.download(memory, np.dtype(np.int32), (5,)).any()
    assert device.download(memory, np.dtype(np.int32), (0, 3)).shape == (0, 3)
    assert device.place() == (0, 0)


# ---- which kernel serves what ----------------------------------------------------------------------------------------


def test_workspace(emulated):
    matrix = emulated.matrix.CudaMatrix(emulated.device.CudaDevice())
    base, tile = base_for(256, 60), Tile(1, 1, 1, 100, 200, 300)
    int8, fp16, *_ = matrix.engines
    sums = 4 * len(base.moduli) * 100 * 200
    assert matrix.workspace(tile, base, int8) == (0 if emulated.gpu.capability == (9, 0) else sums)
    assert matrix.workspace(tile, base, fp16) == sums + 2 * len(base.moduli) * 300 * 384


@pytest.mark.parametrize("unit", ["int8", "fp16", "fp64"])
def test_the_engine_that_is_forced_is_taken(emulated, rng, unit):
    a, b = rng.integers(-99, 99, (20, 30)), rng.integers(-99, 99, (30, 10))
    emulated.gpu.launches.clear()
    emulated.gpu.products.clear()
    with xl.backend("cuda"), xl.engine(unit):
        found = xl.mm_exact(a, b)
    assert (found == a @ b).all()
    own = [launch for launch in emulated.gpu.launches if launch.kernel == "xl_residue_product"]
    by_hopper = emulated.gpu.capability == (9, 0) and unit == "int8"
    assert (bool(own), bool(emulated.gpu.products)) == (by_hopper, not by_hopper)


def test_a_launch_has_no_more_blocks_than_tiles_or_multiprocessors(emulated, rng):
    if emulated.gpu.capability != (9, 0):
        pytest.skip("only Hopper's kernel stays on its multiprocessors")
    device, base = open_device("cuda"), ResidueBase((255,))
    engine = device.backend.engines[0]
    x = device.residues(np.ones((1, 3, 5), int), base, engine)
    for pairs, blocks in ((1, 1), (7, 3)):
        device.backend.multiply([(1, x, x)], ([0] * pairs, [0] * pairs), base, engine)
        assert emulated.gpu.launches[-1].grid == (blocks, 1, 1)


def test_general_kernels_take_what_the_fast_ones_do_not(emulated, rng):
    wide = np.array([[1 << 400, -3], [5, 1 << 300]], object)
    emulated.gpu.launches.clear()
    with xl.backend("cuda"):
        assert (xl.mm_exact(wide, wide) == wide @ wide).all()
    names = {launch.kernel for launch in emulated.gpu.launches}
    assert "xl_kernel_scan" in names
    assert not names & {"xl_cuda_scan", "xl_cuda_residues8", "xl_cuda_round8"}
