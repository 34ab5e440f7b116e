package io.aqeplugin.limit

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide.Told

/** What the scan of a limit read. */
@Told(doc = "what the scan of a limit read")
final case class LimitOutcome(
    @Told(doc = "files that the scan could read", unit = "files") filesListed: Long,
    @Told(doc = "rows that the scan's finished tasks read", unit = "rows") rowsRead: Long,
    @Told(doc = "splits that were started; null when Spark started them", unit = "splits") splits: Option[Long]
)

/** A limit of a query.
  *
  * @param mode
  *   the mode in which it was decided, see `SessionConf.limitMode`
  * @param applied
  *   whether the decision is in the plan
  * @param outcome
  *   what was read so far; none when the limit has no scan
  */
final case class DecidedLimit(
    timeMillis: Long,
    mode: Mode,
    decision: LimitDecision,
    applied: Boolean,
    outcome: () => Option[LimitOutcome]
)
