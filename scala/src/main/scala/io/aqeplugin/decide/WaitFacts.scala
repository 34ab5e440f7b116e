package io.aqeplugin.decide

/** What is known, before anything has run, of a join whose probe side could be held back until its build side is done.
  *
  * @param join
  *   the join as it is estimated: the rows of its build side are those that its predicates and joins are expected to keep
  * @param buildScanBytes
  *   bytes of the files that the build side reads
  * @param buildTasks
  *   tasks of the build side's widest scan
  * @param shufflePartitions
  *   partitions of the join's shuffles
  * @param otherRunnableTasks
  *   tasks of other stages that could use the slots while the probe side waits
  * @param waitsAnyway
  *   the probe side's scan cannot start before the build side is done whatever is decided here, as below a broadcast join
  */
final case class WaitFacts(
    join: JoinFacts,
    buildScanBytes: Long,
    buildTasks: Int,
    shufflePartitions: Int,
    otherRunnableTasks: Int,
    waitsAnyway: Boolean
)

/** Whether to hold the probe side back.
  *
  * @param savingMillis
  *   elapsed time that the finished build side is expected to save, before `wait.savingShare`
  * @param idleMillis
  *   elapsed time that the slots are expected to stand idle for it
  */
final case class WaitDecision(waits: Boolean, reason: Reason, savingMillis: Double, idleMillis: Double)
