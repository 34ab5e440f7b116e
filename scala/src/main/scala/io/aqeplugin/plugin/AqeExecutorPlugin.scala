package io.aqeplugin.plugin

import java.util.{Map => JavaMap}

import org.apache.spark.api.plugin.{ExecutorPlugin, PluginContext}

import io.aqeplugin.exec.ExecutorMetrics
import io.aqeplugin.metrics.{Faults, Survivable}

/** Offers what tasks count to the executor's metrics. Tasks run what the driver planned, with or without it. */
final class AqeExecutorPlugin extends ExecutorPlugin {
  override def init(context: PluginContext, extraConf: JavaMap[String, String]): Unit =
    try ExecutorMetrics.register(context.metricRegistry)
    catch { case Survivable(error) => Faults.note("metrics of the executor", "they are not there", error) }
}
