"""How a wrong command line ends."""

from __future__ import annotations

from typing import NoReturn

import typer

from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.terminal import plain


def fail(message: str) -> NoReturn:
    """One line on stderr, exit code 2."""
    plain(stderr=True).print(f"fuzzresume: {message}")
    raise typer.Exit(Exit.USAGE)
