package io.aqeplugin.observe

/** The filters on one scan, from the time the scan begins to run. */
trait StartedFilters {

  /** The joins whose build sides each filter comes from: one, or those of a union. */
  def joinIdsByFilter: Seq[Seq[String]]

  /** The joins whose build sides the filters come from. */
  def joinIds: Seq[String] = joinIdsByFilter.flatten

  /** One outcome per filter; none before the scan has looked for its filters. */
  def outcomes: Seq[FilterOutcome]

  /** Number of faults in the filters, met by tasks. */
  def faults: Long
}
