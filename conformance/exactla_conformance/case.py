"""What a case is: a call of one public function on operands that are written down as integers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exactla_conformance.encodings import Encoded
from exactla_conformance.streams import Build, Stream


@dataclass(frozen=True)
class Case:
    """A call of `exactla.<function>(*operands, **keywords)`.

    A keyword `dtype` is given by its name. With the keyword `return_info` the mask `Info.hull` counts as a further
    result. The function `lu_solve` has the matrix itself as its first operand, and `precision` as a keyword; integers
    go to functions of multiple precision as an `MPArray`. The name is unique, seeds the entries and never changes its
    meaning.
    """

    name: str
    function: str
    build: Build = field(repr=False)
    keywords: Mapping[str, str | bool | int] = field(default_factory=dict)

    def operands(self) -> tuple[Encoded, ...]:
        """The operands: the same at every call."""
        return self.build(Stream(self.name))

    @property
    def call(self) -> str:
        """The call as text, without its operands."""
        return f"{self.function}({', '.join(f'{key}={value}' for key, value in sorted(self.keywords.items()))})"
