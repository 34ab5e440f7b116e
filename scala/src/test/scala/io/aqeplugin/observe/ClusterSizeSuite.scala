package io.aqeplugin.observe

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

class ClusterSizeSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.default.parallelism" -> "64")

  private def slots(registered: Int, executors: Int, conf: (String, String)*): Int =
    ClusterSize.slotsOf(registered, executors, conf.toMap.get)

  test("spark.default.parallelism is not the number of slots") {
    assert(spark.sparkContext.defaultParallelism == 64)
    assert(ClusterSize.of(spark.sparkContext).slots == spark.sparkContext.master.filter(_.isDigit).toInt)
  }

  test("registered executors count, however many were requested") {
    assert(slots(16, 4, "spark.executor.instances" -> "100", "spark.executor.cores" -> "4") == 16)
  }

  test("requested executors count until the first has registered") {
    assert(slots(0, 0, "spark.executor.instances" -> "10", "spark.executor.cores" -> "4", "spark.task.cpus" -> "2") == 20)
    assert(slots(0, 0) == 1)
  }

  test("with dynamic allocation, the least number of executors counts at any time") {
    val dynamic = Seq("spark.dynamicAllocation.enabled" -> "true", "spark.dynamicAllocation.minExecutors" -> "5")
    assert(slots(8, 2, dynamic: _*) == 20)
    assert(slots(40, 10, dynamic: _*) == 40)
  }

  test("with dynamic allocation, what the most executors can run could run at once") {
    def most(conf: (String, String)*): Option[Int] = ClusterSize.mostSlotsOf(slots = 8, executors = 2, conf.toMap.get)
    val dynamic = "spark.dynamicAllocation.enabled" -> "true"
    assert(most() == Some(8))
    assert(most(dynamic, "spark.dynamicAllocation.maxExecutors" -> "100") == Some(400))
    assert(most(dynamic, "spark.dynamicAllocation.maxExecutors" -> "1") == Some(8))
    assert(most(dynamic) == None)
  }
}
