"""`fuzzresume check-adapter`: whether an adapter translates its framework faithfully, one line a check."""

from __future__ import annotations

from typing import Annotated

import typer

from fuzzresume.cli_run import options_of, workspace
from fuzzresume.harness.adapter import Adapter
from fuzzresume.harness.named import named_adapter
from fuzzresume.harness.target import NoEnvironment, TargetError, parse_target
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.terminal import plain
from fuzzresume.report.usage import fail
from fuzzresume.testing.kit import check_adapter as check
from fuzzresume.testing.result import Report


def check_adapter(
    adapter: Annotated[str, typer.Argument(help="A target, such as langgraph, or module:ATTRIBUTE of an adapter.")],
    option: Annotated[list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="Set an option.")] = None,
) -> None:
    """Check an adapter's translation, not its framework: conforms (exit 0), does not (1), undetermined (3)."""
    pinned = options_of(option or [])
    console = plain()
    try:
        chosen = adapter_of(adapter, pinned)
        with workspace() as executor:
            report = check(
                chosen,
                pinned,
                zygotes=executor.zygotes,
                place=executor.folder,
                heard=lambda result: console.print(str(result)),
            )
    except NoEnvironment as error:
        fail(str(error), Exit.UNDETERMINED)
    except TargetError as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None
    console.print(report.verdict)
    raise typer.Exit(exit_of(report))


def adapter_of(text: str, options: dict[str, str]) -> Adapter:
    """The adapter that a target's name or `module:ATTRIBUTE` means. Raises TargetError where there is none."""
    if ":" not in text:
        return parse_target(text, options).adapter
    return named_adapter(text)


def exit_of(report: Report) -> Exit:
    """0 conforms, 1 does not, 3 nobody could tell."""
    if report.failed:
        return Exit.VIOLATED
    return Exit.UNDETERMINED if report.undetermined else Exit.OK
