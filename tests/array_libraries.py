"""The array libraries that exactla takes: how to make their arrays from NumPy's and to read them back, bit by bit.

A library is imported when it is first asked for; `missing` says why it cannot be used here.
"""

import contextlib
import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from exactla_backends.sycl.runtime import find_drivers
from tests.oracle import FORMATS, INTEGER_NAMES

_COMMON = ("float32", "float64", "complex64", "complex128", *INTEGER_NAMES)


class ArrayLibrary:
    """NumPy itself, and what other libraries have in common with it."""

    name = "numpy"
    dtypes: tuple[str, ...] = (*FORMATS, "complex64", "complex128", *INTEGER_NAMES)

    def __init__(self) -> None:
        self.module: Any = importlib.import_module(self.name)

    def missing(self) -> str | None:
        """Why arrays of the library cannot be made here."""
        return None

    def scope(self) -> AbstractContextManager[Any]:
        """Settings under which the library holds every type of `dtypes`."""
        return contextlib.nullcontext()

    def make(self, array: Any) -> Any:
        return self.module.asarray(array)

    def host(self, array: Any) -> Any:
        """The NumPy array of the same bits."""
        assert isinstance(array, self.kind()), f"{type(array)} is not of {self.name}"
        return np.asarray(array)

    def kind(self) -> type:
        return type(self.make(np.zeros(1, dtype=np.float32)))

    def device(self, array: Any) -> Any:
        return array.device


class ArrayAPIStrict(ArrayLibrary):
    name = "array_api_strict"
    dtypes = _COMMON


class Cupy(ArrayLibrary):
    name = "cupy"

    def missing(self) -> str | None:
        try:
            self.module.zeros(1)
        except Exception as error:  # CuPy has its own classes for a machine without a device
            return f"{type(error).__name__}: {error}"
        return None

    def make(self, array: Any) -> Any:
        # CuPy makes arrays of fewer types than it views
        if array.dtype.name in FORMATS:
            return self.module.asarray(array.view(f"u{array.itemsize}")).view(array.dtype)
        return self.module.asarray(array)

    def host(self, array: Any) -> Any:
        assert type(array) is self.module.ndarray
        if array.dtype.name in FORMATS:
            return self.module.asnumpy(array.view(f"u{array.itemsize}")).view(array.dtype)
        return self.module.asnumpy(array)


class Jax(ArrayLibrary):
    """JAX on the host, whatever devices it prefers."""

    name = "jax"
    platform = "cpu"

    def missing(self) -> str | None:
        try:
            self.module.devices(self.platform)
        except RuntimeError as error:
            return str(error)
        return None

    def scope(self) -> AbstractContextManager[Any]:
        return self.module.enable_x64(True)  # type: ignore[no-any-return]

    def make(self, array: Any) -> Any:
        return self.module.device_put(array, self.module.devices(self.platform)[0])

    def kind(self) -> type:
        return self.module.Array  # type: ignore[no-any-return]

    def device(self, array: Any) -> Any:
        return array.devices()


class JaxCuda(Jax):
    platform = "cuda"


class Torch(ArrayLibrary):
    name = "torch"

    def __init__(self) -> None:
        super().__init__()
        self.dtypes = tuple(name for name in ArrayLibrary.dtypes if hasattr(self.module, name))

    def make(self, array: Any) -> Any:
        array = np.ascontiguousarray(array)
        if array.dtype.name in FORMATS:
            signed = self.module.from_numpy(array.view(f"i{array.itemsize}").copy())
            return signed.view(getattr(self.module, array.dtype.name))
        return self.module.from_numpy(array.copy())

    def host(self, array: Any) -> Any:
        assert isinstance(array, self.module.Tensor)
        name = str(array.dtype).removeprefix("torch.")
        if name not in FORMATS:
            return array.numpy()
        signed = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}[array.element_size()]
        return array.view(getattr(self.module, signed)).numpy().view(FORMATS[name].dtype)


class TorchCuda(Torch):
    def missing(self) -> str | None:
        return None if self.module.cuda.is_available() else "torch finds no CUDA device"

    def make(self, array: Any) -> Any:
        return super().make(array).cuda()

    def host(self, array: Any) -> Any:
        assert array.is_cuda
        return super().host(array.cpu())


class Dpnp(ArrayLibrary):
    name = "dpnp"
    dtypes = ("float32", "complex64", *INTEGER_NAMES)

    def __init__(self) -> None:
        find_drivers()
        super().__init__()

    def missing(self) -> str | None:
        try:
            self.module.zeros(1)
        except Exception as error:  # dpctl has its own classes for a machine without a device
            return f"{type(error).__name__}: {error}"
        return None

    def host(self, array: Any) -> Any:
        assert isinstance(array, self.module.ndarray)
        return self.module.asnumpy(array)


KINDS: dict[str, type[ArrayLibrary]] = {
    **{c.name: c for c in (ArrayLibrary, ArrayAPIStrict, Torch, Jax, Dpnp, Cupy)},
    "torch-cuda": TorchCuda,
    "jax-cuda": JaxCuda,
}
CUDA = ("cupy", "torch-cuda", "jax-cuda")


def missing(name: str) -> str | None:
    """Why a library cannot be used here, or None."""
    try:
        return KINDS[name]().missing()
    except ImportError as error:
        return str(error)


@contextlib.contextmanager
def opened(name: str) -> Iterator[ArrayLibrary]:
    """A library, inside its settings."""
    library = KINDS[name]()
    with library.scope():
        yield library
