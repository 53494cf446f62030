"""How a wrong command line ends."""

from __future__ import annotations

from typing import NoReturn

import typer

from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.terminal import Screen


def fail(message: str) -> NoReturn:
    """One line on stderr, exit code 2."""
    Screen(stderr=True, soft_wrap=True, highlight=False, markup=False).print(f"fuzzresume: {message}")
    raise typer.Exit(Exit.USAGE)
