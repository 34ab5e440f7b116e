package io.aqeplugin.observe

import org.apache.spark.SparkConf
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

class ClusterSizeSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.default.parallelism" -> "64")

  private def cluster(slots: Int, executors: Int, conf: (String, String)*): (Int, Int) = {
    val found = ClusterSize.expected(slots, executors, conf.toMap.get)
    (found.slots, found.executors)
  }

  test("spark.default.parallelism is not the number of slots") {
    assert(spark.sparkContext.defaultParallelism == 64)
    assert(ClusterSize.of(spark.sparkContext).slots == spark.sparkContext.master.filter(_.isDigit).toInt)
  }

  test("registered executors count, however many were requested") {
    assert(cluster(16, 4, "spark.executor.instances" -> "100", "spark.executor.cores" -> "4") == ((16, 4)))
  }

  test("requested executors count until the first has registered") {
    assert(cluster(0, 0, "spark.executor.instances" -> "10", "spark.executor.cores" -> "4", "spark.task.cpus" -> "2") == ((20, 10)))
    assert(cluster(0, 0) == ((1, 1)))
  }

  test("with dynamic allocation, the least number of executors counts at any time, for slots and executors alike") {
    val dynamic = Seq("spark.dynamicAllocation.enabled" -> "true", "spark.dynamicAllocation.minExecutors" -> "5")
    assert(cluster(8, 2, dynamic: _*) == ((20, 5)))
    assert(cluster(40, 10, dynamic: _*) == ((40, 10)))
  }

  test("the driver's threads in local mode are not multiplied, whatever is said of executors") {
    assert(cluster(2, 0, "spark.dynamicAllocation.enabled" -> "true", "spark.dynamicAllocation.minExecutors" -> "5") == ((2, 1)))
  }

  test("with dynamic allocation, what the most executors can run could run at once") {
    def most(conf: (String, String)*): Option[Int] = ClusterSize.mostSlotsOf(slots = 8, executors = 2, conf.toMap.get)
    val dynamic = "spark.dynamicAllocation.enabled" -> "true"
    assert(most() == Some(8))
    assert(most(dynamic, "spark.dynamicAllocation.maxExecutors" -> "100") == Some(400))
    assert(most(dynamic, "spark.dynamicAllocation.maxExecutors" -> "1") == Some(8))
    assert(most(dynamic) == None)
  }

  test("a task is sure to get half of its share of the execution memory that cached data cannot take") {
    def bytes(heapMiB: Long, tasks: Int, offHeapMiB: Option[Long] = None): Long =
      ClusterSize.taskBytesOf(heapMiB << 20, tasks, SparkBridge.TaskMemory(0.6, 0.5, offHeapMiB.map(_ << 20))) >> 20
    assert(bytes(heapMiB = 8192, tasks = 4) == 295)
    assert(bytes(heapMiB = 8192, tasks = 4, offHeapMiB = Some(1024)) == 64)
    assert(bytes(heapMiB = 200, tasks = 4) == 0)
  }

  test("Spark's confs say how an executor divides its memory") {
    val conf = new SparkConf(false).set("spark.memory.fraction", "0.4").set("spark.memory.storageFraction", "0.3")
    assert(SparkBridge.taskMemory(conf) == SparkBridge.TaskMemory(0.4, 0.3, None))
    val offHeap = conf.set("spark.memory.offHeap.enabled", "true").set("spark.memory.offHeap.size", "1g")
    assert(SparkBridge.taskMemory(offHeap).offHeapBytes.contains(1L << 30))
  }
}
