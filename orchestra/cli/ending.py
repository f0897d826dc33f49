"""How a command ends when it does not end well: one message on standard error, and an exit code."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback

import typer

from orchestra.core.errors import OrchestraError

INTERRUPTED = 130


class Stopped(BaseException):
    """A signal asked the process to end. Data: ``code``, the exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def ended_by(error: BaseException) -> int:
    """Say on standard error what ended the command, and give its exit code.

    Only messages, never values: what a traceback with locals would show may be somebody's ``invocation_state``. With
    ``ORCHESTRA_DEBUG=1`` the traceback comes too, without locals.
    """
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, typer.Exit):
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        return 141
    if os.environ.get("ORCHESTRA_DEBUG") == "1":
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, Stopped):
        return error.code
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError | typer.Abort):
        _say("interrupted")
        return INTERRUPTED
    if isinstance(error, OrchestraError):
        _say(str(error))
        return error.exit_code
    if isinstance(error, typer.TyperException):
        if message := error.format_message():  # a group without a command shows its help and has no message
            _say(message)
        return error.exit_code
    if isinstance(error, OSError) and error.filename and error.strerror:
        _say(f"{error.filename}: {error.strerror}")
        return 2
    what = f"unexpected {type(error).__name__}: {error}".removesuffix(": ")
    _say(f"{what} (a fault in Orchestra; please report it with what ORCHESTRA_DEBUG=1 shows, see CONTRIBUTING.md)")
    return 1


def _say(message: str) -> None:
    print(f"orchestra: {message}", file=sys.stderr, flush=True)
