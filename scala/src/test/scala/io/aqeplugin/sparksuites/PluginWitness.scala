package io.aqeplugin.sparksuites

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

import io.aqeplugin.rules.WaitAndPlaceFilters

/** Counts the queries of an application, and those whose session has the plugin's rules. A suite that creates its sessions differently
  * would otherwise prove nothing. Installed by `spark.extraListeners`.
  */
final class PluginWitness extends SparkListener {

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd =>
      SparkBridge.queryOf(end).foreach { query =>
        PluginWitness.seen.incrementAndGet()
        val rules = query.sparkSession.sessionState.adaptiveRulesHolder.queryStagePrepRules
        if (rules.exists(_.isInstanceOf[WaitAndPlaceFilters])) PluginWitness.seenWithRules.incrementAndGet()
      }
    case _ =>
  }
}

object PluginWitness {
  private val seen = new AtomicLong()
  private val seenWithRules = new AtomicLong()

  /** Queries that ended in this JVM. */
  def queries: Long = seen.get()

  /** Queries among them whose session has the plugin's rules. */
  def queriesWithRules: Long = seenWithRules.get()
}
