"""`fuzzresume prepare`: build the environments of targets now, so that nothing needs the network later."""

from __future__ import annotations

from typing import Annotated

import typer

from fuzzresume.harness.target import NoEnvironment, TargetError, parse_target
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.terminal import plain
from fuzzresume.report.usage import fail


def prepare(
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help="Such as crewai@1.15.2, langgraph@1.1.4 or langgraph@latest.")
    ],
) -> None:
    """Build the environments that these targets need, once: an installed version needs none. Exit code 3: one is missing."""
    missing = False
    for text in targets:
        try:
            target = parse_target(text)
        except NoEnvironment as error:
            plain(stderr=True).print(f"fuzzresume: {error}")
            missing = True
        except TargetError as error:
            fail(str(error))
        else:
            plain().print(f"{target.label}  " + "  ".join(f"{name} {version}" for name, version in target.packages.items()))
    raise typer.Exit(Exit.UNDETERMINED if missing else Exit.OK)
