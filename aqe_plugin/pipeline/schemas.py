"""The schemas of events and tables, as Spark's DDL.

Members of events have the names and types of ``event_schema.json``; a test compares the two.
"""

from __future__ import annotations

_REASON = "struct<code: string, measured: double, limit: double, unit: string, confKey: string>"
_KEYS = (
    "struct<columns: bigint, supported: boolean, distinct: bigint, nulls: bigint, min: bigint, max: bigint, "
    "histogram: array<struct<low: bigint, high: bigint, rows: bigint>>, originDistinct: bigint>"
)
_BUILD = (
    "struct<rows: bigint, stageBytes: bigint, memoryBytesPerRow: bigint, partitions: bigint, "
    "maxPartitionBytes: bigint, medianPartitionBytes: bigint, originRows: bigint, "
    f"alreadyBroadcast: boolean, keys: {_KEYS}, unmeasuredColumns: bigint>"
)
_PROBE = (
    "struct<rows: bigint, scanRows: bigint, rowBytes: bigint, exchanges: bigint, started: boolean, targets: bigint, "
    f"keys: {_KEYS}>"
)
JOIN_FACTS = (
    f"struct<joinId: string, kind: string, keys: array<string>, buildSide: string, build: {_BUILD}, probe: {_PROBE}, "
    "cluster: struct<slots: bigint, executors: bigint>, hint: string, sparkStrategy: string, canBroadcast: boolean, "
    f"filterObstacle: string, waiting: struct<waits: boolean, reason: {_REASON}, savingMillis: double, "
    "idleMillis: double>>"
)
_DECISION = (
    f"struct<schemaVersion: bigint, facts: {JOIN_FACTS}, choice: string, reason: {_REASON}, buildFilter: boolean, "
    f"filterReason: {_REASON}, passRate: double, options: array<struct<strategy: string, withFilter: boolean, "
    f"costMillis: double, reason: {_REASON}>>>"
)
_FILTERS = (
    "array<struct<filterId: string, joinId: string, table: string, scanColumns: array<string>, applied: boolean, "
    f"reason: {_REASON}>>"
)
_OUTCOME = (
    "filterId {0} string, joinId {0} string, table {0} string, scanColumns {0} array<string>, kind {0} string, "
    f"reason {{0}} {_REASON}, rowsIn {{0}} bigint, rowsOut {{0}} bigint, batchesSkipped {{0}} bigint, "
    "filterBytes {0} bigint, buildMillis {0} bigint, waitMillis {0} bigint, keys {0} bigint"
)
JOIN_DECIDED = (
    "schemaVersion bigint, executionId bigint, timeMillis bigint, mode string, "
    f"decision {_DECISION}, filters {_FILTERS}, arm string"
)
QUERY_ENDED = (
    "schemaVersion bigint, executionId bigint, timeMillis bigint, durationMillis bigint, ruleMillis bigint, "
    f"planned bigint, applied bigint, errors bigint, outcomes array<struct<{_OUTCOME.format(':')}>>, "
    "arm string"
)
# Only the needed members of Spark's own events.
SQL_STARTED = "executionId bigint, description string, time bigint"
SQL_ENDED = "executionId bigint, time bigint, errorMessage string"

# The offset of an event in the log of its attempt, in bytes before compression, which orders events as written.
_POSITION = "position struct<part: int, offset: bigint>"

ATTEMPTS = (
    "log string, applicationId string, applicationName string, startedMillis bigint, inProgress boolean, "
    "files array<struct<path: string, bytes: bigint, modifiedMillis: bigint>>, readsSchemaVersion int"
)
DECISIONS = f"log string, {_POSITION}, {JOIN_DECIDED}, date date"
OUTCOMES = f"log string, executionId bigint, timeMillis bigint, number int, {_OUTCOME.format('')}, date date"
QUERIES = (
    "log string, executionId bigint, description string, startedMillis bigint, endedMillis bigint, "
    "errorMessage string, schemaVersion bigint, timeMillis bigint, durationMillis bigint, ruleMillis bigint, "
    "planned bigint, applied bigint, errors bigint, joins bigint, mode string, fingerprint string, "
    "joinConditions string, date date, arm string"
)
REJECTED = f"log string, {_POSITION}, kind string, why string, line string"

# The tables of a run, and whether they are partitioned by date.
TABLES = {
    "attempts": (ATTEMPTS, False),
    "decisions": (DECISIONS, True),
    "outcomes": (OUTCOMES, True),
    "queries": (QUERIES, True),
    "rejected": (REJECTED, False),
}

_OF_JOINS = (
    "joins bigint, filtered bigint, waited bigint, waitMillis double, rowsIn double, rowsOut double, "
    "savedMillis double, regretMillis double"
)

_FINGERPRINT_DAYS = (
    "fingerprint string, joinConditions string, mode string, queries bigint, failed bigint, running bigint, "
    "totalMillis double, medianMillis double, ruleMillis double, planned double, applied double, errors double, "
    f"{_OF_JOINS}, date date"
)
_JOIN_DAYS = (
    f"fingerprint string, join string, mode string, {_OF_JOINS}, predictedPass double, measuredPass double, "
    "measuredJoins bigint, date date"
)
_RATE_DAYS = "bucket int, joins bigint, predictedPass double, measuredPass double, absoluteError double, date date"

# The tables that `aggregate` makes of them, anew each time.
AGGREGATES = {
    "fingerprint_days": (_FINGERPRINT_DAYS, True),
    "join_days": (_JOIN_DAYS, True),
    "pass_rate_days": (_RATE_DAYS, True),
}
