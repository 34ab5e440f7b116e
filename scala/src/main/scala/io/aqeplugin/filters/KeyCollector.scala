package io.aqeplugin.filters

/** Collects the keys of one task.
  *
  * Mutable, because a task adds tens of millions of keys one by one, and a new value for each would cost more than the join. It belongs to
  * one thread, lives for one task, and ends with [[result]], after which it accepts no more keys. A collector of a failed or cancelled task
  * leaves nothing that could be taken for a filter.
  *
  * @param integral
  *   whether codes are the values of a single integral, date, timestamp, boolean or short decimal key, rather than hashes
  */
final class KeyCollector(limits: FilterLimits, integral: Boolean) {

  private var keys: GrowingKeys = GrowingKeys.start(limits, integral)
  private var min: Long = Long.MaxValue
  private var max: Long = Long.MinValue
  private var added: Long = 0L

  /** Adds one key; adding a key again changes only the count. */
  def add(code: Long): Unit = {
    keys = keys.add(code)
    if (code < min) min = code
    if (code > max) max = code
    added += 1
  }

  /** The added keys, as the part of one task.
    *
    * @throws IllegalStateException
    *   when called again, as `add` does from now on
    */
  def result(): PartialFilter = {
    val state = keys.freeze()
    keys = GrowingKeys.Closed
    PartialFilter(limits, integral, 1, added, if (added == 0) None else Some(CodeRange(min, max)), state)
  }
}
