package io.aqeplugin.tell

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import org.slf4j.LoggerFactory

/** Faults of our own code. None of them reaches a query; each is counted, and each kind is warned of once. */
object Faults {
  private val log = LoggerFactory.getLogger("io.aqeplugin")
  private val total = new AtomicLong()
  private val warned = ConcurrentHashMap.newKeySet[String]()

  /** @param where
    *   the part of the plugin that failed
    * @param consequence
    *   what happens instead
    */
  def note(where: String, consequence: String, error: Throwable): Unit = {
    total.incrementAndGet()
    DecisionMetrics.errors.inc()
    val kind = s"$where: ${error.getClass.getName}"
    if (warned.add(kind)) log.warn(s"aqe-plugin: $where failed, $consequence. Further faults of this kind are only counted.", error)
    else log.debug(s"aqe-plugin: $where failed, $consequence", error)
  }

  /** Faults since the driver started. */
  def count: Long = total.get()
}
