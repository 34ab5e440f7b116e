package io.aqeplugin.exec

/** The order in which a task checks the filters of its scan: the one that removes most rows for its cost comes first.
  *
  * The order decides which rows a filter sees, so how many pass, and so when it pauses. It is therefore a function of the rows checked so
  * far, never of a clock: a task that runs again gives the same rows.
  */
private[exec] object ProbeOrder {
  private final val BatchesBetweenReorderings = 32
  private val BestFirst: java.util.Comparator[FilterProbe] = (a, b) => java.lang.Double.compare(b.removedPerNano, a.removedPerNano)

  /** Sorts `probes` at every 32nd batch. The sort is stable.
    *
    * @param batch
    *   number of the batch that comes next, or of the run of rows, from 1
    */
  def update(probes: Array[FilterProbe], batch: Int): Unit =
    if (probes.length > 1 && batch % BatchesBetweenReorderings == 0) java.util.Arrays.sort(probes, BestFirst)
}
