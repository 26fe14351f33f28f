"""Where programs come from: source for OpenCL queues, SPIR-V for others, under both sets of dpctl's names."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import dpctl
import pytest

from exactla import BackendUnavailable
from exactla_backends.kernels.text import kernel_text
from exactla_backends.sycl import programs
from exactla_backends.sycl.runtime import devices

MACROS = {"XL_LANES": 4, "XL_MAX_LIMBS": 1, "XL_MAX_GROUPS": 1}
OPENCL = SimpleNamespace(backend=dpctl.backend_type.opencl)
LEVEL_ZERO = SimpleNamespace(backend=dpctl.backend_type.level_zero)


class Program:
    """One whose kernels are their names."""

    def get_sycl_kernel(self, name):
        return name


@pytest.fixture
def made(monkeypatch):
    """What programs were made from; kernels are their names."""
    found = []

    def make(kind):
        def program(queue, content, options=""):
            found.append((kind, content, options))
            return Program()

        return program

    caches = programs.compiled, programs.loaded, programs.has_dot_products
    for cache in caches:
        cache.cache_clear()
    monkeypatch.delenv(programs.SETTING, raising=False)
    monkeypatch.setattr(programs, "_names", lambda: (make("source"), make("SPIR-V"), RuntimeError))
    monkeypatch.setattr(programs, "module_file", lambda name: name.encode())
    yield found
    for cache in caches:
        cache.cache_clear()


def test_queues_of_opencl_take_source(made):
    assert programs.kernel(hashable(OPENCL), "fill", kernel_text("fill"), MACROS) == "xl_kernel_fill"
    ((kind, content, options),) = made
    assert (kind, content) == ("source", kernel_text("fill"))
    assert options == "-cl-std=CL3.0 -DXL_LANES=4 -DXL_MAX_GROUPS=1 -DXL_MAX_LIMBS=1"


def test_queues_of_level_zero_take_spirv(made):
    assert programs.kernel(hashable(LEVEL_ZERO), "fill", kernel_text("fill"), MACROS) == "xl_kernel_fill"
    assert made == [("SPIR-V", b"multiply-1-dots", ""), ("SPIR-V", b"fill-dots", "")]


def test_spirv_can_be_asked_for(made, monkeypatch):
    monkeypatch.setenv(programs.SETTING, "spirv")
    programs.kernel(hashable(OPENCL), "fill", kernel_text("fill"), MACROS)
    assert [content for _, content, _ in made] == [b"multiply-1-dots", b"fill-dots"]


@pytest.mark.parametrize("setting", ["", "no-fp64"])
def test_double_precision_can_be_taken_away(monkeypatch, setting):
    if not devices():
        pytest.skip("SYCL devices NOT EXERCISED: no SYCL device is found")
    monkeypatch.setenv(programs.SETTING, setting)
    queue = dpctl.SyclQueue(devices()[0])
    programs.kernel(queue, "whole", "kernel void xl_kernel_whole(global long *x) { x[0] += 1; }", {})
    text = "kernel void xl_kernel_half(global double *x) { x[0] *= 0.5; }"
    if setting:
        with pytest.raises(programs.compilation_error()):
            programs.kernel(queue, "half", text, {})
    elif queue.sycl_device.has_aspect_fp64:
        programs.kernel(queue, "half", text, {})


def test_devices_without_dot_products(made, monkeypatch):
    refusing = programs._names()[1]

    def from_spirv(queue, content):
        if content.endswith(b"-dots"):
            raise RuntimeError
        return refusing(queue, content)

    monkeypatch.setattr(programs, "_names", lambda: (None, from_spirv, RuntimeError))
    programs.kernel(hashable(LEVEL_ZERO), "fill", kernel_text("fill"), MACROS)
    assert [content for _, content, _ in made] == [b"fill"]


def test_without_the_file(monkeypatch):
    monkeypatch.setattr(programs, "path_of_modules", lambda: None)
    for cache in (programs.loaded, programs.has_dot_products):
        cache.cache_clear()
    with pytest.raises(BackendUnavailable, match=r"SPIR-V.*apt-get install clang-14 llvm-spirv-14"):
        programs.kernel(hashable(LEVEL_ZERO), "fill", kernel_text("fill"), MACROS)


def test_integers_that_no_module_is_for(made):
    with pytest.raises(BackendUnavailable, match="8192 limbs"):
        programs.kernel(hashable(LEVEL_ZERO), "round", kernel_text("round"), MACROS | {"XL_MAX_LIMBS": 8192})


def test_newer_names_of_dpctl(monkeypatch):
    newer = ModuleType("dpctl.compiler")
    newer.__spec__ = ModuleSpec("dpctl.compiler", None)
    newer.__dict__.update(
        create_kernel_bundle_from_source="from source",
        create_kernel_bundle_from_spirv="from SPIR-V",
        SyclKernelBundleCompilationError=KeyError,
    )
    monkeypatch.setitem(sys.modules, "dpctl.compiler", newer)
    programs._names.cache_clear()
    try:
        assert programs._names() == ("from source", "from SPIR-V", KeyError)
    finally:
        programs._names.cache_clear()


def hashable(queue):
    """A queue, as far as programs look at it."""
    return type("Queue", (), {"backend": queue.backend})()
