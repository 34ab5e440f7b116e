package io.aqeplugin.decide

/** What is known, before anything has run, of a join whose probe side could be held back until its build side is done.
  *
  * @param buildRows
  *   rows of the table that the build side's keys come from, before its predicates; negative when nothing is known
  * @param buildScanBytes
  *   bytes of the files that the build side reads
  * @param buildRowBytes
  *   bytes of one build row in memory
  * @param buildTasks
  *   tasks of the build side's widest scan
  * @param buildKeptRatio
  *   share of the rows that the build side's predicates and joins keep, if statistics tell
  * @param buildPredicates
  *   predicates and filtering joins in the build side; used when `buildKeptRatio` is not known
  * @param shufflePartitions
  *   partitions of the join's shuffles
  * @param otherRunnableTasks
  *   tasks of other stages that could use the slots while the probe side waits
  * @param waitsAnyway
  *   the probe side's scan cannot start before the build side is done whatever is decided here, as below a broadcast join
  * @param keyColumns
  *   number of key columns
  * @param keysSupported
  *   whether every key column has a type that a filter can hold
  * @param buildUnmeasuredColumns
  *   columns of variable width that are computed above the build side's exchange, see [[BuildFacts]]
  */
final case class WaitFacts(
    kind: JoinKind,
    buildSide: Side,
    keyColumns: Int,
    keysSupported: Boolean,
    buildRows: Long,
    buildScanBytes: Long,
    buildRowBytes: Long,
    buildTasks: Int,
    buildKeptRatio: Option[Double],
    buildPredicates: Int,
    shufflePartitions: Int,
    otherRunnableTasks: Int,
    waitsAnyway: Boolean,
    probe: ProbeFacts,
    cluster: ClusterFacts,
    hint: Option[String],
    sparkStrategy: Strategy,
    canBroadcast: Boolean,
    filterObstacle: Option[ReasonCode],
    buildUnmeasuredColumns: Int = 0
)

/** Whether to hold the probe side back.
  *
  * @param savingMillis
  *   elapsed time that the finished build side is expected to save, before `wait.savingShare`
  * @param idleMillis
  *   elapsed time that the slots are expected to stand idle for it
  */
final case class WaitDecision(waits: Boolean, reason: Reason, savingMillis: Double, idleMillis: Double)
