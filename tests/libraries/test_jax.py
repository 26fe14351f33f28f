"""JAX arrays (`exactla.libraries.jax`): never 32 bits where 64 were asked for, never a tracer, one device."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from exactla.arrays import dtype_format, read
from exactla.formats import FLOAT32, FLOAT64, INT64

jax = pytest.importorskip("jax")


def test_host_memory_is_not_copied() -> None:
    array = jax.device_put(np.arange(6.0, dtype="float32").reshape(2, 3))
    source = read(array, "a")
    seen = source.library.host_encodings(source)
    assert seen.__array_interface__["data"][0] == array.unsafe_buffer_pointer()
    assert (source.device, source.device_kind) == (array.device, "cpu")


def test_64_bits_are_refused_where_jax_would_cut_them() -> None:
    with jax.enable_x64(True):
        like = read(jax.numpy.ones(2), "a")
        assert like.format == FLOAT64
        like.library.check_result(FLOAT64, like)
        like.library.check_result(INT64, like)
    bits = np.zeros(2, "u8")
    message = "JAX holds only after jax.config.update.'jax_enable_x64', True.; enable it or ask for dtype='float32'"
    with jax.enable_x64(False):
        for call in (
            lambda: like.library.check_result(FLOAT64, like),
            lambda: like.library.from_host(bits, FLOAT64, like),
            lambda: like.library.from_host_complex(bits, bits, FLOAT64, like),
            lambda: dtype_format("float64", like),
            lambda: dtype_format("complex128", like),
        ):
            with pytest.raises(ValueError, match=f"the result is of float64, which {message}"):
                call()
        for call in (
            lambda: like.library.check_result(INT64, like),
            lambda: like.library.from_host_integers(np.zeros(2, "i8"), like),
        ):
            with pytest.raises(ValueError, match=r"the result is of int64, which JAX holds only after .*; enable it$"):
                call()
        like.library.check_result(FLOAT32, like)
        assert like.library.from_host_integers(np.array([True]), like).dtype == bool
        # an array made while 64 bits were enabled is still read in full
        assert read(like.array, "a").library.host_encodings(like).dtype == np.uint64


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())])
def test_tracers(transform: Any) -> None:
    def inside(array: Any) -> Any:
        with pytest.raises(TypeError, match=r"a is a JAX tracer; exactla needs concrete values .* jit, vmap or grad"):
            read(array, "a")
        return array

    transform(inside)(jax.numpy.ones((2, 3)))


def test_types_that_are_not_supported() -> None:
    for array, dtype in ((jax.random.key(0), "key<fry>"), (jax.numpy.zeros(2, "int4"), "int4")):
        with pytest.raises(TypeError, match=f"a has dtype {dtype}; jax arrays may hold float16, bfloat16, .*8 to 64"):
            read(array, "a")


def test_arrays_on_several_devices() -> None:
    code = """
import jax, numpy as np
from exactla.arrays import agree, read
devices = jax.devices()
assert len(devices) == 2
one, two = (jax.device_put(np.ones(4, "float32"), d) for d in devices)
try:
    agree(read(one, "a"), read(two, "b"))
except ValueError as error:
    assert str(error) == f"a is on device {devices[0]} and b is on device {devices[1]}; move one of them", error
else:
    raise SystemExit("two devices agreed")
source = read(two, "b")
back = source.library.from_host(np.array(source.library.host_encodings(source)), source.format, source)
assert back.devices() == {devices[1]}
mesh = jax.sharding.Mesh(np.array(devices), "i")
spread = jax.device_put(one, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i")))
try:
    read(spread, "a")
except ValueError as error:
    assert str(error) == "a is spread over 2 devices; gather it on one with jax.device_put", error
else:
    raise SystemExit("a spread array was read")
"""
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
