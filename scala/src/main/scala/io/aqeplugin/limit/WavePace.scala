package io.aqeplugin.limit

/** How many splits of a limit run at once.
  *
  * @param first
  *   splits that start at once
  * @param growth
  *   while no row was found, at most this many times the finished splits run at once
  * @param most
  *   splits that run at once at most
  */
final case class WavePace(first: Int, growth: Double, most: Int) {

  /** The number of splits to start now.
    *
    * @param rowsMissing
    *   rows that the limit still needs
    * @param rowsFound
    *   rows of the finished splits
    * @param finished
    *   finished splits
    * @param running
    *   splits that run
    * @param waiting
    *   splits that were not started
    */
  def start(rowsMissing: Long, rowsFound: Long, finished: Int, running: Int, waiting: Int): Int =
    if (rowsMissing <= 0 || waiting <= 0) 0
    else {
      val allowed = math.max(first.toDouble, finished * growth)
      val needed = if (rowsFound > 0) math.ceil(rowsMissing.toDouble * finished / rowsFound) else Double.MaxValue
      val target = math.max(1.0, Seq(allowed, needed, most.toDouble).min)
      // One job for several splits: fewer jobs, and the queued splits keep the slots busy.
      val refill = running == 0 || running <= target / 2
      if (refill) math.min(waiting.toDouble, math.max(0.0, target - running)).toInt else 0
    }
}
