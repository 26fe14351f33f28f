"""The file that the standalone checker reads: what it holds is the cases, their digests and plans that hold them."""

import struct
from dataclasses import dataclass
from typing import Any

import pytest

import exactla as xl
from exactla_conformance import export as exporting
from exactla_conformance.case import Case
from exactla_conformance.cases import all_cases, select_cases
from exactla_conformance.cli import main
from exactla_conformance.digests import load_reference
from exactla_conformance.encodings import INTEGERS, Encoded, Integer, part_format
from exactla_conformance.export import MAGIC, NONE, export
from exactla_conformance.streams import fixed


class Reader:
    """Numbers and texts from the bytes of a file; see conformance/checker/casefile.h."""

    def __init__(self, data):
        self.data, self.place = data, 0

    def octets(self, count):
        self.place += count
        assert self.place <= len(self.data)
        return self.data[self.place - count : self.place]

    def number(self, octets=4):
        return int.from_bytes(self.octets(octets), "little")

    def numbers(self, count, octets=4):
        return [self.number(octets) for _ in range(count)]

    def text(self):
        return self.octets(self.number(1)).decode("ascii")

    def many(self, read):
        return [read() for _ in range(self.number())]


@dataclass
class Contents:
    types: list[Any]
    bases: list[Any]
    residues: list[Any]
    cases: dict[str, Any]


def parse(data):
    reader = Reader(data)
    assert reader.octets(len(MAGIC)) == MAGIC
    assert reader.number() == xl.BITS_VERSION
    types = reader.many(lambda: (reader.text(), reader.number(1), reader.numbers(12, 8)))
    bases = reader.many(lambda: _base(reader))
    residues = reader.many(lambda: _residues(reader, bases))
    cases = reader.many(lambda: _case(reader, types))
    assert reader.place == len(data)
    return Contents(types, bases, residues, {case["name"]: case for case in cases})


def _base(reader):
    octets, moduli, limbs, groups, _, padded = reader.numbers(6)
    found = reader.numbers(moduli)
    reader.octets(4 * (4 * padded + 4 * (1 + limbs) * groups))
    return octets, found


def _residues(reader, bases):
    base, limbs, blocks, padded = reader.numbers(4)
    reader.octets(4 * padded * (8 + bases[base][0] * limbs + blocks))
    return base, limbs, blocks


def _case(reader, types):
    case = {key: reader.text() for key in ("name", "function", "rounding", "method", "nonfinite")}
    case["mask"], case["result"] = reader.number(1), types[reader.number()][0]
    case["operands"] = [_operand(reader, types) for _ in range(reader.number(1))]
    case["plan"] = reader.numbers(5)
    case["digests"] = reader.octets(32).hex(), reader.octets(32).hex()
    return case


def _operand(reader, types):
    name, parts, fields = types[reader.number()]
    shape = tuple(reader.numbers(reader.number(1), 8))
    octets = 4 * reader.number() or fields[1]
    count = parts
    for length in shape:
        count *= length
    signed = name in INTEGERS and (INTEGERS[name].minimum is None or INTEGERS[name].minimum < 0)
    entries = [int.from_bytes(reader.octets(octets), "little", signed=signed) for _ in range(count)]
    return Encoded(name, shape, entries)


SELECTED = ("*exact-*", "int-*", "batch-*", "layout-*", "nonfinite-*", "*-sharp", "*-hull", "complex*", "empty-*")


