"""Lets docstrings write |x| for a magnitude, which reStructuredText would take for a substitution."""

import re
from typing import Any

from sphinx.application import Sphinx

_LITERAL = re.compile(r"(``.*?``)")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the change, to be made after numpydoc's."""
    app.connect("autodoc-process-docstring", _escape_bars, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _escape_bars(_app: Sphinx, _what: str, _name: str, _obj: object, _options: Any, lines: list[str]) -> None:
    lines[:] = [line if line.lstrip().startswith(">>>") else _escape(line) for line in lines]


def _escape(line: str) -> str:
    parts = _LITERAL.split(line)
    return "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)
