package io.aqeplugin.rules

import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.observe.{SizeEstimator, TableStatistics}

/** How many tasks the scan of a build side is expected to have, on which depends how many slots it leaves idle. */
class ScanTasksSuite extends AnyFunSuite with PluginSession with AdaptiveSparkPlanHelper {

  private val MiB = 1L << 20

  private def tasks(bytes: Double): Int = JoinEstimator.scanTasks(bytes, leastTasks = 8, 128 * MiB, 4 * MiB)

  test("a scan is shared among all cores, unless a task would read less than it costs to open a file") {
    assert(Seq(0.0, 1.0, 4.0, 5.0, 32.0, 100.0, 1024.0, 1025.0, 2048.0).map(size => tasks(size * MiB)) == Seq(1, 1, 1, 2, 8, 8, 8, 9, 16))
    assert(Seq(Double.NaN, -1.0, Double.PositiveInfinity).map(tasks) == Seq(1, 1, Int.MaxValue))
  }

  test("a build side has as many tasks as the files of its widest scan, also if it needs few of their columns") {
    table("broad", "SELECT id, repeat(uuid(), 20) AS word FROM range(4000)")
    table("narrow", "SELECT id AS n FROM range(4000)")
    val plan = spark.sql("SELECT id FROM broad JOIN narrow ON id = n").queryExecution.sparkPlan
    val broad = plan.collect { case found: FileSourceScanExec => found.relation.sizeInBytes }.max
    val sizes = new SizeEstimator(0.2, TableStatistics.None)
    assert(sizes.widestScanBytes(plan) == broad.toDouble && sizes.scanBytes(plan) < broad.toDouble / 2)
  }

  test("Spark makes as many tasks, or one more for the rest of a division") {
    table("scanned", "SELECT id, uuid() AS word FROM range(20000)")
    for ((leastTasks, most) <- Seq(2 -> "128m", 7 -> "128m", 2 -> "100k")) withConf(
      "spark.sql.files.minPartitionNum" -> leastTasks.toString,
      "spark.sql.files.maxPartitionBytes" -> most,
      "spark.sql.files.openCostInBytes" -> "1"
    ) {
      val scan = collectFirst(spark.table("scanned").queryExecution.executedPlan) { case found: FileSourceScanExec => found }.get
      val expected = JoinEstimator.scanTasks(scan.relation.sizeInBytes.toDouble, leastTasks, scan.conf.filesMaxPartitionBytes, 1)
      val made = scan.inputRDDs().head.getNumPartitions
      assert(
        expected >= leastTasks && Set(expected, expected + 1).contains(made),
        s"$made of $expected expected with $leastTasks and $most"
      )
    }
  }
}
