"""Programs for the device of a queue: compiled from OpenCL C where the queue takes it, else from SPIR-V.

OpenCL queues take source. Those of Level Zero, which dpnp prefers on Intel GPUs, take SPIR-V only, which the build of
exactla makes where it finds clang and llvm-spirv. For tests, EXACTLA_SYCL_KERNELS=spirv asks OpenCL queues to take it
too, and EXACTLA_SYCL_KERNELS=no-fp64 compiles source as for a device without double precision.
"""

import importlib
import importlib.util
import os
import zipfile
from collections.abc import Mapping
from functools import cache, lru_cache
from threading import get_ident
from typing import Any

import dpctl

from exactla.errors import BackendUnavailable
from exactla_backends.kernels import modules
from exactla_backends.sycl.runtime import path_of_modules

SETTING = "EXACTLA_SYCL_KERNELS"
STANDARD = "-cl-std=CL3.0"
NO_MODULES = (
    "a queue that is not of OpenCL takes kernels as SPIR-V, which exactla was built without: apt-get install clang-14 "
    "llvm-spirv-14, and install exactla again; or use arrays on a queue of OpenCL, such as dpctl.SyclQueue('opencl')"
)


def compilation_error() -> type[Exception]:
    """What is raised where a program does not compile."""
    return _names()[2]


@cache
def _names() -> tuple[Any, Any, type[Exception]]:
    """What makes programs from source and from SPIR-V, and what it raises: by dpctl's newer names or its older ones."""
    if importlib.util.find_spec("dpctl.compiler") is not None:
        found = importlib.import_module("dpctl.compiler")
        newer = found.create_kernel_bundle_from_source, found.create_kernel_bundle_from_spirv
        return *newer, found.SyclKernelBundleCompilationError
    found = importlib.import_module("dpctl.program")
    return found.create_program_from_source, found.create_program_from_spirv, found.SyclProgramCompilationError


def needs_spirv(queue: Any) -> bool:
    """Whether programs for a queue are made from SPIR-V."""
    return queue.backend != dpctl.backend_type.opencl or os.environ.get(SETTING) == "spirv"


def kernel(queue: Any, name: str, text: str, macros: Mapping[str, int]) -> Any:
    """The kernel `xl_kernel_<name>` of a text, compiled with these macros for the device of a queue.

    Raises
    ------
    BackendUnavailable
        The queue takes SPIR-V, and there is none.
    """
    if needs_spirv(queue):
        program = loaded(queue, _chosen(name, macros), has_dot_products(queue))
    else:
        program = compiled(queue, _prefix() + text, _options(macros))
    return _kernel(program, f"xl_kernel_{name}", get_ident())


@lru_cache(maxsize=1024)
def _kernel(program: Any, name: str, _thread: int) -> Any:
    """A kernel of a program, of its own for each thread, since launches set its arguments."""
    return program.get_sycl_kernel(name)


_WITHOUT_DOUBLE = """
#undef cl_khr_fp64
#undef __opencl_c_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : disable
#define double exactla_takes_no_double
"""


def _prefix() -> str:
    return _WITHOUT_DOUBLE if os.environ.get(SETTING) == "no-fp64" else ""


def _options(macros: Mapping[str, int]) -> str:
    return " ".join([STANDARD, *(f"-D{name}={value}" for name, value in sorted(macros.items()))])


def _chosen(name: str, macros: Mapping[str, int]) -> modules.Chosen:
    try:
        return modules.chosen(name, macros)
    except LookupError as error:
        raise BackendUnavailable(f"{error}; a queue of OpenCL takes any: dpctl.SyclQueue('opencl')") from None


@lru_cache(maxsize=1024)
def compiled(queue: Any, text: str, options: str) -> Any:
    """A program from OpenCL C."""
    return _names()[0](queue, text, options)


@lru_cache(maxsize=1024)
def loaded(queue: Any, chosen: modules.Chosen, dots: bool) -> Any:
    """A program from one of the modules, with dot products of packed bytes or without."""
    content = module_file(chosen.name + (modules.DOTS if dots else ""))
    return _names()[1](queue, modules.specialised(content, chosen.constants) if chosen.constants else content)


def module_file(name: str) -> bytes:
    """One of the modules that came with exactla.

    Raises
    ------
    BackendUnavailable
        Exactla was built without them.
    """
    found = path_of_modules()
    if found is None:
        raise BackendUnavailable(NO_MODULES)
    with zipfile.ZipFile(found) as file:
        return file.read(name)


_DOT_PRODUCTS = """
#ifndef __opencl_c_integer_dot_product_input_4x8bit_packed
#error "no products of packed bytes"
#endif
"""


@lru_cache(maxsize=64)
def has_dot_products(queue: Any) -> bool:
    """Whether the compiler for a queue has dot products of packed bytes."""
    try:
        if needs_spirv(queue):
            loaded(queue, modules.Chosen("multiply-1", ()), True)
        else:
            compiled(queue, _DOT_PRODUCTS, STANDARD)
    except compilation_error():
        return False
    return True


_MATRIX_UNITS = """
#ifndef cl_intel_subgroup_matrix_multiply_accumulate
#error "no matrix units"
#endif
"""


@lru_cache(maxsize=64)
def has_matrix_units(queue: Any) -> bool:
    """Whether the device of a queue reports XMX matrix units for bytes.

    Only OpenCL says so: a device of Level Zero is asked as the one that OpenCL knows by its name. Compilers take such
    products for devices without these units too.
    """
    device = queue.sycl_device
    if queue.backend != dpctl.backend_type.opencl:
        device = next((one for one in dpctl.get_devices(backend="opencl") if one.name == device.name), None)
    if device is None:
        return False
    try:
        compiled(dpctl.SyclQueue(device), _MATRIX_UNITS, STANDARD)
    except compilation_error():
        return False
    return True
