"""Tensors of PyTorch on XPU devices as memory of a SYCL queue: the queue that torch works on there.

Knows torch and dpctl, which is imported for such tensors alone. Torch's queues are in order: what is given to them
begins when what was given before has ended.
"""

import ctypes
import importlib
import importlib.util
from pathlib import Path
from typing import Any

import torch

_CAPSULE = b"SyclQueueRef"
"""The name under which dpctl takes a `sycl::queue *`, and then owns it."""


def encodings(tensor: Any, dtype: str) -> Any:
    """The `usm_ndarray` of a tensor's entries on torch's current queue; not copied.

    The tensor lives as long as the array.
    """
    import dpctl.memory

    queue = queue_of(torch.xpu.current_stream(tensor.device).sycl_queue)
    if not tensor.numel():  # no memory need be there
        return _tensors().empty(tuple(tensor.shape), dtype=dtype, sycl_queue=queue)
    memory = dpctl.memory.as_usm_memory(_Entries(tensor, queue))
    return _tensors().usm_ndarray(
        tuple(tensor.shape), dtype=dtype, buffer=memory, strides=tensor.stride(), offset=tensor.storage_offset()
    )


def tensor(array: Any, device: Any) -> Any:
    """A tensor of signed integers, in torch's own memory, with the bits of a contiguous `usm_ndarray`, copied.

    Torch gives memory back in the order of its queue, which memory of others does not know.
    """
    import dpctl.memory

    found = torch.empty(array.shape, dtype=getattr(torch, f"int{8 * array.itemsize}"), device=device)
    if found.numel():
        target = dpctl.memory.as_usm_memory(_Entries(found, array.sycl_queue))
        array.sycl_queue.memcpy(target, array.usm_data, found.numel() * found.element_size())
    return found


def queue_of(address: int) -> Any:
    """A queue of dpctl's that is the `sycl::queue` at an address."""
    import dpctl

    library = ctypes.CDLL(str(Path(dpctl.__file__).with_name("libDPCTLSyclInterface.so")))
    copy = library.DPCTLQueue_Copy
    copy.restype, copy.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return dpctl.SyclQueue(capsule(copy(address), _CAPSULE, None))


class _Entries:
    """The memory of a tensor's storage, as libraries of SYCL exchange it."""

    def __init__(self, tensor: Any, queue: Any) -> None:
        storage = tensor.untyped_storage()
        self._tensor = tensor
        self.__sycl_usm_array_interface__ = {
            "data": (storage.data_ptr(), False),
            "shape": (storage.nbytes(),),
            "strides": None,
            "typestr": "|u1",
            "version": 1,
            "offset": 0,
            "syclobj": queue,
        }


def _tensors() -> Any:
    """The module of `usm_ndarray`, which dpctl has handed to dpnp."""
    found = importlib.util.find_spec("dpctl.tensor")
    return importlib.import_module("dpnp.tensor" if found is None else "dpctl.tensor")
