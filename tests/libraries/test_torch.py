"""PyTorch tensors (`exactla.libraries.torch`): lazy conjugates and negatives, and the tensors that have no entries."""

import warnings
from typing import Any

import numpy as np
import pytest

from exactla.arrays import read

torch = pytest.importorskip("torch")


def entries(tensor: Any, part: Any = "real") -> Any:
    source = read(tensor, "a")
    return source.library.host_encodings(source, part)


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def test_host_memory_is_not_copied() -> None:
    for dtype in (torch.float64, torch.bfloat16, torch.float8_e5m2, torch.int32, torch.bool):
        tensor = torch.zeros((3, 4), dtype=dtype)[1:].mT
        seen = entries(tensor)
        assert address(seen) == tensor.data_ptr()
        assert seen.strides == tuple(s * tensor.element_size() for s in tensor.stride())
    tensor = torch.zeros((3, 4), dtype=torch.complex128)
    assert (address(entries(tensor)), address(entries(tensor, "imag"))) == (tensor.data_ptr(), tensor.data_ptr() + 8)


def test_an_expanded_tensor_keeps_stride_zero() -> None:
    assert entries(torch.ones(4).expand(3, 4)).strides == (0, 4)


def test_lazy_conjugates_and_negatives() -> None:
    tensor = torch.tensor([complex(1, 2), complex(-0.0, -0.0), complex(3, 0.0)], dtype=torch.complex128)
    lazy = tensor.conj()
    assert lazy.is_conj()
    np.testing.assert_array_equal(entries(lazy), np.array([1, -0.0, 3.0]).view("u8"))
    np.testing.assert_array_equal(entries(lazy, "imag"), np.array([-2.0, 0.0, -0.0]).view("u8"))
    negative = lazy.imag
    assert negative.is_neg()
    np.testing.assert_array_equal(entries(negative), np.array([-2.0, 0.0, -0.0]).view("u8"))


def test_gradients() -> None:
    tensor = torch.ones(2, requires_grad=True)
    for argument in (tensor, tensor * 2, torch.nn.Parameter(torch.ones(2))):
        with pytest.raises(ValueError, match=r"a requires grad, and exactla computes no gradients; pass a.detach\(\)"):
            read(argument, "a")
        with torch.no_grad():
            assert entries(argument).shape == (2,)
        assert entries(argument.detach()).shape == (2,)


def test_result_requires_no_grad_and_owns_its_memory() -> None:
    source = read(torch.ones(2), "a")
    result = source.library.from_host(np.zeros(2, "u4"), source.format, source)  # type: ignore[arg-type]
    assert not result.requires_grad
    result += 1
    assert result.tolist() == [1.0, 1.0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tensors_without_entries_to_read() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        half = torch.zeros(2, dtype=torch.complex32)
        compressed = torch.eye(2).to_sparse_csr()
    with FakeTensorMode():
        fake = torch.empty(2)
    for tensor, message in [
        (torch.ones(2, device="meta"), "a is a tensor on the meta device, which has no entries"),
        (torch.eye(2).to_sparse(), r"a is a tensor of torch.sparse_coo layout; pass a dense one"),
        (compressed, r"a is a tensor of torch.sparse_csr layout"),
        (quantized, "a is a tensor of quantized layout"),
        (nested, "a is a tensor of nested layout"),
        (fake, "a is a transformed or wrapped tensor"),
        (half, "a has dtype torch.complex32; torch arrays may hold float16, bfloat16, .*float8_e5m2fnuz, complex64"),
        (torch.zeros(2, dtype=torch.float8_e8m0fnu), "a has dtype torch.float8_e8m0fnu"),
        (torch.float32, "a is a torch.dtype; supported are"),
    ]:
        with pytest.raises(TypeError, match=message):
            read(tensor, "a")


@pytest.mark.parametrize("transform", [torch.vmap, torch.func.jacrev])
def test_transformed_tensors(transform: Any) -> None:
    def inside(tensor: Any) -> Any:
        with pytest.raises(TypeError, match="a is a transformed or wrapped tensor; its entries must be known"):
            read(tensor, "a")
        return tensor

    transform(inside)(torch.ones(2, 3))


def test_plain_subclasses_are_read() -> None:
    class Tagged(torch.Tensor):  # type: ignore[name-defined,misc]
        pass

    assert entries(torch.ones(2).as_subclass(Tagged)).tolist() == [0x3F800000] * 2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="NOT EXERCISED: no CUDA device")
def test_cuda_tensors_go_to_the_host_and_back() -> None:
    tensor = torch.arange(6, device="cuda", dtype=torch.bfloat16).reshape(2, 3).mT
    source = read(tensor, "a")
    assert (source.device_kind, source.device) == ("cuda", tensor.device)
    encoded = np.array(source.library.host_encodings(source))
    result = source.library.from_host(encoded, source.format, source)  # type: ignore[arg-type]
    assert result.device == tensor.device
    assert torch.equal(result, tensor)
