package org.apache.spark.sql.aqeplugin

import java.io.{InputStream, OutputStream}
import java.util.concurrent.CancellationException

import scala.jdk.CollectionConverters._
import scala.reflect.ClassTag

import org.apache.spark.{SparkConf, SparkContext, SparkEnv, SparkThrowable}
import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.internal.config._
import org.apache.spark.io.CompressionCodec
import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.scheduler.{Pool, Schedulable, SparkListener, SparkListenerEvent, TaskSchedulerImpl, TaskSetManager}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.exchange.{ShuffleExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.types.StringType
import org.apache.spark.util.{CallSite, Utils}
import org.apache.spark.util.io.ChunkedByteBuffer

/** Opens the few members of Spark that are private to its packages. Has no logic. */
object SparkBridge {

  /** A broadcast of which the driver keeps no second copy as an object. */
  def broadcast[T: ClassTag](sparkContext: SparkContext, value: T): Broadcast[T] =
    sparkContext.broadcastInternal(value, serializedOnly = true)

  /** The page of the hash tables that the driver makes. */
  def pageBytes(sparkContext: SparkContext): Long = sparkContext.env.memoryManager.pageSizeBytes

  /** Whether a job ended because it was cancelled. */
  def isCancellation(error: Throwable): Boolean = error match {
    case _: InterruptedException  => true
    case _: CancellationException => true
    case spark: SparkThrowable    => spark.getCondition == "SPARK_JOB_CANCELLED"
    case other                    => Option(other.getCause).exists(isCancellation)
  }

  def cancelJobsWithTag(sparkContext: SparkContext, tag: String): Unit = sparkContext.cancelJobsWithTag(tag)

  /** Whether an RDD gives the same rows in the same order every time it is computed. */
  def isDeterminate(rdd: RDD[_]): Boolean = rdd.outputDeterministicLevel == DeterministicLevel.DETERMINATE

  /** Whether a map task of the shuffle that runs again may give other rows. An engine's own exchange is asked by what it gives its readers.
    */
  def isIndeterminate(shuffle: ShuffleExchangeLike): Boolean =
    (shuffle match {
      case exchange: ShuffleExchangeExec => exchange.shuffleDependency.rdd
      case other                         => other.getShuffleRDD(Array.empty)
    }).outputDeterministicLevel == DeterministicLevel.INDETERMINATE

  /** The rules that AQE applies to each new plan of a session, in their order, without Spark's own. */
  def queryStagePrepRules(session: SparkSession): Seq[Rule[SparkPlan]] = session match {
    case classic: ClassicSession => classic.sessionState.adaptiveRulesHolder.queryStagePrepRules
    case _                       => Nil
  }

  /** What `read` makes of the plan that a query has run. Operators that it makes are of the query's session. */
  def ofItsSession[A](query: QueryExecution)(read: SparkPlan => A): A = query.sparkSession.withActive(read(query.executedPlan))

  /** The source's table, if a command that changes rows reads it; none for a query's. */
  def changedTable(table: Table): Option[Table] = table match {
    case changed: RowLevelOperationTable => Some(changed.table)
    case _                               => None
  }

  /** The chunks that an engine has broadcast; none of another value. */
  def buffers(broadcast: Any): Option[Seq[AnyRef]] = broadcast match {
    case chunks: Array[ChunkedByteBuffer] => Some(chunks.toSeq)
    case _                                => None
  }

  /** The tasks that the registered executors can run at once. */
  def taskSlots(sparkContext: SparkContext): Int =
    sparkContext.maxNumConcurrentTasks(sparkContext.resourceProfileManager.defaultResourceProfile)

  /** The tasks that run on all executors at this moment; none where the cluster's scheduler is not Spark's own. The status that the UI
    * shows is late: it skips most task starts of a burst.
    */
  def runningTasks(sparkContext: SparkContext): Option[Int] = sparkContext.taskScheduler match {
    case scheduler: TaskSchedulerImpl => Some(scheduler.runningTasksByExecutors.values.sum)
    case _                            => None
  }

  /** The tasks that have started, of the stages that the jobs of a tag have submitted and not finished; none if there is no such stage, or
    * where the cluster's scheduler is not Spark's own.
    */
  def startedTasks(sparkContext: SparkContext, tag: String): Option[Int] = sparkContext.taskScheduler match {
    case scheduler: TaskSchedulerImpl =>
      scheduler.synchronized {
        val ofTag = taskSets(scheduler.rootPool).filter(hasTag(_, tag))
        Option.when(ofTag.nonEmpty)(ofTag.map(_.taskAttempts.count(_.nonEmpty)).sum)
      }
    case _ => None
  }

  /** Whether a task of a tag's jobs has ended, as those of a first stage before the next one is in the queue. */
  def hasEndedTasks(sparkContext: SparkContext, tag: String): Boolean = {
    val tracker = sparkContext.statusTracker
    val stages = tracker.getJobIdsForTag(tag).flatMap(tracker.getJobInfo(_)).flatMap(_.stageIds)
    stages.exists(stage => tracker.getStageInfo(stage).exists(_.numCompletedTasks > 0))
  }

  private def taskSets(schedulable: Schedulable): Seq[TaskSetManager] = schedulable match {
    case pool: Pool            => pool.schedulableQueue.asScala.toSeq.flatMap(taskSets)
    case stage: TaskSetManager => Seq(stage)
    case _                     => Nil
  }

  private def hasTag(stage: TaskSetManager, tag: String): Boolean =
    Option(stage.taskSet.properties).flatMap(properties => Option(properties.getProperty(SparkContext.SPARK_JOB_TAGS)))
      .exists(_.split(SparkContext.SPARK_JOB_TAGS_SEP).contains(tag))

  /** What a session sets of the keys with a prefix, in capital or small letters. It leaves all other keys alone, which are many. */
  def valuesUnder(conf: SQLConf, prefix: String): Map[String, String] = {
    val found = Map.newBuilder[String, String]
    conf.settings.synchronized(conf.settings.forEach { (key, value) =>
      if (key.regionMatches(true, 0, prefix, 0, prefix.length)) found += key -> value
    })
    found.result()
  }

  /** Changes the conf of a running context. Sessions that start later see the change; values that were read before do not change. */
  def setConf(sparkContext: SparkContext, key: String, value: String): Unit = {
    val _ = sparkContext.conf.set(key, value)
  }

  /** Spark's own compression, for the results of tasks. */
  def compressed(out: OutputStream): OutputStream = CompressionCodec.createCodec(SparkEnv.get.conf).compressedOutputStream(out)

  def decompressed(in: InputStream): InputStream = CompressionCodec.createCodec(SparkEnv.get.conf).compressedInputStream(in)

  def post(sparkContext: SparkContext, event: SparkListenerEvent): Unit = sparkContext.listenerBus.post(event)

  /** Adds a listener with a queue and a thread of its own, for which no other listener waits. Spark drops events when it is full, and counts them. */
  def addListenerOfItsOwn(sparkContext: SparkContext, listener: SparkListener, queue: String): Unit =
    sparkContext.listenerBus.addToQueue(listener, queue)

  /** Adds a listener to the queue that fills the UI. */
  def addStatusListener(sparkContext: SparkContext, listener: SparkListener): Unit = sparkContext.listenerBus.addToStatusQueue(listener)

  def executorHeapBytes(conf: SparkConf): Long = conf.get(EXECUTOR_MEMORY) << 20

  /** How an executor divides its memory.
    *
    * @param heapShare
    *   share of the heap, less the reserved bytes, for execution and storage
    * @param storageShare
    *   share of these that cached data may hold against execution
    * @param offHeapBytes
    *   the off-heap memory for both, if it is used
    */
  final case class TaskMemory(heapShare: Double, storageShare: Double, offHeapBytes: Option[Long])

  def taskMemory(conf: SparkConf): TaskMemory =
    TaskMemory(
      conf.get(MEMORY_FRACTION),
      conf.get(MEMORY_STORAGE_FRACTION),
      if (conf.get(MEMORY_OFFHEAP_ENABLED)) Some(conf.get(MEMORY_OFFHEAP_SIZE)) else None
    )

  /** Heap that Spark's memory manager leaves alone. */
  val ReservedHeapBytes: Long = 300L << 20

  /** Number of executions that the SQL tab keeps. */
  def retainedExecutions(conf: SparkConf): Int = ThisSparkLine.retainedExecutions(conf)

  /** Whether equal strings of this type have equal bytes. */
  def isComparedByBytes(string: StringType): Boolean = string.supportsBinaryEquality

  /** Waits until all listeners have seen all events posted so far. */
  def drainEvents(sparkContext: SparkContext, timeoutMillis: Long): Unit = sparkContext.listenerBus.waitUntilEmpty(timeoutMillis)

  /** The query that ended; none when the event was read from a log. */
  def queryOf(end: SparkListenerSQLExecutionEnd): Option[QueryExecution] = Option(end.qe)

  /** The text of the query that the calling thread plans, as in Spark's own events: redacted and truncated, or the call site. */
  def description(sparkContext: SparkContext, conf: SQLConf): String = {
    val maxLength = sparkContext.conf.get(StaticSQLConf.SQL_EVENT_TRUNCATE_LENGTH)
    Option(sparkContext.getLocalProperty(SparkContext.SPARK_JOB_DESCRIPTION))
      .filter(_ => maxLength > 0)
      .map(text => Utils.redact(conf.stringRedactionPattern, text).take(maxLength))
      .orElse(Option(sparkContext.getLocalProperty(CallSite.SHORT_FORM)))
      .getOrElse(Utils.getCallSite(isBelowUser).shortForm)
  }

  /** Spark and what it calls: the first class of another name called Spark. */
  private def isBelowUser(className: String): Boolean = BelowUser.exists(className.startsWith)
  private val BelowUser = Seq("org.apache.spark.", "scala.", "io.aqeplugin.")

  /** `text` as Spark's events would show it: redacted by the session's pattern for strings. */
  def redacted(conf: SQLConf, text: String): String = Utils.redact(conf.stringRedactionPattern, text)

  def jobGroup(sparkContext: SparkContext): Option[String] = Option(sparkContext.getLocalProperty(SparkContext.SPARK_JOB_GROUP_ID))

  def sessionId(session: SparkSession): Option[String] = session match {
    case classic: ClassicSession => Some(classic.sessionUUID)
    case _                       => None
  }

  def durationMillis(end: SparkListenerSQLExecutionEnd): Long = end.duration / 1000000L
}
