"""What torch.compile records (`exactla.torch_operators`): operators that torch can check, with the bytes of calls."""

import shutil
from typing import Any

import numpy as np
import pytest

import exactla as xl

torch = pytest.importorskip("torch")

COMPILERS = ["eager", "aot_eager"]
INDUCTOR = pytest.param(
    "inductor",
    marks=pytest.mark.skipif(shutil.which("g++") is None, reason="NOT EXERCISED: no compiler for inductor"),
)
TYPES = [torch.float64, torch.float32, torch.bfloat16, torch.complex64, torch.complex128, torch.int32, torch.bool]
SHAPES = [
    ((3, 4), (4, 5)),
    ((4,), (4,)),
    ((4,), (4, 2)),
    ((3, 4), (4,)),
    ((4,), (2, 4, 3)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((3, 0), (0, 2)),
    ((0, 3), (3, 2)),
]
# warnings of torch itself, about itself
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(autouse=True)
def nothing_recorded() -> None:
    torch.compiler.reset()


def operand(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    generator = torch.Generator().manual_seed(seed)
    entries = torch.randn(shape, generator=generator, dtype=torch.complex128 if dtype.is_complex else torch.float64)
    return (entries * 4).to(dtype)


def leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def assert_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    for x, y in zip(leaves(found), leaves(expected), strict=True):
        assert (x.dtype, x.shape, x.stride(), x.device) == (y.dtype, y.shape, y.stride(), y.device)
        raw = [z.contiguous().reshape(-1).view(torch.uint8) for z in (x, y)] if x.numel() else []
        assert not raw or torch.equal(*raw)


# ---- the operators -------------------------------------------------------------------------------------------------


def operators() -> Any:
    import exactla.torch_operators  # noqa: F401  # registers them

    return torch.ops.exactla


@pytest.mark.parametrize(
    ("dtype", "shapes"), [*((t, SHAPES[0]) for t in TYPES), *((torch.float64, s) for s in SHAPES[1:])], ids=str
)
def test_torch_finds_no_fault(dtype: Any, shapes: Any) -> None:
    a, b = operand(shapes[0], dtype), operand(shapes[1], dtype, 1)
    for operator, options in (
        (operators().mm_enclose.default, {}),
        (operators().mm.default, {"rounding": "up", "nonfinite": "propagate"}),
    ):
        checks = torch.library.opcheck(operator, (a, b), options)
        assert len(checks) >= 4
        assert set(checks.values()) == {"SUCCESS"}


def test_torch_finds_no_fault_in_views_and_mixed_types() -> None:
    a, b = operand((8, 6), torch.float32)[::2, 1:], operand((4, 5), torch.bfloat16).mT
    c = operand((5, 3), torch.complex64)
    for operands in ((a, b), (a, c.conj()), (c.mH, b), (a[:1].expand(3, 5), b)):
        for operator in (operators().mm_enclose.default, operators().mm.default):
            torch.library.opcheck(operator, operands)


@pytest.mark.parametrize("asked", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e5m2])
def test_a_type_that_is_asked_for(asked: Any) -> None:
    a, b = operand((3, 4), torch.float32), operand((4, 2), torch.float16)
    assert_same(operators().mm(a, b, dtype=asked), xl.mm(a, b, dtype=asked))
    assert_same(operators().mm_enclose(a, b, dtype=asked), tuple(xl.mm_enclose(a, b, dtype=asked)))


def uncomputed(*operands: Any, **options: Any) -> Any:
    """What torch is told of a product before it is computed."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        return operators().mm(*(mode.from_tensor(x) for x in operands), **options)


@pytest.mark.parametrize("left", TYPES, ids=str)
@pytest.mark.parametrize("right", TYPES, ids=str)
def test_common_types_are_known_beforehand(left: Any, right: Any) -> None:
    a, b = operand((2, 3), left), operand((3, 2), right)
    assert uncomputed(a, b).dtype == xl.mm(a, b).dtype


def test_faults_that_are_known_beforehand() -> None:
    ones, complex_ones = torch.ones(2, 3), torch.ones(3, 2, dtype=torch.complex64)
    for operands, options, error, message in (
        ((ones, ones), {}, RuntimeError, "inner dimensions of a @ b differ: 3 and 2"),
        ((ones, torch.ones(3, 2, dtype=torch.complex32)), {}, TypeError, "b has dtype torch.complex32"),
        ((ones, torch.ones(3, 2, device="meta")), {}, ValueError, "a is on device cpu and b is on device meta"),
        ((ones, complex_ones), {"dtype": torch.float32}, TypeError, "pass a complex dtype"),
        ((ones, ones.mT), {"dtype": torch.int32}, TypeError, "dtype=int32 is not a floating-point type"),
    ):
        with pytest.raises(error, match=message):
            uncomputed(*operands, **options)


# ---- recorded programs ---------------------------------------------------------------------------------------------


def every_form(a: Any, b: Any) -> Any:
    return (
        *xl.mm_enclose(2 * a, b),
        *xl.mm_enclose(a),
        *xl.mm_enclose_nt(a, b.mT, dtype="float32"),
        *xl.bmm_enclose(a[None], b[None]),
        xl.mm(a, b, rounding="up", dtype=torch.float32) + 1,
        xl.mm(a[0], b[:, 0], rounding=xl.Rounding.DOWN),
        xl.mm_nt(a, b[:, 0], nonfinite="propagate"),
        xl.bmm(a[None], b[None]),
    )


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("compiler", [*COMPILERS, INDUCTOR])
def test_recorded_calls_give_the_same_bytes(compiler: str, dynamic: bool) -> None:
    recorded = torch.compile(every_form, fullgraph=True, backend=compiler, dynamic=dynamic)
    for rows, depth, columns in ((3, 4, 5), (7, 6, 2)):
        a, b = operand((rows, depth), torch.float64), operand((depth, columns), torch.float64, 1)
        assert_same(recorded(a, b), every_form(a, b))


def test_symbolic_sizes_are_recorded_once() -> None:
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()
    recorded = torch.compile(xl.mm_enclose, fullgraph=True, backend=counter, dynamic=True)
    for rows, depth, columns in ((3, 4, 5), (7, 6, 2), (9, 11, 8)):
        a, b = operand((rows, depth), torch.float32), operand((depth, columns), torch.float32)
        assert_same(recorded(a, b), xl.mm_enclose(a, b))
    assert counter.frame_count == 1


def test_a_recorded_enclosure_is_one() -> None:
    recorded = torch.compile(xl.mm_enclose, fullgraph=True, backend="aot_eager")
    a = operand((3, 4), torch.float32)
    assert_same(recorded(a), xl.mm_enclose(a))
    assert isinstance(recorded(a), xl.Enclosure)


def test_settings_hold_while_a_recorded_program_runs() -> None:
    recorded = torch.compile(lambda a: xl.mm(a, a.mT), fullgraph=True, backend="eager")
    a = operand((3, 4), torch.float32)
    with xl.backend("numpy"):
        assert_same(recorded(a), xl.mm(a, a.mT))


def test_exported_programs() -> None:
    class Product(torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, a: Any, b: Any) -> Any:
            return xl.mm(a, b, rounding="zero")

    a, b = operand((3, 4), torch.float64), operand((4, 2), torch.float64, 1)
    for strict in (False, True):
        program = torch.export.export(Product(), (a, b), strict=strict)
        assert "torch.ops.exactla.mm.default" in str(program)
        assert_same(program.module()(a, b), xl.mm(a, b, rounding="zero"))


def test_faults_of_recorded_calls_are_those_of_calls() -> None:
    plain = torch.ones(2, 2)
    watched = torch.ones(2, 2, requires_grad=True)
    bad = torch.full((2, 2), torch.nan)
    for call, operands, error, message in (
        (lambda a: xl.mm(plain, a), (watched,), ValueError, r"b requires grad.*pass b.detach\(\)"),
        (lambda a: xl.mm(a, plain, rounding="sideways"), (plain,), ValueError, "sideways"),
        (lambda a: xl.mm_enclose(a, plain), (bad,), xl.NonFiniteError, "a"),
    ):
        recorded = torch.compile(call, backend="eager")
        for run in (call, recorded):
            with pytest.raises(error, match=message):
                run(*operands)
    with torch.no_grad():
        assert_same(torch.compile(xl.mm, fullgraph=True, backend="eager")(watched, plain), xl.mm(watched, plain))
    with pytest.raises(Exception, match="needs a matrix"):
        torch.compile(xl.mm_enclose, fullgraph=True, backend="eager")(torch.ones(3))
    with pytest.raises(Exception, match="a batched product takes"):
        torch.compile(xl.bmm, fullgraph=True, backend="eager")(plain, plain)


def test_other_calls_stay_outside_of_what_is_recorded() -> None:
    outside = torch.compiler.disable(xl.mm_exact)
    a = torch.arange(6).reshape(2, 3)
    recorded = torch.compile(lambda a: outside(a + 1, a.mT) + 1, backend="eager")
    np.testing.assert_array_equal(recorded(a), (a + 1) @ a.mT + 1)
