"""Digests of encodings, and the files that hold them.

The digest is written here a second time, from its definition and without NumPy, so that `exactla.digest` is itself
under test.
"""

import json
import os
import struct
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from exactla_conformance.encodings import Encoded, Floating, Format, Integer, part_format


def digest(*arrays: Encoded) -> str:
    """SHA-256 over canonical bytes: what `exactla.digest` gives for arrays of these encodings."""
    hashed = sha256(b"exactla-digest-1\n")
    for array in arrays:
        header = " ".join(map(str, (array.format, len(array.shape), *array.shape)))
        hashed.update(header.encode() + b"\n")
        hashed.update(_entry_bytes(array))
    return hashed.hexdigest()


def _entry_bytes(array: Encoded) -> bytes:
    format = part_format(array.format)
    if not format.bits:
        return b"".join(b"%d\n" % entry for entry in array.entries)
    return packed(format, format.canonical(array.entries) if isinstance(format, Floating) else array.entries)


def packed(format: Format, entries: Sequence[int]) -> bytes:
    """Entries of a format of so many bits, one after the other, each with its lowest octet first."""
    unsigned = "BHIQ"[format.bits.bit_length() - 4]
    code = unsigned.lower() if isinstance(format, Integer) and (format.minimum or 0) < 0 else unsigned
    return struct.pack(f"<{len(entries)}{code}", *entries)


@dataclass(frozen=True)
class Record:
    """One case in a digest file: the call, and the digests of its operands and of its results."""

    call: str
    input: str
    output: str


@dataclass(frozen=True)
class DigestFile:
    """Records by case name, the version of the bits they belong to, and where they were made."""

    bits_version: int
    cases: Mapping[str, Record]
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | bytes) -> "DigestFile":
        """Read the text of a digest file or of a report; ValueError where it is neither."""
        try:
            data = json.loads(text)
            cases = {name: _record(**record) for name, record in data["cases"].items()}
            return cls(int(data["bits_version"]), cases, dict(data.get("environment", {})))
        except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(f"this is no digest file: {_fault(error)}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "DigestFile":
        """Read a digest file or a report; ValueError, which names the file, where it is neither."""
        try:
            return cls.parse(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from error

    def to_json(self) -> dict[str, Any]:
        """The content of the file."""
        environment = {"environment": dict(self.environment)} if self.environment else {}
        cases = {name: vars(record) for name, record in sorted(self.cases.items())}
        return {"bits_version": self.bits_version, **environment, "cases": cases}


def _record(call: Any, input: Any, output: Any) -> Record:
    """A record of a file; TypeError where it is none."""
    if not all(isinstance(text, str) for text in (call, input, output)):
        raise TypeError("a call and digests are text")
    return Record(call, input, output)


def _fault(error: Exception) -> str:
    """What a file has that a digest file has not, or the other way round."""
    match error:
        case UnicodeDecodeError():
            return "it is not text"
        case json.JSONDecodeError(lineno=line):
            return f"line {line} is not JSON"
        case RecursionError():
            return "it is nested too deeply"
        case OverflowError():
            return "its 'bits_version' is no integer"
        case KeyError(args=[name]):
            return f"it has no {name!r}"
        case _:
            return "its cases are not records of calls and digests"


def reference_path(bits_version: int) -> Path:
    """Where this installation keeps the frozen digests of a version."""
    return Path(str(files("exactla_conformance"))) / "digests" / f"v{bits_version}.json"


def load_reference(bits_version: int) -> DigestFile:
    """The frozen digests of a version; FileNotFoundError where there are none."""
    path = reference_path(bits_version)
    if not path.exists():
        raise FileNotFoundError(f"there are no frozen digests of bits version {bits_version}: {path} is missing")
    return DigestFile.load(path)


def write_json(data: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a JSON file whole or not at all."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
