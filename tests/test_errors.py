"""Bad input: for every public call the named error, with the fact that helps, and operands left as they were."""

import datetime
import pickle
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import exactla as xl

EYE = np.eye(2)
STACK = np.ones((3, 2, 2))
PRODUCTS = {
    "mm": (xl.mm, EYE, ("a", "b")),
    "mm_enclose": (xl.mm_enclose, EYE, ("a", "b")),
    "mm_nt": (xl.mm_nt, EYE, ("a", "bt")),
    "mm_enclose_nt": (xl.mm_enclose_nt, EYE, ("a", "bt")),
    "bmm": (xl.bmm, STACK, ("a3", "b3")),
    "bmm_enclose": (xl.bmm_enclose, STACK, ("a3", "b3")),
    "mm_exact": (xl.mm_exact, np.eye(2, dtype=np.int64), ("a", "b")),
    "width_ulps": (xl.width_ulps, EYE, ("lo", "hi")),
}
INTERVALS = {
    "mm_interval": (xl.mm_interval, ("a_mid", "a_rad", "b_mid", "b_rad")),
    "mm_interval_bounds": (xl.mm_interval_bounds, ("a_lo", "a_hi", "b_lo", "b_hi")),
}
EVERY_CALL = [
    *((name, call, [good, good], names) for name, (call, good, names) in PRODUCTS.items()),
    *((name, call, [EYE] * 4, names) for name, (call, names) in INTERVALS.items()),
]
FLOAT_CALLS = [c for c in EVERY_CALL if c[0] not in ("mm_exact", "width_ulps")]
PLAIN = [c for c in EVERY_CALL if c[0] in ("mm", "mm_enclose", "mm_nt", "mm_enclose_nt")]


def every_call(calls=EVERY_CALL):
    return pytest.mark.parametrize(("name", "call", "good", "names"), calls, ids=[c[0] for c in calls])


def with_bad(good, position, bad):
    return [*good[:position], bad, *good[position + 1 :]]


# ---- what is no array ----------------------------------------------------------------------------------------------


class Imposter:
    """An object that NumPy would gladly turn into an array."""

    def __array__(self, dtype=None, copy=None):
        return EYE


NO_ARRAYS = {
    "text": "text",
    "bytes": b"12",
    "set": {1, 2},
    "dict": {"a": 1},
    "range": range(4),
    "generator": (x for x in [1]),
    "object": object(),
    "imposter": Imposter(),
    "memoryview": memoryview(b"ab"),
    "fraction": Fraction(1, 3),
    "type": np.float64,
}


@every_call()
@pytest.mark.parametrize("bad", NO_ARRAYS)
def test_what_is_no_array_is_refused_by_name(name, call, good, names, bad):
    for position, argument in enumerate(names):
        with pytest.raises(TypeError) as caught:
            call(*with_bad(good, position, NO_ARRAYS[bad]))
        assert f"{argument} " in f"{caught.value} ".replace("[", " ")


@every_call([c for c in EVERY_CALL if c[0] != "mm_enclose"])
def test_none_is_no_operand(name, call, good, names):
    for position, argument in enumerate(names):
        with pytest.raises(TypeError, match=argument):
            call(*with_bad(good, position, None))


@every_call(PLAIN)
def test_subclasses_that_would_lose_something_are_refused(name, call, good, names):
    masked = np.ma.masked_array(EYE, mask=[[True, False], [False, False]])
    with pytest.raises(TypeError, match="masked"):
        call(masked, EYE)
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix(EYE)
    with pytest.raises(TypeError, match=f"{names[1]} is a .*matrix"):
        call(EYE, matrix)


BAD_TYPES = [
    np.zeros((2, 2), np.longdouble),
    np.zeros((2, 2), np.clongdouble),
    np.zeros((2, 2), "datetime64[s]"),
    np.zeros((2, 2), "timedelta64[s]"),
    np.zeros((2, 2), "S3"),
    np.zeros((2, 2), "U3"),
    np.zeros((2, 2), "V4"),
    np.zeros((2, 2), [("x", "f8")]),
    np.ones((2, 2), ml_dtypes.float8_e8m0fnu),
    np.ones((2, 2), ml_dtypes.int4),
    np.ones((2, 2), ml_dtypes.float6_e2m3fn),
]


