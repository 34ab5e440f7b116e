package io.aqeplugin.plugin

import java.util.{Map => JavaMap}

import org.apache.spark.api.plugin.{ExecutorPlugin, PluginContext}

import io.aqeplugin.exec.ExecutorMetrics
import io.aqeplugin.metrics.{Faults, Survivable}

/** Adds the plugin's task counters to the executor's metrics. Tasks run the driver's plans with or without this plugin. */
final class AqeExecutorPlugin extends ExecutorPlugin {

  /** In local mode the driver registers them ([[AqeDriverPlugin]]): Spark makes its executor before the application has an id, and would warn
    * of metrics without one.
    */
  override def init(context: PluginContext, extraConf: JavaMap[String, String]): Unit =
    try if (context.executorID() != AqeExecutorPlugin.Local) ExecutorMetrics.register(context.metricRegistry)
    catch { case Survivable(error) => Faults.note("registration of executor metrics", "they are missing", error) }
}

private object AqeExecutorPlugin {

  /** The id of the only executor of local mode. */
  val Local = "driver"
}
