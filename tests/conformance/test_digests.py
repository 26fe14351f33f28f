"""The suite's own digest against its definition and `exactla.digest`, and the files that digests are kept in."""

from hashlib import sha256

import pytest

import exactla as xl
from exactla_conformance.arrays import to_array
from exactla_conformance.digests import DigestFile, Record, digest, load_reference, write_json
from exactla_conformance.encodings import COMPLEX, FLOATS, INTEGERS, Encoded
from exactla_conformance.streams import Stream, anything, draw

FILE = DigestFile(1, {"one": Record("mm()", "aa", "bb"), "two": Record("mm()", "cc", "dd")}, {"python": "3"})


@pytest.mark.parametrize(
    ("array", "content"),
    [
        (Encoded("float32", (1, 2), [0x3F800000, 0x80000000]), b"float32 2 1 2\n\0\0\x80\x3f\0\0\0\x80"),
        (Encoded("float64", (), [0x3FF0000000000000]), b"float64 0\n\0\0\0\0\0\0\xf0\x3f"),
        (Encoded("complex64", (1,), [1, 2]), b"complex64 1 1\n\1\0\0\0\2\0\0\0"),
        (Encoded("bool", (2,), [1, 0]), b"bool 1 2\n\1\0"),
        (Encoded("int16", (2,), [-2, 258]), b"int16 1 2\n\xfe\xff\2\1"),
        (Encoded("uint64", (1,), [(1 << 64) - 1]), b"uint64 1 1\n" + b"\xff" * 8),
        (Encoded("int8", (1,), [-1]), b"int8 1 1\n\xff"),
        (Encoded("int", (2,), [-12, 10**20]), b"int 1 2\n-12\n100000000000000000000\n"),
        (Encoded("float16", (1,), [0xFE01]), b"float16 1 1\n\0\x7e"),  # a NaN becomes the canonical one
        (Encoded("float8_e4m3fn", (0, 3), []), b"float8_e4m3fn 2 0 3\n"),
    ],
)
def test_the_digest_is_its_definition(array, content):
    assert digest(array) == sha256(b"exactla-digest-1\n" + content).hexdigest()
    assert digest(array, array) == sha256(b"exactla-digest-1\n" + content + content).hexdigest()


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, *COMPLEX])
def test_it_is_exactlas(name):
    arrays = [draw(Stream(f"{name} {i}"), name, shape, anything) for i, shape in enumerate([(), (2, 3), (0, 2), (5,)])]
    assert xl.digest(*map(to_array, arrays)) == digest(*arrays)


def test_it_depends_on_everything():
    arrays = [
        Encoded("float32", (2, 1), [1, 2]),
        Encoded("float32", (1, 2), [1, 2]),
        Encoded("float32", (1, 2), [2, 1]),
        Encoded("float32", (1, 2), [1, 3]),
        Encoded("uint32", (1, 2), [1, 2]),
        Encoded("float32", (2,), [1, 2]),
    ]
    assert len({digest(array) for array in arrays}) == len(arrays)


def test_a_file_comes_back(tmp_path):
    write_json(FILE.to_json(), tmp_path / "digests.json")
    assert DigestFile.load(tmp_path / "digests.json") == FILE
    assert [path.name for path in tmp_path.iterdir()] == ["digests.json"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    write_json(FILE.to_json(), tmp_path / "digests.json")
    with pytest.raises(TypeError):
        write_json({"bits_version": 1, "cases": object()}, tmp_path / "digests.json")
    assert DigestFile.load(tmp_path / "digests.json") == FILE
    assert [path.name for path in tmp_path.iterdir()] == ["digests.json"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"bits_version": 1, "cases": {"a": 1}}', '{"bits_version": 1, "cases": {"a": {"call": ""}}}'],
)
def test_another_file_is_refused_by_name(tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(ValueError, match=r"other\.json"):
        DigestFile.load(tmp_path / "other.json")


def test_the_reference_is_found_and_belongs_to_this_version():
    assert load_reference(xl.BITS_VERSION).bits_version == xl.BITS_VERSION
