package io.aqeplugin.metrics

import java.util.concurrent.ConcurrentHashMap

import org.slf4j.LoggerFactory

import io.aqeplugin.conf.ConfError

/** Faults of our own code. None of them reaches a query; each is counted, and each kind is warned of once. */
object Faults {
  private val log = LoggerFactory.getLogger("io.aqeplugin")
  private val warned = ConcurrentHashMap.newKeySet[String]()

  /** For Spark's metrics system of the driver. */
  val counter =
    new CounterMetric("errors", "errors", "faults of the plugin on the driver, after each of which Spark's own plan ran")

  /** @param where
    *   the part of the plugin that failed
    * @param consequence
    *   what happens instead
    */
  def note(where: String, consequence: String, error: Throwable): Unit = {
    counter.add(1L)
    val kind = s"$where: ${error.getClass.getName}"
    if (warned.add(kind)) log.warn(s"aqe-plugin: $where failed, $consequence. Further faults of this kind are only counted.", error)
    else log.debug(s"aqe-plugin: $where failed, $consequence", error)
  }

  /** A value that is not allowed, for which the plugin leaves the plans of a query alone. Each value of each key is warned of once. */
  def badConf(error: ConfError): Unit = {
    counter.add(1L)
    if (warned.add(error.message)) log.warn(s"aqe-plugin: ${error.message} Until then queries run as if the plugin were off.")
  }

  /** A key of ours that there is not, most likely misspelt. Warned of once, and no fault: nothing goes wrong without it. */
  def unknownKey(key: String): Unit =
    if (warned.add(key)) log.warn(s"aqe-plugin: $key is no key of the plugin and is ignored. docs/configuration.md lists those there are.")

  /** A canary that the application's conf describes in a way that cannot be used. No fault: nothing is tried, and queries run as without it. */
  def noCanary(problem: String): Unit =
    if (warned.add(problem)) log.warn(s"aqe-plugin: $problem Until then the application tries nothing.")

  /** Faults since the driver started. */
  def count: Long = counter.count
}