@pytest.fixture(scope="module", params=SELECTED)
def exported(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "cases.bin"
    selected = select_cases(request.param)
    pattern = request.param if len(selected) < 100 else request.param + "float32*"
    count = export(path, pattern)
    contents = parse(path.read_bytes())
    assert count == len(contents.cases) == len(select_cases(pattern)) > 0
    return contents


def test_cases_come_back(exported):
    frozen = load_reference(xl.BITS_VERSION)
    for name, found in exported.cases.items():
        case = all_cases()[name]
        operands = case.operands()
        assert found["function"] == case.function
        for word in ("rounding", "method", "nonfinite"):
            assert found[word] == case.keywords.get(word, "")
        assert found["mask"] == bool(case.keywords.get("return_info"))
        assert found["digests"] == (frozen.cases[name].input, frozen.cases[name].output)
        for one, two in zip(found["operands"], operands, strict=True):
            assert (one.format, one.shape, one.entries) == (two.format, two.shape, list(two.entries))


def test_plans_fit_together(exported):
    for found in exported.cases.values():
        base, left, right, special, hull = found["plan"]
        assert exported.residues[left][0] == exported.residues[right][0] == base
        assert (hull != NONE) == (found["method"] == "hull")
        if hull != NONE:
            limbs = exported.residues[left][1] + exported.residues[right][1] + 1
            assert exported.residues[hull] == (base, limbs, 0)
        specials = any(
            not isinstance(format := part_format(x.format), Integer)
            and any(format.special(e) is not None for e in x.entries)
            for x in found["operands"]
        )
        assert (special != NONE) == specials


def test_tables_are_written_once(tmp_path):
    assert export(tmp_path / "one.bin", "spread-float32-8") == 1
    export(tmp_path / "few.bin", "spread-float32-*")
    one, few = (parse((tmp_path / name).read_bytes()) for name in ("one.bin", "few.bin"))
    assert len(few.cases) > len(one.cases)
    for section in ("types", "bases", "residues"):
        found = getattr(few, section)
        assert len({repr(record) for record in found}) == len(found)


def test_bits_over_many_binades_take_digits(tmp_path):
    export(tmp_path / "cases.bin", "spread-float64-*")
    contents = parse((tmp_path / "cases.bin").read_bytes())
    octets = {name: contents.bases[case["plan"][0]][0] for name, case in contents.cases.items()}
    assert octets["spread-float64-0"] == 1
    assert octets["spread-float64-2097"] == 2
    _, limbs, blocks = contents.residues[contents.cases["spread-float64-2097"]["plan"][1]]
    assert limbs == 4
    assert blocks > 16


def test_moduli_hold_the_sums(tmp_path):
    """The bits of the plan, against the sums themselves."""
    entries = [(1 << 62) - 1] * 4
    a, b = Encoded("int64", (1, 4), entries), Encoded("int64", (4, 1), entries)
    plan = exporting._product_plan(Case("sums", "mm_exact", fixed(a, b)), (a, b))
    assert [side.bits for side in plan.sides] == [62, 62]
    assert 4 * entries[0] ** 2 < 1 << plan.bits <= 8 * entries[0] ** 2 + (1 << 65)
    assert exporting._base(plan.bits).product >= 4 << plan.bits


@pytest.mark.parametrize(
    ("entries", "bits"),
    [
        ([0x3FF0000000000000], 1),
        ([0x3FF0000000000000, 0], 1),
        ([0x3FF0000000000001], 53),
        ([1, 0x7FEFFFFFFFFFFFFF], 2098),
        ([1], 53),  # a subnormal counts as if all of its significand were there
        ([0, 0], 0),
        ([0x7FF0000000000000, 0x7FF8000000000000], 0),
    ],
)
def test_scan_of_floats(entries, bits):
    lines = [range(len(entries))]
    assert exporting._side([("float64", entries)], lines) == (bits, True)


def test_scan_takes_the_widest_line_and_shares_exponents_of_parts():
    one, small, large = 0x3C00, 0x0001, 0x7BFF
    assert exporting._side([("float16", [one, small, large, one])], [range(2), range(2, 4)]).bits == 25
    assert exporting._side([("float16", [one]), ("float16", [small])], [range(1)]).bits == 25
    assert exporting._side([("int", [5, -(1 << 99)])], [range(2)]) == (100, False)


def test_the_file_is_the_same_every_time(tmp_path):
    for name in ("one.bin", "two.bin"):
        export(tmp_path / name, "reported-*")
    assert (tmp_path / "one.bin").read_bytes() == (tmp_path / "two.bin").read_bytes()


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    def stop(path, pieces):
        def broken():
            yield b"some"
            raise KeyboardInterrupt

        written(path, broken())

    written = exporting._write
    monkeypatch.setattr(exporting, "_write", stop)
    with pytest.raises(KeyboardInterrupt):
        export(tmp_path / "cases.bin", "reported-square")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_exported_is_said(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="no case matches"):
        export(tmp_path / "cases.bin", "no-such-case")
    monkeypatch.setattr(exporting, "select_cases", lambda pattern: {"new": all_cases()["reported-square"]})
    with pytest.raises(ValueError, match="no frozen digest: new"):
        export(tmp_path / "cases.bin")


def test_command(tmp_path, capsys):
    path = tmp_path / "cases.bin"
    assert main(["export", str(path), "--select", "reported-square"]) == 0
    assert capsys.readouterr().out == f"{path}: 1 cases\n"
    assert list(parse(path.read_bytes()).cases) == ["reported-square"]
    assert main(["export", str(path), "--select", "no-such-case"]) == 2
    assert "no case matches" in capsys.readouterr().err


def test_progress_is_told(tmp_path):
    told = []
    export(tmp_path / "cases.bin", "straddling-*", lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_numbers_are_little_endian(tmp_path):
    path = tmp_path / "cases.bin"
    export(path, "reported-square")
    assert path.read_bytes()[len(MAGIC) :][:4] == struct.pack("<I", xl.BITS_VERSION)