@every_call()
@pytest.mark.parametrize("bad", BAD_TYPES, ids=lambda x: str(x.dtype))
def test_unsupported_types_of_entries(name, call, good, names, bad):
    if np.ndim(good[0]) == 3:
        bad = np.stack([bad] * 3)
    for position, argument in enumerate(names):
        with pytest.raises(TypeError) as caught:
            call(*with_bad(good, position, bad))
        assert argument in str(caught.value)
        assert str(bad.dtype) in str(caught.value)
    if name != "mm_exact":
        assert "float64" in str(caught.value)


@every_call(PLAIN)
@pytest.mark.parametrize(
    "entry", [1.5, Fraction(1, 2), None, "x", 1j, float("nan"), datetime.date(2000, 1, 1)], ids=repr
)
def test_object_arrays_of_anything_but_integers(name, call, good, names, entry):
    bad = np.array([[1, 2], [3, 4]], dtype=object)
    bad[1, 0] = entry
    with pytest.raises(TypeError) as caught:
        call(bad, EYE)
    assert "a[1, 0]" in str(caught.value)
    assert type(entry).__name__ in str(caught.value)
    with pytest.raises(TypeError) as caught:
        call(EYE, bad)
    assert f"{names[1]}[1, 0]" in str(caught.value)


@every_call(PLAIN)
def test_ragged_and_mixed_lists(name, call, good, names):
    with pytest.raises(ValueError, match="a is ragged"):
        call([[1.0, 2.0], [3.0]], EYE)
    with pytest.raises(TypeError, match=rf"{names[1]}\[1, 0\]"):
        call(EYE, [[1.0, 2.0], ["x", 3.0]])
    with pytest.raises(TypeError, match=r"a\[0, 1\]"):
        call([[1.0, None]], EYE)


def test_lists_in_which_numpy_would_change_an_integer():
    with pytest.raises((ValueError, TypeError), match="9007199254740993"):
        xl.mm([[2**53 + 1, 0.5]], [[1.0], [1.0]])


# ---- shapes --------------------------------------------------------------------------------------------------------


@every_call(PLAIN)
@pytest.mark.parametrize(("left", "right"), [((2, 3), (4, 5)), ((3,), (4,)), ((2, 2, 3), (2, 4, 5)), ((0, 3), (0, 2))])
def test_inner_dimensions_that_differ(name, call, good, names, left, right):
    with pytest.raises(ValueError, match=r"\(") as caught:
        call(np.ones(left), np.ones(right))
    assert str(left) in str(caught.value)
    assert str(right) in str(caught.value)


@every_call(PLAIN)
def test_stacks_that_do_not_broadcast(name, call, good, names):
    with pytest.raises(ValueError, match="broadcast") as caught:
        call(np.ones((2, 3, 3)), np.ones((4, 3, 3)))
    assert "(2, 3, 3)" in str(caught.value)
    assert "(4, 3, 3)" in str(caught.value)


@every_call(PLAIN)
def test_single_numbers_are_no_matrices(name, call, good, names):
    for number in (1.0, 2, np.float32(3), np.array(4.0), True, 1j):
        with pytest.raises(ValueError, match="a is a single number"):
            call(number, EYE)
        with pytest.raises(ValueError, match=f"{names[1]} is a single number"):
            call(EYE, number)


@pytest.mark.parametrize("call", [xl.bmm, xl.bmm_enclose])
@pytest.mark.parametrize(
    ("left", "right"),
    [((2, 2), (2, 2)), ((3, 2, 2), (2, 2)), ((2, 2, 2), (3, 2, 2)), ((1, 2, 2), (3, 2, 2)), ((1, 1, 2, 2), (1, 2, 2))],
)
def test_batches_of_other_shapes(call, left, right):
    with pytest.raises(ValueError, match=r"batch") as caught:
        call(np.ones(left), np.ones(right))
    assert str(left) in str(caught.value)
    assert str(right) in str(caught.value)


def test_batches_whose_inner_dimensions_differ():
    with pytest.raises(ValueError, match=r"\(3, 2, 4\).*\(3, 5, 2\)"):
        xl.bmm(np.ones((3, 2, 4)), np.ones((3, 5, 2)))


def test_the_gram_matrix_of_a_vector():
    with pytest.raises(ValueError, match=r"\(3,\)"):
        xl.mm_enclose(np.ones(3))


