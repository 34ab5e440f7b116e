package io.aqeplugin.e2e

import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration.DurationInt
import scala.util.{Failure, Random, Success, Try}

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.util.QueryExecutionListener
import org.scalatest.Suite

import io.aqeplugin.tell.QueryEnded

/** Commands that change tables, without and with the plugin. */
trait ChangedTables extends TableFormats { this: Suite =>

  // Small files count as large ones.
  override protected def applicationConf: Map[String, String] = super.applicationConf ++ Map("spark.sql.files.openCostInBytes" -> "64m")

  /** Ten files in the order of `k`, a hundred rows each. */
  protected val Rows: String =
    "SELECT CAST(id AS int) AS k, CAST(id % 7 AS int) AS g, id * 2 AS v, printf('w%04d', id) AS word FROM range(0, 1000, 1, 10)"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // Of two files, and two keys without a partner.
    table("news", "SELECT CAST(IF(id < 5, 110 + id, 899 + id) AS int) AS k, id AS n, printf('w%04d', 110 + id) AS word FROM range(1, 11)")
    table("far", "SELECT CAST(5000 + id AS int) AS k, id AS n, 'x' AS word FROM range(3)")
    table("twice", "SELECT k, n, word FROM news UNION ALL SELECT k, n, word FROM news WHERE k = 112")
  }

  protected val On = "MERGE INTO T t USING news s ON t.k = s.k"
  protected val Update = "WHEN MATCHED AND s.n % 2 = 0 THEN UPDATE SET v = s.n, g = NULL"
  protected val Delete = "WHEN MATCHED AND t.g < 4 THEN DELETE"
  protected val Insert = "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.n)"
  protected val BySource = "WHEN NOT MATCHED BY SOURCE AND t.k < 20 THEN DELETE"

  protected val Shuffled: Seq[(String, String)] = Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1")
  protected val Broadcast: Seq[(String, String)] = Seq("spark.sql.autoBroadcastJoinThreshold" -> "10m")

  protected def readsFew(reads: (Read, Read)): Unit = {
    val (all, some) = reads
    val _ = assert(all.records - some.records > 700, s"$some of $all")
  }

  /** A table and a MERGE into it. */
  protected final class RandomMerge(seed: Int) {
    private val random = new Random(seed)
    def one[A](from: A*): A = from(random.nextInt(from.size))

    private val range = 20 + random.nextInt(200)
    val rows: String = "SELECT CAST(nullif(id % " + range + ", 3) AS int) AS k, CAST(id % 5 AS int) AS g, id AS v, " +
      s"CAST(id % $range AS string) AS word FROM range(0, ${one(0, 1, 50, 300)}, 1, ${1 + random.nextInt(6)})"

    val command: String = {
      val own = s"CAST(nullif(id * ${1 + random.nextInt(9)} + ${random.nextInt(300)}, 5) AS int) AS k, id AS n, CAST(id AS string) AS word"
      val more = s"SELECT k, n, word FROM ${one("news", "twice")} WHERE n > ${random.nextInt(12)}"
      val matched =
        random.shuffle(Seq(Update, Delete, "WHEN MATCHED AND t.v > 40 THEN UPDATE SET word = s.word")).take(1 + random.nextInt(2))
      val clauses = matched ++ Option.when(random.nextBoolean())(Insert) ++ Option.when(random.nextInt(4) == 0)(BySource)
      val condition =
        one("t.k = s.k", "t.word = s.word", "t.k = s.k AND t.g > 1", "t.k <=> s.k", "t.k + 1 = s.k", "t.k = s.k AND s.n < t.v")
      s"MERGE INTO T t USING (SELECT $own FROM range(${one(0, 1, 20)}) UNION ALL $more) s ON $condition ${clauses.mkString(" ")}"
    }
  }

  /** The same result without and with the plugin, each on a table of its own; what was read without and with it.
    *
    * @param change
    *   makes a table, and runs the command
    * @param look
    *   all that can be seen of the table
    */
  protected def same(change: String => Unit, look: String => Seq[String], conf: (String, String)*)(tables: (String, String)): (Read, Read) =
    withConf(conf: _*) {
      val off = changed("spark.aqePlugin.mode" -> "off")(tables._1, change, look)
      drain()
      val mark = events.mark()
      val on = changed("spark.aqePlugin.test.openGates" -> "true")(tables._2, change, look)
      drain()
      val ended = events.since(mark).collect { case ended: QueryEnded => ended }
      assert(ended.forall(query => query.errors == 0 && query.planned == query.applied), ended)
      assert(on.result == off.result)
      (off.read, on.read)
    }

  private def changed(conf: (String, String)*)(name: String, change: String => Unit, look: String => Seq[String]): Changed = {
    val (tried, read) = reading(Try(withConf(conf: _*)(change(name))))
    val result = tried match {
      case Success(_)     => Right(withConf("spark.aqePlugin.mode" -> "off")(look(name)))
      case Failure(error) => Left(Iterator.iterate(error)(_.getCause).takeWhile(Option(_).isDefined).map(nameOf).toSeq.last)
    }
    Changed(result, read)
  }

  private def nameOf(error: Throwable): String = error match {
    case known: SparkThrowable => known.getCondition
    case other                 => other.getClass.getName
  }

  /** The plans that ran for a body; a command may run several. */
  protected def plansOf(body: => Any): Seq[SparkPlan] = {
    val plans = Seq.newBuilder[SparkPlan]
    val listener = new QueryExecutionListener {
      override def onSuccess(function: String, query: QueryExecution, nanos: Long): Unit = { val _ = plans += query.executedPlan }
      override def onFailure(function: String, query: QueryExecution, error: Exception): Unit = ()
    }
    spark.listenerManager.register(listener)
    try { val _ = body; drain() }
    finally spark.listenerManager.unregister(listener)
    plans.result()
  }
}

/** What a command has made of a table, or the name of its error, and what the tasks have read meanwhile. */
final case class Changed(result: Either[String, Seq[String]], read: Read)

/** Where the tasks of one command wait until another command has run. */
object Meeting {
  @volatile private var arrived = new CountDownLatch(0)
  @volatile private var done = new CountDownLatch(0)

  /** Runs `command`, in whose source `meet` is a function, and `other` when a task has called that. */
  def during(other: => Any)(command: => Any): Unit = {
    arrived = new CountDownLatch(1)
    done = new CountDownLatch(1)
    val meanwhile = Future {
      assert(arrived.await(60, TimeUnit.SECONDS))
      try { val _ = other }
      finally done.countDown()
    }(ExecutionContext.global)
    try { val _ = command }
    finally {
      arrived.countDown()
      Await.result(meanwhile, 60.seconds)
    }
  }

  def pass(value: Long): Long = {
    arrived.countDown()
    val _ = done.await(60, TimeUnit.SECONDS)
    value
  }
}
