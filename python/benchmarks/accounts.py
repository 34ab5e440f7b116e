"""The plugin's own figures of each timed run, from the event log."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from aqe_plugin import read_queries
from aqe_plugin.events.effect import effect_of
from aqe_plugin.events.queries import QueryStory
from benchmarks.measure import QueryResult


@dataclass(frozen=True)
class Account:
    """The plugin's own figures of one run.

    Attributes:
        planned: filters in the plan that ran.
        applied: those that were there when their scan ran.
        errors: faults inside the plugin that left Spark's plan in force.
        rule_share: time in the plugin's rules as a share of the query's wall time.
        saved_processor_seconds: predicted, of all cores.
    """

    planned: int
    applied: int
    errors: int
    rule_share: float
    saved_processor_seconds: float = 0.0

    @staticmethod
    def of(story: QueryStory) -> "Account | None":
        """The figures in `story`; None when the query did not end or took no time."""
        ended = story.ended
        if ended is None or ended.duration_millis <= 0:
            return None
        share = ended.rule_millis / ended.duration_millis
        return Account(ended.planned, ended.applied, ended.errors, share, effect_of(story).processor_millis / 1000)


def logged_queries(event_logs: Path) -> Iterator[QueryStory]:
    """Every query with a decision in the readable logs of this folder."""
    return read_queries(event_logs)


def accounts_of(queries: Iterable[QueryStory]) -> dict[str, Account]:
    """Run description → account; of runs with one name, the latest."""
    found = ((story.description, Account.of(story)) for story in queries)
    return {description: account for description, account in found if account is not None}


@dataclass(frozen=True)
class AccountFile:
    """Accounts of finished benchmarks on disk, by jar and run description."""

    path: Path
    jar_digest: str

    def load(self) -> dict[str, Account]:
        """The accounts of runs with this jar."""
        if not self.path.is_file():
            return {}
        stored = json.loads(self.path.read_text()).get(self.jar_digest, {})
        return {description: Account(**values) for description, values in stored.items()}

    def add(self, found: dict[str, Account]) -> None:
        """Adds accounts; the newer account of a run replaces an older one."""
        whole = json.loads(self.path.read_text()) if self.path.is_file() else {}
        merged = {**whole.get(self.jar_digest, {}), **{name: asdict(account) for name, account in found.items()}}
        self.path.write_text(json.dumps({**whole, self.jar_digest: merged}, indent=1))


def fastest_runs(queries: Iterable[QueryStory], results: Iterable[QueryResult], contender: str) -> list[QueryStory]:
    """That contender's fastest run of each query."""
    fastest = {result.fastest_run(contender) for result in results}
    return [story for story in queries if story.description in fastest]
