"""Runs every example that a reader may copy: in public docstrings, in the README and in the Markdown of docs/.

Also holds the documentation against the package: each public name has a reference entry, each command is described.
"""

import doctest
import re
from pathlib import Path

import pytest

import exactla
import exactla.registry
from exactla.cli.parser import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
OPTIONS = doctest.NORMALIZE_WHITESPACE

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run(example: doctest.DocTest) -> None:
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=report.append)
    assert not result.failed, "".join(report)


def examples_of_docstrings() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(recurse=False)
    found = []
    public = {f"exactla.{name}": getattr(exactla, name) for name in exactla.__all__}
    public |= {f"exactla.gallery.{name}": getattr(exactla.gallery, name) for name in exactla.gallery.__all__}
    for name, value in public.items():
        found += finder.find(value, name, module=False, globs={})
    return [example for example in found if example.examples]


def examples_of(page: Path) -> doctest.DocTest:
    """The examples of a page, which share their names as a reader's session would."""
    text = page.read_text(encoding="utf-8")
    code = "\n".join(block for block in _BLOCK.findall(text) if ">>>" in block)
    return doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)


@pytest.mark.parametrize("example", examples_of_docstrings(), ids=lambda example: example.name)
def test_docstring_examples(example: doctest.DocTest) -> None:
    run(example)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_examples(page: Path) -> None:
    run(examples_of(page))


def test_examples_are_found() -> None:
    assert len(examples_of_docstrings()) >= 8
    assert examples_of(ROOT / "README.md").examples
    assert examples_of(ROOT / "docs" / "quickstart.md").examples


def test_a_wrong_example_is_noticed() -> None:
    wrong = doctest.DocTestParser().get_doctest(">>> 0.1 + 0.2\n0.3\n", {}, "wrong", None, 0)
    with pytest.raises(AssertionError, match="Expected"):
        run(wrong)


@pytest.mark.parametrize("name", sorted(exactla.__all__))
def test_public_names_are_in_the_reference(name: str) -> None:
    assert re.search(rf"^\.\. (auto|py:)\w+:: (exactla\.)?{name}\b", REFERENCE, re.MULTILINE), (
        f"docs/reference lacks {name}"
    )


@pytest.mark.parametrize("command", [module.__name__.rpartition(".")[2] for module in COMMANDS])
def test_commands_are_described(command: str) -> None:
    assert f"`exactla {command}" in (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")


def test_files_stay_short() -> None:
    sources = [
        path for folder in ("exactla", "backends", "conformance", "bench") for path in (ROOT / folder).rglob("*.py")
    ]
    assert sources
    too_long = {str(path.relative_to(ROOT)): n for path in sources if (n := len(path.read_text().splitlines())) > 450}
    assert not too_long, "split these"
