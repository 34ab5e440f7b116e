package io.aqeplugin.decide

/** What is known, before anything runs, of a join whose probe side could wait for its build side.
  *
  * @param join
  *   the estimated join; its build rows are those that the predicates and joins of the build side are estimated to keep
  * @param buildScanBytes
  *   bytes of the files that the build side reads
  * @param buildTasks
  *   number of tasks of the build side's widest scan
  * @param shufflePartitions
  *   number of partitions of the join's shuffles
  * @param otherRunnableTasks
  *   number of tasks of other stages, and of queries running beside, that could use the slots while the probe side waits
  * @param heldMillis
  *   how long the scans that the keys reach wait for the build sides of other joins, as estimated
  * @param reduced
  *   the joins below whose build sides come from these scans, as estimated without this filter: with fewer build rows, they may filter their
  *   own probe sides
  * @param buildStages
  *   stages of the build side that run one after the other, without broadcasts inside it; at least 1
  */
final case class WaitFacts(
    join: JoinFacts,
    buildScanBytes: Long,
    buildTasks: Int,
    shufflePartitions: Int,
    otherRunnableTasks: Int,
    heldMillis: Double = 0,
    reduced: Seq[JoinFacts] = Nil,
    buildStages: Int = 1
)
