package io.aqeplugin.e2e

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Try

import org.apache.spark.TaskContext
import org.apache.spark.scheduler.SparkListenerJobStart
import org.apache.spark.sql.DataFrame
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** Limits that are read in waves: what starts, what is cancelled, and what happens to faults. */
class LimitWavesSuite extends AnyFunSuite with LimitSession {
  import LimitWavesSuite._

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    manyFiles("t")
    val _ = spark.udf.register("is_slow", isSlow)
    val _ = spark.udf.register("is_broken", isBroken)
  }

  private def slow(rows: Int): DataFrame = spark.sql(s"SELECT id FROM t WHERE is_slow(id) LIMIT $rows")

  private def noJobIsLeft(): Assertion = {
    val until = System.nanoTime() + TimeUnit.SECONDS.toNanos(20)
    while (spark.sparkContext.statusTracker.getActiveJobIds().nonEmpty && System.nanoTime() < until) Thread.sleep(20)
    assert(spark.sparkContext.statusTracker.getActiveJobIds().isEmpty)
  }

  private def jobsSince(mark: Int): Seq[SparkListenerJobStart] = {
    drain()
    events.since(mark).collect { case start: SparkListenerJobStart => start }
  }

  test("splits that are not needed are not read, and no job is left") {
    val ran = limited(slow(30))
    assert(ran.rows.size == 30 && ran.rows.forall(row => row.getLong(0) % 10 == 0))
    assert(ran.choices == Seq("waves"))
    // 10 rows a file: 3 files are needed, and up to twice the two slots were started besides.
    assert(ran.opened <= 3 + 4)
    noJobIsLeft()
  }

  test("a table without enough rows is read to its end, each row once") {
    val ran = limited(slow(5000))
    assert(ran.rows.map(_.getLong(0)).sorted == (0 until Files * FileRows by 10).map(_.toLong))
    assert(ran.opened == Files)
  }

  test("limit.maxSplits bounds how many splits run at once") {
    withConf("spark.aqePlugin.limit.maxSplits" -> "1", "spark.aqePlugin.limit.firstSplits" -> "1") {
      most.set(0)
      assert(limited(slow(45)).rows.size == 45)
      assert(most.get == 1)
    }
  }

  test("the jobs belong to the query: group, description and tags") {
    val sparkContext = spark.sparkContext
    sparkContext.setJobGroup("my group", "my description")
    sparkContext.addJobTag("my-tag")
    try {
      drain()
      val mark = events.mark()
      assert(slow(45).collect().length == 45)
      val jobs = jobsSince(mark)
      assert(jobs.size > 1)
      jobs.foreach { job =>
        assert(job.properties.getProperty("spark.jobGroup.id") == "my group")
        assert(job.properties.getProperty("spark.job.description") == "my description")
        assert(job.properties.getProperty("spark.job.tags").contains("my-tag"))
        assert(Option(job.properties.getProperty("spark.sql.execution.id")).isDefined)
      }
    } finally {
      sparkContext.clearJobGroup()
      sparkContext.clearJobTags()
    }
  }

  test("a task that fails fails the query, as in Spark, and leaves no job") {
    def query: DataFrame = spark.sql("SELECT id FROM t WHERE is_broken(id) LIMIT 2000")
    val plain = withConf("spark.aqePlugin.mode" -> "off")(Try(query.collect()))
    val ours = Try(query.collect())
    assert(plain.isFailure && ours.isFailure)
    assert(ours.failed.get.getClass == plain.failed.get.getClass)
    assert(ours.failed.get.getMessage.contains("broken row"), ours)
    noJobIsLeft()
  }

  test("a query that is cancelled from outside ends, with all of its jobs") {
    val sparkContext = spark.sparkContext
    begun = new CountDownLatch(1)
    val waiting = new Thread(() => {
      val _ = begun.await(30, TimeUnit.SECONDS)
      sparkContext.cancelJobGroup("cancelled")
    })
    waiting.start()
    sparkContext.setJobGroup("cancelled", "", interruptOnCancel = true)
    try assert(Try(spark.sql("SELECT id FROM t WHERE is_slow(id + 1000000) LIMIT 2000").collect()).isFailure)
    finally sparkContext.clearJobGroup()
    waiting.join()
    noJobIsLeft()
  }
}

object LimitWavesSuite {
  private val running = new AtomicInteger()
  private val most = new AtomicInteger()
  @volatile private var begun = new CountDownLatch(1)
  @volatile private var task = Map.empty[Long, Boolean]

  /** One row of ten matches. Ids from a million on take a while. */
  private val isSlow: Long => Boolean = id => {
    val context = TaskContext.get()
    val isNew = synchronized {
      val first = !task.contains(context.taskAttemptId())
      task += context.taskAttemptId() -> true
      first
    }
    if (isNew) {
      val now = running.incrementAndGet()
      val _ = most.updateAndGet(before => math.max(before, now))
      context.addTaskCompletionListener[Unit] { _ =>
        val _ = running.decrementAndGet()
      }
    }
    if (id >= 1000000) {
      begun.countDown()
      Thread.sleep(50)
    }
    id % 10 == 0
  }

  private val isBroken: Long => Boolean = id => if (id == 777) throw new IllegalArgumentException("broken row") else true
}
