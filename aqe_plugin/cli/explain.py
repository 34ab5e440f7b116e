"""The command ``explain``: what decisions were worth, and each of them with its reason, from event logs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence, Set
from itertools import chain
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated

import typer
from rich.console import Console

from aqe_plugin.cli.log_options import LOGS_HELP, HadoopConfOption
from aqe_plugin.cli.settings import path_option
from aqe_plugin.conf.credentials import without_credentials
from aqe_plugin.errors import EventLogError, NoDataError
from aqe_plugin.events.json_values import encode
from aqe_plugin.events.queries import QueryStory
from aqe_plugin.events.savings import SavingsCount
from aqe_plugin.install.log_checks import Undecided, UnmetForce
from aqe_plugin.logs import Record, Skipped
from aqe_plugin.logs.addresses import conf_of
from aqe_plugin.logs.queries import queries_of
from aqe_plugin.machine.disk import replace_file
from aqe_plugin.render.formats import TableOrJson
from aqe_plugin.render.html import PAGE_END
from aqe_plugin.render.messages import say, warn
from aqe_plugin.render.progress import log_progress
from aqe_plugin.render.queries import LINE_WIDTH, plain_lines, query_lines, query_table, styled
from aqe_plugin.render.query_text import Segments, plain
from aqe_plugin.render.savings import head_lines, head_of
from aqe_plugin.render.savings_page import page_head, query_details
from aqe_plugin.render.terminal import ANY_WIDTH, stdout_console

_SKIPPED_SHOWN = 20
_CHUNK = 1 << 20
# A pod may have no folder for temporary files.
_IN_MEMORY = 16 << 20


def explain(
    log: Annotated[str, typer.Argument(help=LOGS_HELP)],
    output: Annotated[
        TableOrJson, typer.Option("--format", help="A table, or one JSON object a line for each query.")
    ] = "table",
    query: Annotated[
        int | None,
        typer.Option(
            help="At once only the query with this number, Spark's SQL execution id, and those that belong to it."
        ),
    ] = None,
    application: Annotated[
        str | None, typer.Option(metavar="ID", help="Only queries of this application, as several may have a number.")
    ] = None,
    why: Annotated[
        bool,
        typer.Option("--why", help="Also sizes, price, every option not taken, flip points, wait, and filters."),
    ] = False,
    html: Annotated[
        Path | None,
        path_option("Write all of it, with plots, into this page, which loads nothing and can be mailed."),
    ] = None,
    hadoop_conf: HadoopConfOption = None,
) -> None:
    """Show what the plugin's decisions saved and lost or, in mode observe, would have, and the joins worth a look.

    Below it, a line for each query and for each of its joins, limits and inferred predicates: the choice and its
    reason, or what its filter removed. Seconds are predicted by price, and measured where the logs have runs of a
    query in mode apply and in mode observe.

    Spark writes event logs to spark.eventLog.dir when spark.eventLog.enabled is true. Single and rolling logs are
    read, plain or compressed (zstd; lz4 and snappy need the extra "codecs"), also while the application runs.

    Example: aqe-plugin explain /tmp/spark-events --query 7 --why
    """
    skipped: list[Skipped] = []
    known: set[int] = set()
    counted = SavingsCount()
    undecided, forced = Undecided(), UnmetForce()
    printed = 0
    stdout = stdout_console()
    conf = conf_of(hadoop_conf or [])
    at_once = output == "json" or query is not None

    def saw(name: str, record: Record) -> None:
        undecided.saw(name, record)
        forced.saw(name, record)

    # The head comes first and is known last, and the rest must not wait in memory.
    with SpooledTemporaryFile(_IN_MEMORY) as lines, SpooledTemporaryFile(_IN_MEMORY) as details:
        with log_progress(Console(stderr=True)) as progress:
            for found in queries_of(log, skipped.append, conf, progress.track, saw):
                if application in (None, found.application):
                    known.add(found.execution_id)
                is_other = application is not None and found.application != application
                if is_other or (query is not None and query not in (found.execution_id, found.run_by)):
                    continue
                printed += 1
                if html is not None or not at_once:
                    counted.add(found)
                if html is not None:
                    details.write(_bytes(query_details(found)))
                if at_once:
                    if stdout.is_terminal:
                        progress.hide()
                    _write(_text(found, output, why, stdout), stdout)
                elif html is None:
                    lines.write(_bytes(_text(found, output, why, stdout)))
        if printed == 0:
            _require_logs(log, skipped, progress.read)
            _report_skipped(skipped)
            raise _no_decision(log, query, known, [] if known else undecided.sentences())
        source = without_credentials(log)
        head = head_of(counted.savings(), source)
        if html is not None:
            start = page_head(head, counted.savings(), source)
            replace_file(html, chain([_bytes(start)], _chunks(details), [_bytes(PAGE_END)]))
        if not at_once:
            _write(_lines(head_lines(head, min(stdout.width, LINE_WIDTH)), stdout), stdout)
            for chunk in _chunks(lines):
                _write(chunk.decode(), stdout)
    if html is not None:
        say(f"All queries with every option: {html}")
    if query is None:
        for one in (*undecided.sentences(), *forced.sentences()):
            warn(one)
    _report_skipped(skipped)


def _text(query: QueryStory, output: TableOrJson, why: bool, stdout: Console) -> str:
    if output == "json":
        return json.dumps(encode(query)) + "\n"
    if not why:
        return _lines(query_lines(query, min(stdout.width, LINE_WIDTH)), stdout)
    if stdout.width >= ANY_WIDTH:
        return "".join(f"{line}\n" for line in plain_lines(query))
    with stdout.capture() as shown:
        stdout.print(query_table(query))
    return shown.get()


def _lines(lines: Sequence[Segments], stdout: Console) -> str:
    if not stdout.is_terminal:
        return "".join(f"{plain(line).rstrip()}\n" for line in lines)
    with stdout.capture() as shown:
        for line in lines:
            # The terminal itself breaks what is too long, so that a command can be pasted.
            stdout.print(styled(line), soft_wrap=True)
    return shown.get()


def _write(text: str, stdout: Console) -> None:
    stdout.file.write(text)
    stdout.file.flush()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _chunks(spool: IO[bytes]) -> Iterator[bytes]:
    """What was spooled, in pieces of whole lines."""
    spool.seek(0)
    while chunk := spool.read(_CHUNK):
        yield chunk + spool.readline()


def _require_logs(log: str, skipped: Sequence[Skipped], read: int) -> None:
    """Makes sure that what was read, and gave nothing, were event logs at least."""
    whole = [one for one in skipped if one.line is None]
    if Path(log).is_file() and whole:
        raise EventLogError(f"{whole[0]}.")
    if len(whole) == read > 0:
        raise NoDataError(
            f"{log}: no event log in it: {len(whole):,} {'file is' if len(whole) == 1 else 'files are'} something "
            f"else, the first: {whole[0]}. Give the folder that spark.eventLog.dir names."
        )


def _report_skipped(skipped: Sequence[Skipped]) -> None:
    for item in skipped[:_SKIPPED_SHOWN]:
        warn(f"skipped {item}")
    if len(skipped) > _SKIPPED_SHOWN:
        warn(f"skipped {len(skipped) - _SKIPPED_SHOWN} more")


def _no_decision(log: str, query: int | None, known: Set[int], undecided: Sequence[str]) -> NoDataError:
    if query is not None and known:
        found = (
            f"query {min(known)}" if len(known) == 1 else f"{len(known):,} queries from {min(known)} to {max(known)}"
        )
        before = max((one for one in known if one < query), default=None)
        after = min((one for one in known if one > query), default=None)
        if before is not None and after is not None and len(known) > 2:
            found += f", the nearest {before} and {after}"
        return NoDataError(f"{log}: no decision of aqe-plugin for query {query} in it; it has those of {found}.")
    if undecided:
        return NoDataError(f"{log}: no decision of aqe-plugin in it. {' '.join(undecided)}")
    return NoDataError(
        f"{log}: no decision of aqe-plugin in it. Were the queries run with the plugin (aqe-plugin check looks), "
        "spark.aqePlugin.mode observe or apply, and spark.sql.adaptive.enabled true?"
    )
