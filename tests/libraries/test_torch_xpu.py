"""Tensors on XPU devices (`exactla.libraries.torch_xpu`): pretended ones, in memory that a queue shares with the host.

Torch works on such a tensor as on any of the host's, and exactla on its queue; what torch itself says of devices and
streams is pretended.
"""

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import exactla as xl
from exactla.arrays import read
from tests.array_libraries import missing

torch = pytest.importorskip("torch")
border = pytest.importorskip("exactla.libraries.torch")
pytestmark = pytest.mark.skipif(missing("dpnp") is not None, reason=f"NOT EXERCISED: {missing('dpnp')}")


class Stream:
    """A stream of torch's: in order, and known by the address of its queue."""

    def __init__(self) -> None:
        import dpctl

        self.queue = dpctl.SyclQueue(property="in_order")

    @property
    def sycl_queue(self) -> int:
        return int(self.queue.addressof_ref())


def shared(stream: Any, shape: Any, dtype: Any) -> Any:
    """A tensor in memory of the stream's queue."""
    import dpctl.memory

    count = int(np.prod(shape))
    if not count:
        return torch.zeros(shape, dtype=dtype)
    memory = dpctl.memory.MemoryUSMShared(count * dtype.itemsize, queue=stream.queue)
    return torch.frombuffer(memoryview(memory), dtype=dtype, count=count).view(shape)


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Stream:
    """The stream of the only XPU device, on which all tensors are, to look at them."""
    found = Stream()
    empty = torch.empty
    describe = border.Torch.describe

    def on_xpu(self: Any, array: Any, name: str) -> Any:
        return replace(describe(self, array, name), device_kind="sycl")

    def shared_empty(shape: Any, *, dtype: Any = torch.float32, device: Any = None) -> Any:
        return shared(found, shape, dtype) if device is not None else empty(shape, dtype=dtype)

    monkeypatch.setattr(border.Torch, "describe", on_xpu)
    monkeypatch.setattr(torch.xpu, "current_stream", lambda device: found)
    monkeypatch.setattr(torch.xpu, "device", contextlib.nullcontext)
    monkeypatch.setattr(torch, "empty", shared_empty)
    return found


def on_device(stream: Stream, array: Any) -> Any:
    tensor = shared(stream, array.shape, torch.from_numpy(array).dtype)
    tensor.copy_(torch.from_numpy(array))
    return tensor


def test_a_queue_by_its_address() -> None:
    from exactla.libraries.torch_xpu import queue_of

    stream = Stream()
    found = queue_of(stream.sycl_queue)
    assert found == stream.queue
    assert hash(found) == hash(stream.queue)
    del found  # what is let go is a copy
    assert stream.queue.sycl_device.name


def test_entries_are_not_copied(stream: Stream) -> None:
    tensor = on_device(stream, np.arange(60.0).reshape(3, 4, 5))
    for seen in (tensor, tensor[1:, 2], tensor[:, ::2].mT, tensor[2, 1:, ::3]):
        source = read(seen, "a")
        array = source.library.device_encodings(source)
        assert array.sycl_queue == stream.queue
        interface = array.__sycl_usm_array_interface__
        assert interface["data"][0] + 8 * interface["offset"] == seen.data_ptr()
        assert (array.shape, array.strides) == (tuple(seen.shape), tuple(seen.stride()))


@pytest.mark.parametrize("transposed", [False, True])
def test_products(stream: Stream, rng: Any, transposed: bool) -> None:
    a, b = (np.ldexp(rng.standard_normal((6, 40)), rng.integers(-30, 30, (6, 40))) for _ in range(2))
    x, y = on_device(stream, a), on_device(stream, b)
    lo, hi = xl.mm_enclose(x, y.mT) if transposed else xl.mm_enclose_nt(x, y)
    assert isinstance(lo, torch.Tensor)
    wanted = xl.mm_enclose(a, b.T)
    assert [lo.numpy().tobytes(), hi.numpy().tobytes()] == [end.tobytes() for end in wanted]


def test_complex_products(stream: Stream, rng: Any) -> None:
    a = rng.standard_normal((3, 7)) + 1j * rng.standard_normal((3, 7))
    x = on_device(stream, a)
    assert xl.mm(x, x.mT).numpy().tobytes() == xl.mm(a, a.T).tobytes()


def test_empty_results(stream: Stream) -> None:
    x = on_device(stream, np.ones((0, 3)))
    assert xl.mm(x, x.mT).shape == (0, 0)
