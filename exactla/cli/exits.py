"""How a run of the command can end: the exit codes, the errors of the command itself, and which error gives which.

Knows the exceptions of exactla and of Python; nothing of arguments or files.
"""

import errno
from enum import IntEnum

from exactla.errors import ExactlaError


class ExitCode(IntEnum):
    """What the shell sees."""

    OK = 0
    CHECK_FAILED = 1
    BAD_INPUT = 2
    NO_RESOURCE = 3
    INTERNAL_ERROR = 70
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141


EXIT_CODES = """\
exit codes:
  0    success
  1    a check failed (a self-test, a digest that should be equal)
  2    bad usage or bad input: a missing or malformed file, a wrong shape or dtype, NaN, an unavailable backend
  3    not enough memory, workspace or disk space
  70   an error inside exactla, shown with its traceback
  130  interrupted
  141  the reader of the output went away
"""


class InputError(ExactlaError):
    """The arguments or the files that the user gave cannot be used; the message is one line for the terminal."""


class OutputError(ExactlaError, OSError):
    """A file could not be written. `errno` is that of the cause."""


_RESOURCE_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EIO}


def exit_code(error: BaseException) -> ExitCode:
    """The exit code that an error ends the command with."""
    match error:
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
        case BrokenPipeError():
            return ExitCode.OUTPUT_CLOSED
        case MemoryError():
            return ExitCode.NO_RESOURCE
        case OSError(errno=number):
            return ExitCode.NO_RESOURCE if number in _RESOURCE_ERRNOS else ExitCode.BAD_INPUT
        case ExactlaError():
            return ExitCode.BAD_INPUT
        case _:
            return ExitCode.INTERNAL_ERROR


def message(error: BaseException) -> str:
    """One line that says what went wrong."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    return text or ("out of memory" if isinstance(error, MemoryError) else type(error).__name__)
