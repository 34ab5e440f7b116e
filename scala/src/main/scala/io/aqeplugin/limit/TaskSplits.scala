package io.aqeplugin.limit

/** Packs splits into tasks. */
object TaskSplits {

  /** A task that reads less takes longer to be launched and reported than to read. */
  private val TaskBytes = 8L << 20

  /** What the opening of a file costs, as bytes. */
  private val OpenBytes = 128L << 10

  /** Tasks for each slot that a packing leaves at least, so that a slow one does not hold up the others. */
  private val TasksPerSlot = 2

  /** The tasks for splits that are ordered by importance: each task has one of the first.
    *
    * @param bytes
    *   the bytes of each split; none when they are unknown, which is as good as large
    * @param slots
    *   tasks that can run at once
    */
  def packed(splits: IndexedSeq[Int], bytes: IndexedSeq[Option[Long]], slots: Int): IndexedSeq[IndexedSeq[Int]] = {
    val full = math.ceil(bytes.map(_.fold(1.0)(share)).sum)
    val tasks = math.min(splits.size.toDouble, math.max(full, TasksPerSlot.toDouble * slots)).toInt
    (0 until tasks).map(task => (task until splits.size by tasks).map(splits))
  }

  /** The number of splits of this size that give every slot some full tasks to do. */
  def queued(splitBytes: Long, slots: Int): Long = slots * math.max(SplitsPerSlot, (2 * TasksPerSlot / share(splitBytes)).toLong)

  /** The part of a task that a split fills. */
  private def share(splitBytes: Long): Double = math.min(1.0, (OpenBytes + splitBytes).toDouble / TaskBytes)

  /** With fewer, the launch of jobs takes longer than small splits: 431 jobs for 861 files of 10,000 rows. */
  private val SplitsPerSlot = 16L
}
