"""`fuzzresume prepare`: build the environments of targets now, so that nothing needs the network later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fuzzresume.harness.environments import Environment
from fuzzresume.harness.target import NoEnvironment, TargetError, parse_target
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.terminal import plain
from fuzzresume.report.usage import fail
from fuzzresume.repro.verify import environment_of


def prepare(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET...", help="Such as crewai@1.15.2, langgraph@1.1.4 or langgraph@latest; or the file of a script."
        ),
    ],
) -> None:
    """Build the environments that these targets need, once: an installed version needs none. Exit code 3: one is missing.

    A script, such as repro.py, needs what its header asks for.
    """
    missing = False
    scripts: set[Path] = set()
    for text in targets:
        try:
            if text.endswith(".py"):
                folder = _of_script(Path(text)).folder
                if folder not in scripts:
                    scripts.add(folder)
                    plain().print(f"{folder.name}  for {text}")
                continue
            target = parse_target(text)
        except NoEnvironment as error:
            plain(stderr=True).print(f"fuzzresume: {error}")
            missing = True
        except TargetError as error:
            fail(str(error))
        else:
            plain().print(f"{target.label}  " + "  ".join(f"{name} {version}" for name, version in target.packages.items()))
    raise typer.Exit(Exit.UNDETERMINED if missing else Exit.OK)


def _of_script(script: Path) -> Environment:
    """Raises NoEnvironment. Ends the program for a file that is no script, or says nothing of what it needs."""
    try:
        return environment_of(script)
    except (OSError, ValueError) as error:
        fail(f"{script}: {error.strerror if isinstance(error, OSError) else error}")
