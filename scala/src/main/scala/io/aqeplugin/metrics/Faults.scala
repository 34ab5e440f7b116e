package io.aqeplugin.metrics

import java.util.concurrent.ConcurrentHashMap

import org.slf4j.LoggerFactory

import io.aqeplugin.conf.ConfError

/** Counts and logs faults of the plugin, each kind once. None of them reaches a query. */
object Faults {
  private val log = LoggerFactory.getLogger("io.aqeplugin")
  private val warned = ConcurrentHashMap.newKeySet[String]()

  /** For the driver's metrics in Spark's metrics system. */
  val counter =
    new CounterMetric("errors", "errors", "faults of the plugin on the driver, after which Spark went on without what had failed")

  // Users choose the values and the names of keys that are warned of.
  private val MostWarned = 1000
  private def isNew(kind: String): Boolean = warned.size < MostWarned && warned.add(kind)

  /** @param where
    *   the part of the plugin that failed
    * @param consequence
    *   what happens instead
    */
  def note(where: String, consequence: String, error: Throwable): Unit = {
    counter.add(1L)
    val kind = s"$where: ${error.getClass.getName}"
    if (isNew(kind)) log.warn(s"aqe-plugin: $where failed, $consequence. Further faults of this kind are only counted.", error)
    else log.debug(s"aqe-plugin: $where failed, $consequence", error)
  }

  /** Logs a value that is not allowed, for which the plugin leaves a query's plans alone; each value of each key is logged once. */
  def badConf(error: ConfError): Unit = {
    counter.add(1L)
    if (isNew(error.message)) log.warn(s"aqe-plugin: ${error.message} Until it is corrected, queries run as if the plugin were off.")
  }

  /** Logs a forced option that is not allowed, most likely a typing error, once for each value. It does not count as a fault. */
  def badForce(error: ConfError): Unit = if (isNew(error.message)) log.warn(
    s"aqe-plugin: ${error.message} Until it is corrected, no join is forced and all are decided as if the key were not set."
  )

  /** Logs an unknown key of the plugin, most likely a typing error, once. It does not count as a fault. */
  def unknownKey(key: String): Unit =
    if (isNew(key)) log.warn(
      s"aqe-plugin: $key is not a key of the plugin and is ignored. AqePlugin(spark).check(), and `aqe-plugin check` for a conf file, name the " +
        "nearest key; docs/reference/configuration.md lists all."
    )

  /** Logs an invalid canary of the application's conf. It does not count as a fault: nothing is tried. */
  def noCanary(problem: String): Unit =
    if (isNew(problem)) log.warn(s"aqe-plugin: $problem Until then the application tries nothing.")

  /** Number of faults since this JVM started. */
  def count: Long = counter.count
}
