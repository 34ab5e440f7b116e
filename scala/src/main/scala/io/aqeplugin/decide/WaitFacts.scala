package io.aqeplugin.decide

/** What is known, before anything runs, of a join whose probe side could wait for its build side.
  *
  * @param buildRows
  *   rows of the table that the build side's keys come from, before its predicates; negative when unknown
  * @param buildScanBytes
  *   bytes of the files that the build side reads
  * @param buildRowBytes
  *   bytes of one build row in memory
  * @param buildTasks
  *   number of tasks of the build side's widest scan
  * @param buildKeptRatio
  *   share of rows that the build side's predicates and joins keep, if statistics give it
  * @param buildPredicates
  *   number of predicates and filtering joins in the build side; used when `buildKeptRatio` is unknown
  * @param shufflePartitions
  *   number of partitions of the join's shuffles
  * @param otherRunnableTasks
  *   number of tasks of other stages that could use the slots while the probe side waits
  * @param waitsAnyway
  *   the probe side's scan cannot start before the build side has finished, whatever is decided here, as below a broadcast join
  * @param keyColumns
  *   number of key columns
  * @param keysSupported
  *   whether every key column has a type that a filter can hold
  * @param buildUnmeasuredColumns
  *   number of variable-width columns that are computed above the build side's exchange, see [[BuildFacts]]
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

/** Whether the probe side waits.
  *
  * @param savingMillis
  *   elapsed time that the finished build side is estimated to save, before `wait.savingShare`
  * @param idleMillis
  *   elapsed time for which the wait is estimated to leave the slots idle
  */
final case class WaitDecision(waits: Boolean, reason: Reason, savingMillis: Double, idleMillis: Double)
