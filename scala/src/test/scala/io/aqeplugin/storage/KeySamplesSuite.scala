package io.aqeplugin.storage

import java.security.PrivilegedAction
import java.util.concurrent.Executor
import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.sources.LessThan
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.observe.BuildKeys

class KeySamplesSuite extends AnyFunSuite with PluginSession with Eventually {
  override implicit val patienceConfig: PatienceConfig = PatienceConfig(timeout = Span(20, Seconds))

  override protected def applicationConf: Map[String, String] = Map("spark.hadoop.parquet.block.size" -> (1 << 20).toString)

  test("rows that were sampled for one user serve that user's queries alone") {
    table("visits", "SELECT id AS user_id, rand(1) AS a FROM range(600000)", files = 6)
    val plan = withConf("spark.aqePlugin.mode" -> "off")(spark.sql("SELECT user_id FROM visits").queryExecution.executedPlan)
    val scan = collectFirst(plan) { case found: FileSourceScanExec => found }.getOrElse(fail("no file scan"))
    val reads = new AtomicInteger()
    val counting: Executor = { action =>
      reads.incrementAndGet()
      FooterThreads.pool.execute(action)
    }
    val samples = new KeySamples(FooterStatistics, counting)
    def readFor(user: String): Int = {
      val before = reads.get
      val action: PrivilegedAction[Boolean] = () => samples.of(scan, scan.output).isDefined
      assert(UserGroupInformation.createRemoteUser(user).doAs(action))
      reads.get - before
    }
    val _ = readFor("first")
    // One for the reader, and one for each row group, which are begun together.
    val ofFirst = eventually {
      val seen = reads.get
      Thread.sleep(200)
      assert(seen > 4 && reads.get == seen)
      seen
    }
    assert(readFor("first") == 0)
    val _ = readFor("second")
    eventually(assert(reads.get == 2 * ofFirst))
  }

  test("a sample has rows of a scan's whole files, whatever keys the scan leaves out") {
    table("priced", "SELECT id AS user_id, CAST(id AS decimal(9, 2)) AS price, rand(1) AS a FROM range(600000)", files = 6)
    val plan = withConf("spark.aqePlugin.mode" -> "off")(spark.sql("SELECT user_id, price FROM priced").queryExecution.executedPlan)
    val scan = collectFirst(plan) { case found: FileSourceScanExec => found }.getOrElse(fail("no file scan"))
    val none = Seq(LessThan("price", java.math.BigDecimal.valueOf(-100, 2)))
    val narrowed = FormatByTypes.reading(scan, KeyedParquetFormat.Empty, none, scan.output.last)
    val samples = new KeySamples(FooterStatistics, FooterThreads.pool)
    def rows: Option[Long] =
      samples.of(
        narrowed,
        narrowed.output.take(1)
      ).flatMap(_.matching(Some(BuildKeys.ofCodes(Array(1L), areValues = true, allTexts = None)))).map(_.rows)
    eventually(assert(rows.exists(_ > 1000)))
  }
}
