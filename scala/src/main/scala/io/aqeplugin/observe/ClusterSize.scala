package io.aqeplugin.observe

import org.apache.spark.SparkContext
import org.apache.spark.sql.aqeplugin.SparkBridge

import io.aqeplugin.decide.ClusterFacts

/** The cluster as it is when a query is planned. `spark.default.parallelism` is about the partitions of RDDs and says nothing of it. */
object ClusterSize {

  // These ask the driver's scheduler and block manager for every known executor.
  def of(sparkContext: SparkContext): ClusterFacts = {
    val registered = math.max(0, sparkContext.getExecutorMemoryStatus.size - 1)
    expected(SparkBridge.taskSlots(sparkContext), registered, sparkContext.getConf.getOption(_))
  }

  /** The tasks that could run at once if the application had all executors that it may request; none if their number has no limit. */
  def mostSlots(sparkContext: SparkContext): Option[Int] = {
    val now = of(sparkContext)
    mostSlotsOf(now.slots, now.executors, sparkContext.getConf.getOption(_))
  }

  private[observe] def mostSlotsOf(slots: Int, executors: Int, conf: String => Option[String]): Option[Int] =
    if (conf("spark.dynamicAllocation.enabled").contains("true"))
      conf("spark.dynamicAllocation.maxExecutors").flatMap(_.trim.toIntOption).filter(_ < Int.MaxValue).map { most =>
        math.min(Int.MaxValue.toLong, math.max(slots.toLong, most.toLong * math.max(1, slots / math.max(1, executors)))).toInt
      }
    else Some(slots)

  /** The heap of the driver, or of an executor where that is smaller. */
  def smallestHeapBytes(sparkContext: SparkContext): Long = {
    val driver = Runtime.getRuntime.maxMemory
    if (sparkContext.isLocal) driver else math.min(driver, SparkBridge.executorHeapBytes(sparkContext.getConf))
  }

  /** What each task is sure to get of its executor's execution memory: half of an equal share of what cached data cannot hold (SPARK-10000). */
  def taskBytes(sparkContext: SparkContext, cluster: ClusterFacts): Long = {
    val conf = sparkContext.getConf
    val heap = if (sparkContext.isLocal) Runtime.getRuntime.maxMemory else SparkBridge.executorHeapBytes(conf)
    taskBytesOf(heap, math.ceil(cluster.slots.toDouble / math.max(1, cluster.executors)).toInt, SparkBridge.taskMemory(conf))
  }

  private[observe] def taskBytesOf(heapBytes: Long, tasks: Int, memory: SparkBridge.TaskMemory): Long = {
    val onHeap = math.max(0L, heapBytes - SparkBridge.ReservedHeapBytes) * memory.heapShare
    val pool = memory.offHeapBytes.fold(onHeap)(offHeap => math.min(onHeap, offHeap.toDouble))
    (pool * (1 - memory.storageShare) / (2 * math.max(1, tasks))).toLong
  }

  /** Share of the slots that run no task of any query, in [0, 1]; 0 where that is unknown. */
  def idleShare(sparkContext: SparkContext, slots: Int): Double =
    SparkBridge.runningTasks(sparkContext).fold(0.0)(running => math.max(0.0, math.min(1.0, 1 - running.toDouble / math.max(1, slots))))

  /** The executors, and the tasks that can run at once: at least one of each.
    *
    * Executors that were requested count until the first one has registered. With dynamic allocation, those that Spark requests in any case
    * count as well.
    *
    * @param slots
    *   the tasks that all registered executors can run at once, or the driver in local mode
    */
  private[observe] def expected(slots: Int, executors: Int, conf: String => Option[String]): ClusterFacts = {
    def number(key: String): Option[Int] = conf(key).flatMap(_.trim.toIntOption)
    val tasksOfOne =
      if (executors > 0 && slots > 0) slots / executors
      else number("spark.executor.cores").getOrElse(1) / number("spark.task.cpus").filter(_ > 0).getOrElse(1)
    val isDynamic = conf("spark.dynamicAllocation.enabled").contains("true")
    val requested = number("spark.executor.instances").getOrElse(0)
    val always = number("spark.dynamicAllocation.minExecutors").getOrElse(0)
    val atFirst = number("spark.dynamicAllocation.initialExecutors").getOrElse(0)
    val coming =
      if (slots == 0) Seq(requested, always, atFirst).max
      else if (isDynamic && executors > 0) always
      else 0
    if (coming > executors) ClusterFacts(math.max(1, math.max(slots, coming * tasksOfOne)), coming)
    else ClusterFacts(math.max(1, slots), math.max(1, executors))
  }
}
