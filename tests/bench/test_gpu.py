"""The benchmark of CUDA devices, on one that is pretended: what is timed, what is recorded; no time is asserted."""

import json
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench import gpu
from bench.cli import main
from bench.gpu import Case
from exactla import registry
from tests.backends.cuda.emulation import compiler
from tests.backends.cuda.emulation.installing import installed


class Event:
    def record(self) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        assert self.time


@pytest.fixture(scope="module")
def device() -> Iterator[Any]:
    reason = compiler.why_not()
    if reason is not None:
        pytest.skip(f"CUDA kernels on the host NOT EXERCISED: {reason}")
    with installed((8, 0)) as found:
        import cupy

        cupy.__version__ = "0"
        cupy.matmul = lambda a, b: a.memory @ b.memory
        cupy.cuda.Event = Event
        cupy.cuda.get_elapsed_time = lambda start, end: 1e3 * (end.time - start.time)
        properties = {"name": b"Pretended", "major": 8, "minor": 0, "multiProcessorCount": 3, "totalGlobalMem": 1}
        cupy.cuda.runtime.getDeviceProperties = lambda _: properties
        cupy.cuda.runtime.driverGetVersion = cupy.cuda.runtime.runtimeGetVersion = lambda: 12090
        yield SimpleNamespace(gpu=found)


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "WARM_UP", 0)


def test_cases() -> None:
    found = gpu.cases([1024], ["float64", "float32"], [4096])
    assert [(c.m, c.batch, c.dtype, c.data) for c in found] == [
        (256, 1, "float64", "normal"),
        (20, 5, "float64", "normal"),
        (1024, 1, "float64", "normal"),
        (1024, 1, "float32", "normal"),
        (4096, 1, "float64", "wide"),
    ]
    assert [c.calls for c in found] == [gpu.SMALL_CALLS, gpu.SMALL_CALLS, 1, 1, 1]


def test_large_operands_repeat_a_block(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "BLOCK", 4)
    a, b = Case(10, 3, 5, "float32").operands()
    assert (a.shape, b.shape, a.dtype) == ((10, 3), (3, 5), "float32")
    np.testing.assert_array_equal(a.memory[4:8], a.memory[:4])


def test_rows(device: Any) -> None:
    own, blas, int8 = gpu.run(Case(20, 2100, 10, "float64"), repeat=2)
    assert [row["contestant"] for row in (own, blas, int8)] == ["mm_enclose", "cublas-float64", "cublas-int8"]
    assert own["details"]["backend"] == "cuda"
    assert own["ratio"] == 1
    assert list(own["parts"]) == list(gpu.PARTS)
    assert all(seconds > 0 for seconds in own["parts"].values())
    moduli = own["details"]["moduli"]
    assert own["int8_rate"]["end_to_end"] == 2 * moduli * 20 * 2100 * 10 / own["seconds_median"]
    assert own["int8_rate"]["products"] == 2 * moduli * 20 * 2100 * 10 / own["parts"]["products"]
    assert int8["macs_per_second"] == moduli * 20 * 2100 * 10 / int8["seconds_median"]
    assert (moduli, 32, 16, 2112) in device.gpu.products
    assert not [name for name in vars(registry.load("cuda")) if name in gpu.PARTS["products"]]


def test_a_batch(device: Any) -> None:
    own, blas = gpu.run(Case(4, 8, 3, "float32", batch=3), repeat=1)
    assert (own["contestant"], own["batch"], blas["contestant"]) == ("bmm_enclose", 3, "cublas-float32")


def test_the_command(device: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "record.json"
    arguments = ["--sizes", "24", "--dtypes", "float32", "--wide", "20", "--repeat", "1", "--output", str(path)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu, "SMALL_CALLS", 1)
        assert main(["gpu", *arguments]) == 0
    content = json.loads(path.read_text())
    assert content["environment"]["device"] == "Pretended"
    assert {(row["m"], row["data"]) for row in content["results"]} == {
        *((256, "normal"), (20, "normal"), (24, "normal"), (20, "wide"))
    }
    printed = capsys.readouterr().out
    assert "useful int8 T op/s" in printed
    assert "conversion" in printed


def test_without_a_device(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.subjects.unavailable", lambda backend: f"{backend} is not here")
    assert main(["gpu"]) == 2
    assert "cuda is not here" in capsys.readouterr().err
