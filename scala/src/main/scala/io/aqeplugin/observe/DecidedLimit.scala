package io.aqeplugin.observe

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide.LimitDecision

/** What the scan of a limit read.
  *
  * @param filesListed
  *   files that the scan had to choose from
  * @param rowsRead
  *   rows that its finished tasks read
  * @param splits
  *   splits that were started, if the plugin started them
  */
final case class LimitOutcome(filesListed: Long, rowsRead: Long, splits: Option[Long])

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
