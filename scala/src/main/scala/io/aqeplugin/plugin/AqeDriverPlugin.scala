package io.aqeplugin.plugin

import java.util.{Collections, Map => JavaMap}

import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, PluginContext}
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.slf4j.LoggerFactory

import io.aqeplugin.rules.PlanCost
import io.aqeplugin.tell.{DecisionMetrics, Faults, QueryEndListener, RecentDecisions}

/** Hooks the rules into every session of the application. A failure here leaves Spark as it was. */
final class AqeDriverPlugin extends DriverPlugin {
  private val log = LoggerFactory.getLogger("io.aqeplugin")
  private var context: Option[SparkContext] = None // set once, in init, by the thread that starts the context

  override def init(sparkContext: SparkContext, pluginContext: PluginContext): JavaMap[String, String] = {
    try
      SparkLine.mismatch(sparkContext.version) match {
        case Some(warning) => log.warn(warning)
        case None          => install(sparkContext)
      }
    catch {
      case NonFatal(error) => Faults.note("installation", "the plugin stands down", error)
    }
    Collections.emptyMap()
  }

  private def install(sparkContext: SparkContext): Unit = {
    val conf = sparkContext.getConf
    val extensions = ConfList.appended(conf.getOption(ConfNames.Extensions), classOf[AqeExtensions].getName)
    SparkBridge.setConf(sparkContext, ConfNames.Extensions, extensions)
    conf.getOption(ConfNames.CostEvaluator).filter(_ != classOf[PlanCost].getName).foreach { own =>
      SparkBridge.setConf(sparkContext, PlanCost.WrappedKey, own)
    }
    SparkBridge.setConf(sparkContext, ConfNames.CostEvaluator, classOf[PlanCost].getName)
    RecentDecisions.begin(conf.getOption(_))
    sparkContext.addSparkListener(new QueryEndListener(sparkContext))
    context = Some(sparkContext)
    log.info(s"aqe-plugin for Spark ${CompiledLine.Value} is installed")
  }

  override def registerMetrics(appId: String, pluginContext: PluginContext): Unit = DecisionMetrics.register(pluginContext.metricRegistry)

  /** The listener bus still runs now and does not after this: what queries have left to tell must be on it. */
  override def shutdown(): Unit = context.foreach { sparkContext =>
    try SparkBridge.drainEvents(sparkContext, AqeDriverPlugin.DrainMillis)
    catch { case NonFatal(error) => log.warn("aqe-plugin: the last outcomes may be missing from the event log", error) }
  }
}

object AqeDriverPlugin {
  private val DrainMillis = 5000L
}

private[plugin] object ConfNames {
  val Extensions = "spark.sql.extensions"
  val CostEvaluator = "spark.sql.adaptive.customCostEvaluatorClass"
}

/** Comma-separated class lists of Spark's conf. */
private[plugin] object ConfList {

  /** The list with `name` at its end, once; the user's own entries keep their order. */
  def appended(list: Option[String], name: String): String = {
    val entries = list.toSeq.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty)
    (if (entries.contains(name)) entries else entries :+ name).mkString(",")
  }
}
