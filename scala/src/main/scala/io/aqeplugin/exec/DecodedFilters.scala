package io.aqeplugin.exec

import java.lang.ref.SoftReference
import java.util.WeakHashMap
import java.util.concurrent.atomic.AtomicReference

import io.aqeplugin.filters.{FilterFormat, KeyFilter}
import io.aqeplugin.metrics.Faults

/** The filters that this JVM's tasks check rows with. What is broadcast is bytes; each array is decoded once, by the task that comes first, however
  * many tasks and scans use it.
  */
object DecodedFilters {

  // Arrays are equal when they are the same one, and all tasks of an executor are handed the same one. A key that were the broadcast's number
  // would mean another filter in the next application of the same JVM.
  private val filters = new WeakHashMap[Array[Byte], Decoded]()

  /** The filter that `bytes` are the stored form of; absent, and counted as a fault, when they are none. */
  def of(bytes: Array[Byte]): Option[KeyFilter] = entry(bytes).filter(bytes)

  private def entry(bytes: Array[Byte]): Decoded = filters.synchronized(filters.computeIfAbsent(bytes, _ => new Decoded))

  /** One filter; it must not refer to its bytes, which would then never go. */
  private final class Decoded {
    // Softly: the map forgets an array that is gone only when it is asked for another one.
    private val known = new AtomicReference(Option.empty[SoftReference[KeyFilter]])

    /** Others that want the same filter wait meanwhile; those that want another one do not. */
    def filter(bytes: Array[Byte]): Option[KeyFilter] = synchronized {
      known.get.flatMap(filter => Option(filter.get)).orElse {
        FilterFormat.read(bytes) match {
          case Right(filter) =>
            known.set(Some(new SoftReference(filter)))
            ExecutorMetrics.decoded.add(1L)
            ExecutorMetrics.decodedBytes.add(filter.sizeBytes)
            Some(filter)
          case Left(error) =>
            ExecutorMetrics.decodeFailures.add(1L)
            Faults.note("filter read", "a task goes on without the filter", new IllegalArgumentException(error.text))
            None
        }
      }
    }
  }
}