@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_whose_ends_differ_in_shape(name):
    call, names = INTERVALS[name]
    with pytest.raises(ValueError, match=rf"{names[0]}.*\(2, 2\).*{names[1]}.*\(2, 1\)"):
        call(EYE, np.ones((2, 1)), EYE, EYE)
    with pytest.raises(ValueError, match=rf"{names[2]}.*\(2, 2\).*{names[3]}.*\(2,\)"):
        call(EYE, EYE, EYE, np.ones(2))
    with pytest.raises(ValueError, match=r"\(2, 2\).*\(3, 2\)"):
        call(EYE, EYE, np.ones((3, 2)), np.ones((3, 2)))


# ---- options -------------------------------------------------------------------------------------------------------


@every_call(FLOAT_CALLS)
@pytest.mark.parametrize("dtype", ["int64", np.int8, bool, np.uint16, object, int])
def test_integer_results_are_left_to_mm_exact(name, call, good, names, dtype):
    with pytest.raises(TypeError, match="mm_exact"):
        call(*good, dtype=dtype)


@every_call(FLOAT_CALLS)
@pytest.mark.parametrize("dtype", ["longdouble", np.longdouble, "U5", "float65", 7, "datetime64[s]", ml_dtypes.int4])
def test_results_of_unsupported_types(name, call, good, names, dtype):
    with pytest.raises(TypeError, match="dtype"):
        call(*good, dtype=dtype)


