package io.aqeplugin.plugin

import java.util.{Map => JavaMap}

import org.apache.spark.api.plugin.{ExecutorPlugin, PluginContext}

import io.aqeplugin.exec.ExecutorMetrics
import io.aqeplugin.metrics.{Faults, Survivable}

/** Adds the plugin's task counters to the executor's metrics. Tasks run the driver's plans with or without this plugin. */
final class AqeExecutorPlugin extends ExecutorPlugin {
  override def init(context: PluginContext, extraConf: JavaMap[String, String]): Unit =
    try ExecutorMetrics.register(context.metricRegistry)
    catch { case Survivable(error) => Faults.note("registration of executor metrics", "they are missing", error) }
}
