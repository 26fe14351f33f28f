"""What a run and a comparison say: plain data that prints readably and goes into JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exactla_conformance.digests import DigestFile, Record
from exactla_conformance.encodings import Encoded


class ConformanceError(Exception):
    """Digests that may not be frozen; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """One case: what it gave, what is wrong with it (nothing if empty), or why it was not run."""

    name: str
    record: Record | None
    problems: tuple[str, ...] = ()
    skipped: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.name}: not run, {self.skipped}"
        if not self.problems:
            return f"{self.name}: agrees"
        return "\n".join([f"{self.name}: DIFFERS", *(f"    {problem}" for problem in self.problems)])


@dataclass(frozen=True)
class Report:
    """A run of the suite."""

    bits_version: int
    environment: Mapping[str, str]
    outcomes: Sequence[Outcome]
    absent: Sequence[str] = ()
    """Cases of the reference that the suite no longer has."""
    against: Sequence[str] = ("frozen digests",)
    """What the results were compared with."""

    @property
    def failures(self) -> list[Outcome]:
        """The cases with a problem."""
        return [outcome for outcome in self.outcomes if outcome.problems]

    @property
    def skipped(self) -> list[Outcome]:
        """The cases that were not run."""
        return [outcome for outcome in self.outcomes if outcome.skipped]

    @property
    def passed(self) -> bool:
        """Whether every case that was run agrees, none is lost, and any was run at all."""
        return not self.failures and not self.absent and len(self.skipped) < len(self.outcomes)

    def digests(self) -> DigestFile:
        """The digests that the run gave."""
        cases = {outcome.name: outcome.record for outcome in self.outcomes if outcome.record}
        return DigestFile(self.bits_version, cases, self.environment)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data; `DigestFile.load` reads it too."""
        return {
            **self.digests().to_json(),
            "against": list(self.against),
            "passed": self.passed,
            "failures": {outcome.name: list(outcome.problems) for outcome in self.failures},
            "skipped": {outcome.name: outcome.skipped for outcome in self.skipped},
            "absent": list(self.absent),
        }

    def __str__(self) -> str:
        agreed = len(self.outcomes) - len(self.failures) - len(self.skipped)
        seconds = sum(outcome.seconds for outcome in self.outcomes)
        lines = [f"{key}: {value}" for key, value in self.environment.items()]
        lines += [str(outcome) for outcome in (*self.failures, *self.skipped)]
        lines += [f"{name}: in the reference, but no longer in the suite" for name in self.absent]
        lines.append(
            f"{'PASS' if self.passed else 'FAIL'}: {agreed} of {len(self.outcomes)} cases agree with the "
            f"{' and the '.join(self.against)}, {len(self.failures)} differ, {len(self.skipped)} were not run, "
            f"{len(self.absent)} are lost ({seconds:.1f} s)"
        )
        return "\n".join(lines)


@dataclass(frozen=True)
class Comparison:
    """Two digest files side by side."""

    common: int
    differences: Sequence[str]

    @property
    def same(self) -> bool:
        """Whether both files hold the same cases with the same digests."""
        return not self.differences

    def __str__(self) -> str:
        verdict = "the same" if self.same else f"{len(self.differences)} differences"
        return "\n".join([*self.differences, f"{self.common} cases in both files: {verdict}"])


def compare_digests(a: DigestFile, b: DigestFile) -> Comparison:
    """Everything in which two digest files differ, their environments apart."""
    differences = []
    if a.bits_version != b.bits_version:
        differences.append(f"bits_version: {a.bits_version} and {b.bits_version}")
    for name in sorted(a.cases.keys() | b.cases.keys()):
        if name not in a.cases or name not in b.cases:
            differences.append(f"{name}: only in the {'first' if name in a.cases else 'second'} file")
            continue
        one, two = vars(a.cases[name]), vars(b.cases[name])
        differences += [f"{name}: {key} {one[key]} and {two[key]}" for key in one if one[key] != two[key]]
    return Comparison(len(a.cases.keys() & b.cases.keys()), differences)


def first_difference(found: Sequence[Encoded], expected: Sequence[Encoded]) -> str | None:
    """The first encoding in which results differ, in words; None where they are the same."""
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    labels = ["result"] if len(expected) == 1 else ["lo", "hi", "hull"]
    if len(expected) > len(labels):
        labels = [f"result {number}" for number in range(1, len(expected) + 1)]
    for label, one, two in zip(labels, found, expected, strict=False):
        if (one.format, one.shape) != (two.format, two.shape):
            return f"{label} is {one.format} {list(one.shape)}, expected {two.format} {list(two.shape)}"
        for position, (x, y) in enumerate(zip(one.entries, two.entries, strict=True)):
            if x != y:
                index = ", ".join(map(str, one.index(position)))
                return f"{label}[{index}] is {one.describe(position)}, expected {two.describe(position)}"
    return None
