"""What every public call does around the core: read operands, choose a backend, turn faults into errors and results."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from exactla import registry, settings
from exactla.arrays import Source, agree, dtype_format, read
from exactla.backend import Backend, Operand
from exactla.core.matmul import Options, Work
from exactla.errors import BackendUnavailable, NonFiniteError, OperandChangedError
from exactla.formats import FloatFormat, common_format
from exactla.prepared import Prepared
from exactla.results import Info


def read_operands(*operands: tuple[Any, str]) -> tuple[Source, ...]:
    """Check operands, each with its name in messages, and that they belong to one library and device."""
    sources = [array.as_operand(name) if isinstance(array, Prepared) else read(array, name) for array, name in operands]
    agree(*sources)
    return tuple(sources)


def recording(operands: Iterable[tuple[Any, str]]) -> bool:
    """Whether torch.compile is recording a call, which has to become an operator of torch then."""
    # no compiler means that torch is not imported, or is being imported by another thread
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    if compiler is None or not compiler.is_compiling():
        return False
    tensor = sys.modules["torch"].Tensor
    return all(isinstance(array, tensor) for array, _ in operands)


def backend_for(source: Source) -> Backend:
    """The backend that the context forces, or the preferred one for the device of an operand."""
    forced = settings.forced_backend.get()
    if forced is None:
        return registry.default(source.device_kind)
    description = registry.descriptions()[forced]
    if source.device_kind not in description.devices + description.copies_from:
        raise BackendUnavailable(f"backend {forced!r} takes no arrays on {source.device_kind!r} devices")
    return registry.load(forced)


def options() -> Options:
    """The settings of the calling context."""
    return Options(
        settings.forced_engine.get(),
        settings.checks_enabled.get(),
        settings.workspace_bytes.get(),
        settings.progress_callback.get(),
    )


def result_format(sources: Sequence[Source], dtype: Any) -> FloatFormat:
    """The format of a result, or of its parts where it is complex: the operands' common one, or the one asked for."""
    if dtype is None:
        formats = [s.format for s in sources]
        first = formats[0]
        if isinstance(first, FloatFormat) and formats.count(first) == len(formats):
            return first  # a library holds what it gave
        format = common_format(*formats)
        sources[0].library.check_result(format, sources[0])
    else:
        is_complex = any(s.complex for s in sources)
        format, asked_complex = dtype_format(dtype, sources[0])
        if is_complex != asked_complex:
            kind = ("real", "complex")
            raise TypeError(
                f"dtype={dtype} is {kind[asked_complex]} and the product is {kind[is_complex]}; "
                f"pass a {kind[is_complex]} dtype"
            )
    return format


def parts(backend: Backend, source: Source, *, transpose: bool) -> list[Operand]:
    """An operand as the backend sees it: its real part, and its imaginary part where it has one."""
    names: tuple[Literal["real", "imag"], ...] = ("real", "imag") if source.complex else ("real",)
    return [backend.view(source, part=part, transpose=transpose) for part in names]


def nonfinite_error(backend: Backend, sources: Iterable[Source], hint: str = "") -> NonFiniteError:
    """The error for the first entry that is not finite."""
    for source in sources:
        positions = [backend.first_nonfinite(x) for x in parts(backend, source, transpose=False)]
        found = [p for p in positions if p >= 0]
        if found:
            index = tuple(int(i) for i in np.unravel_index(min(found), source.shape))
            return NonFiniteError(source.name, index, hint)
    raise OperandChangedError("an operand was found to hold non-finite entries and then not")


def info(backend: Backend, work: Work, hull: Any = None) -> Info:
    """The account of a computation."""
    return Info(
        backend=backend.name,
        engine=work.arithmetic.engine.name,
        moduli=len(work.arithmetic.base.moduli),
        bits=work.arithmetic.bits,
        capacity=work.arithmetic.base.capacity,
        passes=work.tiling.passes,
        lossless=True,
        host_syncs=work.host_syncs,
        workspace_bytes=work.tiling.workspace_bytes,
        hull=hull,
    )
