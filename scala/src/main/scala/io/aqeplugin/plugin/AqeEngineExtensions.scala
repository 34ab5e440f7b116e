package io.aqeplugin.plugin

import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

import io.aqeplugin.rules.{WaitBehindEngine, WithoutWaiting}

/** What the plugin adds to a session whose plans an engine takes over, after the engine's own rules. */
final class AqeEngineExtensions extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectQueryStagePrepRule(WaitBehindEngine(_))
    extensions.injectQueryStageOptimizerRule(_ => WithoutWaiting)
  }
}
