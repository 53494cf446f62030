"""The files that a command which runs campaigns writes for other programs: an option each, a line each in `WRITERS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fuzzresume.campaign.events import Handler
from fuzzresume.campaign.store import write_whole
from fuzzresume.cli_files import files_of
from fuzzresume.report.account import Account
from fuzzresume.report.junit import junit_xml
from fuzzresume.report.ndjson import EventLines
from fuzzresume.report.sarif import sarif_json
from fuzzresume.report.summary import summary_markdown
from fuzzresume.report.usage import fail

Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML to this file, a suite for each target.")]
Sarif = Annotated[Path | None, typer.Option(help="Write the findings as SARIF 2.1.0 to this file.")]
Summary = Annotated[Path | None, typer.Option(help="Write a short Markdown page for a CI job to this file.")]
Html = Annotated[Path | None, typer.Option(help="Write one page that needs nothing else to this file.")]
Events = Annotated[Path | None, typer.Option(help="Write every event to this file as it comes, as NDJSON.")]

Named = tuple[Path | None, Callable[[], bytes]]
"""A file and what makes its bytes; without a path it was not asked for."""


def now() -> str:
    """The present time, as a page shows it."""
    return datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z")


def _html(account: Account) -> bytes:
    """The page, dated now. Only who wants it waits for what makes it."""
    from fuzzresume.report.html_page import html_page

    return html_page(account, now()).encode()


WRITERS: Mapping[str, Callable[[Account], bytes]] = {
    "junit": junit_xml,
    "sarif": sarif_json,
    "summary": summary_markdown,
    "html": _html,
}
"""What makes a whole file when all campaigns are over, by its option."""


def known_files(paths: Sequence[Path]) -> dict[str, Path]:
    """The trace files of known findings, by the findings' ids: a campaign names each file after its finding."""
    return {file.stem: file for path in paths if path.exists() for file in files_of([path])}


class Outputs:
    """The files that were asked for: the stream of events, and those of `WRITERS` by their options."""

    def __init__(self, events: Path | None, **wanted: Path | None) -> None:
        self._events = events
        self._wanted = {option: path for option, path in wanted.items() if path is not None}
        self._stream: EventLines | None = None

    @property
    def paths(self) -> Sequence[Path]:
        """Every file that will be written."""
        return [*self._wanted.values(), *([self._events] if self._events is not None else [])]

    def begin(self, seed: int) -> list[Handler]:
        """Open the stream of events; returns who is to listen to the campaigns. Ends the program when it cannot be begun."""
        if self._events is None:
            return []
        try:
            # Unbuffered, so that a line is there when its event has happened.
            self._stream = EventLines(self._events.open("wb", buffering=0))
            self._stream.begin(seed)
        except OSError as error:
            fail(f"{self._events}: {error.strerror or error}")
        return [self._stream]

    def write(self, account: Account, *more: Named) -> None:
        """Write every file and end the stream. Ends the program, when all is done, where one could not be written."""
        files: list[Named] = [*more]
        files += [(path, partial(WRITERS[option], account)) for option, path in self._wanted.items()]
        failed = []
        for path, content in files:
            try:
                if path is not None:
                    write_whole(path, content())
            except (OSError, ValueError) as error:  # one that fails must not cost the others
                failed.append(f"{path}: {getattr(error, 'strerror', None) or error}")
        if self._stream is not None and (broken := self._stream.end(account.code)):
            failed.append(f"{self._events}: {broken}")
        if failed:
            fail("; ".join(failed))
