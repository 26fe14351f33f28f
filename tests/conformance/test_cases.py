"""The frozen cases: what they cover, that they never change, and that they need integers only."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

import exactla as xl
from exactla_conformance.cases import all_cases, select_cases
from exactla_conformance.digests import digest, load_reference
from exactla_conformance.encodings import COMPLEX, FLOATS, INTEGERS, ROUNDINGS, Integer, part_format
from exactla_conformance.streams import Stream

CASES = all_cases()
FUNCTIONS = (
    "mm", "mm_nt", "bmm", "mm_enclose", "mm_enclose_nt", "bmm_enclose", "mm_exact", "mm_interval", "mm_interval_bounds",
    "solve", "det", "inv", "nullspace", "mp_mm", "lu_factor", "lu_solve",
)  # fmt: skip


def test_the_words_are_hashes_of_the_name_and_a_counter():
    blocks = [hashlib.shake_256(f"name {number}".encode()).digest(4096) for number in range(2)]
    expected = np.frombuffer(b"".join(blocks), "<u8").tolist()
    assert Stream("name").many(1024, 1 << 64) == expected
    assert Stream("name").many(2, 10) == [word * 10 >> 64 for word in expected[:2]]


def test_a_stream_stays_within_its_limits():
    stream = Stream("limits")
    assert {stream.below(3) for _ in range(100)} == {0, 1, 2}
    assert {stream.between(-1, 1) for _ in range(100)} == {-1, 0, 1}
    assert max(stream.below(1 << 200) for _ in range(20)) > 1 << 190


def test_inputs_are_the_frozen_ones():
    frozen = load_reference(xl.BITS_VERSION).cases
    found = {name: (case.call, digest(*case.operands())) for name, case in CASES.items()}
    assert found == {name: (record.call, record.input) for name, record in frozen.items()}


def test_operands_are_the_same_at_every_call():
    for case in select_cases("shape-").values():
        assert case.operands() == case.operands()


def test_every_function_and_keyword_is_used():
    assert len(CASES) >= 250
    assert {case.function for case in CASES.values()} == set(FUNCTIONS)
    used = {(key, value) for case in CASES.values() for key, value in case.keywords.items()}
    expected = [("rounding", r) for r in ROUNDINGS] + [("method", m) for m in ("rump", "sharp", "hull")]
    expected += [("dtype", name) for name in (*FLOATS, *COMPLEX)] + [("nonfinite", "propagate")]
    assert used >= set(expected)


def test_every_format_and_dimension_is_used():
    small = {name: case.operands() for name, case in CASES.items() if not name.startswith(("long", "bounds-longer"))}
    formats = {operand.format for operands in small.values() for operand in operands}
    assert formats == {*FLOATS, *INTEGERS, *COMPLEX}
    shapes = [tuple(operand.shape for operand in small[name]) for name in select_cases("shape-")]
    for dimensions in zip(*[(a[0], a[1], b[1]) for a, b in shapes], strict=True):
        assert set(dimensions) == set(range(1, 34))


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(("long", "bounds-longer"))])
def test_entries_belong_to_their_format(name):
    for operand in CASES[name].operands():
        f = part_format(operand.format)
        count = 2 if operand.format in COMPLEX else 1
        for length in operand.shape:
            count *= length
        assert len(operand.entries) == count
        if isinstance(f, Integer):
            low, high = f.minimum, f.maximum
            assert all((low is None or low <= e) and (high is None or e <= high) for e in operand.entries)
        else:
            assert all(0 <= e < 1 << f.bits for e in operand.entries)
            if CASES[name].keywords.get("nonfinite") != "propagate":
                assert all(f.special(e) is None for e in operand.entries)


def test_cases_and_oracle_need_neither_numpy_nor_exactla():
    code = (
        "import sys; from exactla_conformance.cases import all_cases; from exactla_conformance.oracle import answer\n"
        "case = all_cases()['reported-square']; answer(case, case.operands())\n"
        "print(sorted({'numpy', 'exactla', 'exactla_backends', 'random'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_selection():
    assert select_cases(None) == CASES
    assert set(select_cases("long-*")) == {name for name in CASES if name.startswith("long-")}
    assert set(select_cases("fibonacci")) == {"int-fibonacci"}
    assert select_cases("no such case") == {}
