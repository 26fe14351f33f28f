"""The operators of torch that torch.compile records in the place of products: `exactla::mm_enclose` and `exactla::mm`.

Public calls import this when they are recorded. A program that loads recorded ones imports it before that.
"""

from collections.abc import Sequence
from typing import Any

import torch

from exactla import calls
from exactla.arrays import agree
from exactla.formats import FLOAT32
from exactla.libraries.torch import LIBRARY
from exactla.products import ENDS, Operands, product
from exactla.results import Enclosure, Rounding
from exactla.shapes import Form, check_form

_Shape = Sequence[int | torch.SymInt]


def _mm_enclose(
    a: torch.Tensor, b: torch.Tensor, *, dtype: torch.dtype | None = None, nonfinite: str = "raise"
) -> tuple[torch.Tensor, torch.Tensor]:
    (lo, hi), _ = product(((a, "a"), (b, "b")), "nn", ENDS, dtype, nonfinite, return_info=False)
    return lo, hi


def _mm(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    rounding: str = "nearest",
    dtype: torch.dtype | None = None,
    nonfinite: str = "raise",
) -> torch.Tensor:
    direction = Rounding(rounding)
    (result,), _ = product(((a, "a"), (b, "b")), "nn", (direction,), dtype, nonfinite, return_info=False)
    return result


def _fake_mm_enclose(
    a: torch.Tensor, b: torch.Tensor, *, dtype: torch.dtype | None = None, **_: str
) -> tuple[torch.Tensor, torch.Tensor]:
    return _uncomputed(a, b, dtype), _uncomputed(a, b, dtype)


def _fake_mm(a: torch.Tensor, b: torch.Tensor, *, dtype: torch.dtype | None = None, **_: str) -> torch.Tensor:
    return _uncomputed(a, b, dtype)


def enclosed(operands: Operands, form: Form, dtype: Any, nonfinite: str) -> Enclosure:
    """What a recorded call of `mm_enclose` or one of its forms becomes."""
    a, b = _matrices(operands, form)
    return Enclosure(*mm_enclose(a, b, dtype=_torch_type(dtype), nonfinite=nonfinite))


def rounded(operands: Operands, form: Form, rounding: str, dtype: Any, nonfinite: str) -> torch.Tensor:
    """What a recorded call of `mm` or one of its forms becomes."""
    a, b = _matrices(operands, form)
    return mm(a, b, rounding=str(rounding), dtype=_torch_type(dtype), nonfinite=nonfinite)


def _matrices(operands: Operands, form: Form) -> tuple[torch.Tensor, torch.Tensor]:
    """Tensors whose product as in `torch.matmul` is the one meant. A transpose is a view; no bytes depend on it."""
    for tensor, name in operands:
        if tensor.requires_grad and torch.is_grad_enabled():
            raise ValueError(f"{name} requires grad, and exactla computes no gradients; pass {name}.detach()")
    check_form(form, [tensor.shape for tensor, _ in operands], [name for _, name in operands])
    a, b = operands[0][0], operands[-1][0]
    return a, b.mT if form in ("nt", "gram") and b.ndim > 1 else b


def _torch_type(dtype: Any) -> torch.dtype | None:
    found = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if not (dtype is None or isinstance(found, torch.dtype)):
        raise TypeError(f"dtype={dtype!r} is not understood inside torch.compile; pass a torch type or its name")
    return found


def _uncomputed(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    """A tensor of the type, the device and the shape of a product, whose entries nobody looks at."""
    sources = LIBRARY.describe(a, "a"), LIBRARY.describe(b, "b")
    agree(*sources)
    format = calls.result_format(sources, dtype)
    if any(s.complex for s in sources):
        kind = torch.complex64 if format is FLOAT32 else torch.complex128
    else:
        kind = getattr(torch, format.name)
    return a.new_empty(_shape(a.shape, b.shape), dtype=kind)


def _shape(a: _Shape, b: _Shape) -> _Shape:
    """The shape of a product as in `torch.matmul`, of sizes that may be symbols."""
    depth = b[-2] if len(b) > 1 else b[0]
    torch._check(a[-1] == depth, lambda: f"inner dimensions of a @ b differ: {a[-1]} and {depth}")
    return (*torch.broadcast_shapes(a[:-2], b[:-2]), *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


mm_enclose = torch.library.custom_op("exactla::mm_enclose", _mm_enclose, mutates_args=())
mm_enclose.register_fake(_fake_mm_enclose)
mm = torch.library.custom_op("exactla::mm", _mm, mutates_args=())
mm.register_fake(_fake_mm)