@every_call(FLOAT_CALLS)
@pytest.mark.parametrize("dtype", ["float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn])
def test_results_of_other_small_floats(name, call, good, names, dtype):
    with pytest.raises(TypeError, match="dtype"):
        call(*good, dtype=dtype)


@every_call(FLOAT_CALLS)
def test_complex_results_of_real_operands(name, call, good, names):
    for dtype in ("complex64", np.complex128, complex):
        with pytest.raises(TypeError, match="complex"):
            call(*good, dtype=dtype)


@every_call([c for c in FLOAT_CALLS if c[0] not in INTERVALS])
def test_real_results_of_complex_operands(name, call, good, names):
    for dtype in ("float32", np.float64):
        with pytest.raises(TypeError, match="complex"):
            call(good[0].astype(complex), good[1], dtype=dtype)


@pytest.mark.parametrize("name", INTERVALS)
def test_complex_intervals(name):
    call, names = INTERVALS[name]
    for position, argument in enumerate(names):
        with pytest.raises(TypeError, match=f"{argument} is complex"):
            call(*with_bad([EYE] * 4, position, EYE.astype(complex)))


@every_call([c for c in FLOAT_CALLS if c[0] in ("mm", "mm_nt", "bmm")])
@pytest.mark.parametrize("rounding", ["nearst", "NEAREST", "", None, 0, "even", ["up"]])
def test_unknown_roundings(name, call, good, names, rounding):
    with pytest.raises((ValueError, TypeError), match="rounding") as caught:
        call(*good, rounding=rounding)
    assert all(r in str(caught.value) for r in ("nearest", "down", "up", "zero"))


@every_call([c for c in FLOAT_CALLS if c[0] not in INTERVALS])
@pytest.mark.parametrize("nonfinite", ["ignore", None, True, "PROPAGATE"])
def test_unknown_policies(name, call, good, names, nonfinite):
    with pytest.raises(ValueError, match=r"nonfinite.*raise.*propagate"):
        call(*good, nonfinite=nonfinite)


@pytest.mark.parametrize("name", INTERVALS)
@pytest.mark.parametrize("method", ["best", None, "", "Hull", 3])
def test_unknown_methods(name, method):
    with pytest.raises(ValueError, match=r"method.*rump.*sharp.*hull"):
        INTERVALS[name][0](EYE, EYE, EYE, EYE, method=method)


@every_call(FLOAT_CALLS)
def test_options_are_given_by_name(name, call, good, names):
    with pytest.raises(TypeError):
        call(*good, "nearest")
    with pytest.raises(TypeError):
        call(*good, rnd="up")


# ---- intervals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rump", "sharp", "hull"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.bfloat16, np.int32])
def test_negative_radii(method, dtype):
    for position, argument in ((1, "a_rad"), (3, "b_rad")):
        operands = [np.ones((3, 3), dtype) for _ in range(4)]
        operands[position][2, 0] = operands[position][1, 2] = -1
        with pytest.raises(ValueError, match=rf"{argument}\[1, 2\].*negative"):
            xl.mm_interval(*operands, method=method)


@pytest.mark.parametrize("method", ["rump", "sharp", "hull"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.float8_e5m2, np.uint64])
def test_ends_in_the_wrong_order(method, dtype):
    for position, (low, high) in ((0, ("a_lo", "a_hi")), (2, ("b_lo", "b_hi"))):
        operands = [np.ones((3, 3), dtype) for _ in range(4)]
        operands[position][2, 0] = operands[position][1, 2] = 2
        with pytest.raises(ValueError, match=rf"{low}\[1, 2\].*{high}\[1, 2\]"):
            xl.mm_interval_bounds(*operands, method=method)


def test_the_smallest_negative_radius_and_the_smallest_disorder():
    tiny = 2.0**-1074
    with pytest.raises(ValueError, match=r"a_rad\[0\]"):
        xl.mm_interval([1e300], [-tiny], [1.0], [0.0])
    with pytest.raises(ValueError, match=r"b_lo\[0\]"):
        xl.mm_interval_bounds([1.0], [1.0], [np.nextafter(1.0, 2.0)], [1.0])
    with pytest.raises(ValueError, match=r"a_lo\[0\]"):
        xl.mm_interval_bounds([0.0], [-tiny], [1.0], [1.0])


def test_an_invalid_interval_in_an_empty_product():
    with pytest.raises(ValueError, match=r"b_rad\[0, 1\]"):
        xl.mm_interval(np.ones((0, 1)), np.ones((0, 1)), np.ones((1, 2)), np.array([[1.0, -1.0]]))


# ---- backends and engines ------------------------------------------------------------------------------------------


def test_unknown_backends_and_engines():
    with pytest.raises(xl.BackendUnavailable, match=r"'abacus'.*numpy"):
        xl.backend("abacus")
    with xl.backend("numpy"), xl.engine("steam"), pytest.raises(xl.BackendUnavailable, match=r"'steam'.*fp64"):
        xl.mm(EYE, EYE)
    for bad in (3, EYE, b"numpy"):
        with pytest.raises(TypeError):
            xl.backend(bad)
        with pytest.raises(TypeError):
            xl.engine(bad)


# ---- the errors themselves -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "bases"),
    [
        (xl.NonFiniteError, (ValueError,)),
        (xl.SingularMatrixError, (np.linalg.LinAlgError, ZeroDivisionError)),
        (xl.InconsistentSystemError, (np.linalg.LinAlgError,)),
        (xl.PrecisionError, (ArithmeticError,)),
        (xl.BackendUnavailable, (ImportError,)),
        (xl.EngineLimitError, (xl.BackendUnavailable,)),
        (xl.WorkspaceError, (MemoryError,)),
        (xl.OperandChangedError, (RuntimeError,)),
    ],
)
def test_errors_derive_from_what_a_caller_would_catch(error, bases):
    assert issubclass(error, xl.ExactlaError)
    assert issubclass(xl.ExactlaError, Exception)
    for base in bases:
        assert issubclass(error, base)


@every_call(PLAIN)
def test_operands_are_left_as_they_were(name, call, good, names):
    a = np.arange(4.0).reshape(2, 2)
    a[1, 1] = np.nan
    before = a.tobytes()
    with pytest.raises(xl.NonFiniteError):
        call(a, EYE)
    call(a, EYE, nonfinite="propagate")
    assert a.tobytes() == before


# ---- what goes to another process -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        xl.NonFiniteError("a", (1, 2), "a hint"),
        xl.WorkspaceError(5, 3),
        xl.WorkspaceError(5, 3, "arrays need"),
        xl.PrecisionError("too few", 7),
        xl.InconsistentSystemError("none", (1, -2)),
        xl.SingularMatrixError("singular"),
        xl.BackendUnavailable("missing"),
    ],
    ids=repr,
)
def test_errors_survive_pickling(error):
    error.add_note("a note")
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert found.__dict__ == error.__dict__


def test_a_singular_matrix_has_no_inverse():
    with pytest.raises(xl.SingularMatrixError, match="A is singular; it has no inverse"):
        xl.inv([[1, 2], [2, 4]])
    with pytest.raises(xl.SingularMatrixError, match="A is singular; det is 0"):
        xl.factor([[1, 2], [2, 4]])
    with pytest.raises(xl.SingularMatrixError, match="A is singular; solve_general"):
        xl.solve([[1, 2], [2, 4]], [1, 2])
