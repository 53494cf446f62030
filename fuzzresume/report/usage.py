"""How a wrong command line ends."""

from __future__ import annotations

from typing import NoReturn

import typer

from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.terminal import plain


def fail(message: str, code: Exit = Exit.USAGE) -> NoReturn:
    """One line on stderr, and the exit code."""
    plain(stderr=True).print(f"fuzzresume: {message}")
    raise typer.Exit(code)
