package io.aqeplugin

import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, SparkPlugin}

import io.aqeplugin.plugin.{AqeDriverPlugin, AqeExecutorPlugin}

/** The plugin as `spark.plugins` names it. Nothing else has to be configured. */
final class AqePlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new AqeDriverPlugin
  override def executorPlugin(): ExecutorPlugin = new AqeExecutorPlugin
}
