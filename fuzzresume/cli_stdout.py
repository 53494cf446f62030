"""Standard output that tells the command line when nobody reads it."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO


class Unread(OSError):
    """Nobody reads the output any more. No BrokenPipeError: for one, typer and rich end a program as if it were violated."""

    def __init__(self) -> None:
        super().__init__("nobody reads the output")


class Output(io.TextIOWrapper):
    """A stream of text that raises Unread where its pipe is closed."""

    def write(self, text: str) -> int:
        """As a file's; raises Unread."""
        try:
            return super().write(text)
        except BrokenPipeError as error:
            raise Unread from error

    def flush(self) -> None:
        """As a file's; raises Unread."""
        try:
            super().flush()
        except BrokenPipeError as error:
            raise Unread from error


def prepare_streams() -> None:
    """Make both streams show whatever a framework's texts hold, and standard output one that raises Unread.

    A stream that was closed before the program began leads nowhere from now on: else the next file opened, such as a
    database, would take its number and get what is printed.
    """
    if sys.stdout is None:
        sys.stdout = _nowhere()
    elif isinstance(sys.stdout, io.TextIOWrapper):
        line, through = sys.stdout.line_buffering, sys.stdout.write_through
        sys.stdout = Output(sys.stdout.buffer, sys.stdout.encoding, "replace", None, line, through)
    if sys.stderr is None:
        sys.stderr = _nowhere()
    elif isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")


def let_go() -> None:
    """Print what is still kept back; where nobody reads it, the exit code and the files still say what was found."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
