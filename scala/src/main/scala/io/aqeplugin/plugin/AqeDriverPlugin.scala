package io.aqeplugin.plugin

import java.util.{Collections, Map => JavaMap}

import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, PluginContext}
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.slf4j.LoggerFactory

import io.aqeplugin.conf.{AqeConf, Canary}
import io.aqeplugin.CompiledLine
import io.aqeplugin.exec.ExecutorMetrics
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.observe.{Engines, QueryStates}
import io.aqeplugin.tell.{DecisionMetrics, EndsSeen, ExplainSection, LatestRows, QueryEndListener, RecentDecisions}
import io.aqeplugin.tell.ui.{RuntimeFiltersTab, TabGuard}

/** Adds the rules to every session of the application. A failure here leaves Spark unchanged. */
final class AqeDriverPlugin extends DriverPlugin {
  import AqeDriverPlugin.{guarded, DrainMillis}

  private val log = LoggerFactory.getLogger("io.aqeplugin")
  private var context: Option[SparkContext] = None // set once, in init, by the thread that starts the context

  override def init(sparkContext: SparkContext, pluginContext: PluginContext): JavaMap[String, String] = {
    guarded("installation", "the plugin is inactive")(install(sparkContext))
    Collections.emptyMap()
  }

  private def install(sparkContext: SparkContext): Unit = {
    val listener = new QueryEndListener(sparkContext) // first: if it cannot be linked, nothing in Spark has changed yet
    val conf = sparkContext.getConf
    val extensions = ConfList.appended(conf.getOption(ConfNames.Extensions), classOf[AqeExtensions].getName)
    SparkBridge.setConf(sparkContext, ConfNames.Extensions, extensions)
    if (isOnClassPath(classOf[ExplainSection])) {
      val sections = ConfList.appended(conf.getOption(ConfNames.ExplainSections), classOf[ExplainSection].getName)
      SparkBridge.setConf(sparkContext, ConfNames.ExplainSections, sections)
    }
    RecentDecisions.begin(conf.getOption(_))
    LatestRows.begin(conf.getOption(_))
    SparkBridge.addListenerOfItsOwn(sparkContext, listener, ConfNames.Queue)
    TabGuard.orElse(())(RuntimeFiltersTab.attachLive(sparkContext))
    context = Some(sparkContext)
    val mode = AqeConf.ModeKey
    log.info(s"aqe-plugin for Spark ${CompiledLine.SPARK} is loaded; ${mode.key} = ${conf.get(mode.key, mode.defaultText)}")
  }

  /** Whether every thread of the driver finds the class. Spark loads the sections of EXPLAIN on the thread that runs the query, by its context
    * class loader, and the query fails if that does not know one. A jar from `spark.jars` is known only to threads that descend from the main one.
    */
  private def isOnClassPath(section: Class[_]): Boolean =
    try Option(ClassLoader.getSystemClassLoader.loadClass(section.getName)).contains(section)
    catch {
      case _: ClassNotFoundException => false
    }

  override def registerMetrics(appId: String, pluginContext: PluginContext): Unit = {
    guarded(
      "registration of metrics",
      "Spark's metrics system has none of the plugin's metrics"
    ) {
      DecisionMetrics.register(pluginContext.metricRegistry)
      if (context.exists(_.isLocal)) ExecutorMetrics.register(pluginContext.metricRegistry)
    }
    guarded("order of rules", "the plugin's rules run before those of plugins that are named after it")(context.foreach(putInOrder))
    guarded("canary", "the application tries no values")(context.foreach(draw(_, appId)))
  }

  /** Puts the plugin's rules behind those of plugins that were started after it, so that they see what these make of a plan, and make the same of it
    * in whichever order `spark.plugins` has them; but before those of an engine, which then carries out what the plugin has placed.
    */
  private def putInOrder(sparkContext: SparkContext): Unit =
    sparkContext.getConf.getOption(ConfNames.Extensions).filter(ConfList.entries(_).contains(classOf[AqeExtensions].getName)).foreach {
      list =>
        val engines = Engines.All.map(_.extension)
        val first = ConfList.appended(Some(list), classOf[AqeExtensions].getName, engines)
        val isBeforeOne = ConfList.entries(list).exists(engines.contains)
        SparkBridge.setConf(
          sparkContext,
          ConfNames.Extensions,
          if (isBeforeOne) ConfList.appended(Some(first), classOf[AqeEngineExtensions].getName) else first
        )
    }

  /** Gives the application its canary values. This happens here because the application's id is not known earlier, and sessions begin
    * later.
    */
  private def draw(sparkContext: SparkContext, appId: String): Unit = {
    val conf = sparkContext.getConf
    Canary.read(conf.getAll.toMap.filter { case (key, _) => key.startsWith(Canary.Prefix) }) match {
      case Left(problem)       => Faults.noCanary(problem)
      case Right(None)         =>
      case Right(Some(canary)) =>
        val assigned = if (canary.draws(appId)) canary.assigned(conf.getOption(_)) else Nil
        assigned.foreach { case (key, value) => SparkBridge.setConf(sparkContext, key, value) }
        log.info(
          s"aqe-plugin: $appId is ${if (canary.draws(appId)) "in" else "not in"} the canary; it is given ${assigned.map(_._1)}"
        )
    }
  }

  /** The listener bus runs until after this call: the remaining outcomes of queries must be posted before. */
  override def shutdown(): Unit = context.foreach { sparkContext =>
    try {
      // What it posts goes to queues that are drained after it.
      if (QueryStates.size > 0) { val _ = EndsSeen.await(sparkContext, DrainMillis) }
      SparkBridge.drainEvents(sparkContext, DrainMillis)
    } catch { case NonFatal(error) => log.warn("aqe-plugin: the last outcomes may be missing from the event log", error) }
  }
}

object AqeDriverPlugin {
  private val DrainMillis = 5000L

  /** Runs one step of the application's start. A fault in it does not end the application. */
  private[plugin] def guarded(where: String, consequence: String)(body: => Unit): Unit =
    try body
    catch {
      case Survivable(error) => Faults.note(where, consequence, error)
    }
}

private[plugin] object ConfNames {

  /** Of Spark's listener bus: its metrics and its key for the capacity have this name. */
  val Queue = "aqePlugin"
  val Extensions = "spark.sql.extensions"
  val ExplainSections = "spark.sql.extendedExplainProviders"
}

/** Comma-separated class lists of Spark's conf. */
private[plugin] object ConfList {

  /** The list with `name` at its end, but before the first of `later`, once; all other entries keep their order. */
  def appended(list: Option[String], name: String, later: Seq[String] = Nil): String = {
    val (before, after) = list.toSeq.flatMap(entries).filterNot(_ == name).span(!later.contains(_))
    ((before :+ name) ++ after).mkString(",")
  }

  def entries(list: String): Seq[String] = list.split(',').toSeq.map(_.trim).filter(_.nonEmpty)
}
