package io.aqeplugin.exec

import java.lang.ref.SoftReference
import java.util.WeakHashMap
import java.util.concurrent.atomic.AtomicReference

import io.aqeplugin.filters.{FilterFormat, KeyFilter}
import io.aqeplugin.metrics.Faults

/** The filters with which this JVM's tasks check rows. Filters are broadcast as bytes; each array is decoded once, by the first task that
  * needs it.
  */
object DecodedFilters {

  // Array keys are equal only if identical, and all tasks of an executor get the same array. The broadcast's id cannot be the key: the next
  // application in the same JVM would use it for another filter.
  private val filters = new WeakHashMap[Array[Byte], Decoded]()

  /** The filter stored in `bytes`; none, with a fault, if the bytes are not a filter. */
  def of(bytes: Array[Byte]): Option[KeyFilter] = entry(bytes).filter(bytes)

  private def entry(bytes: Array[Byte]): Decoded = filters.synchronized(filters.computeIfAbsent(bytes, _ => new Decoded))

  /** One filter. It must not refer to its bytes, which could then never be freed. */
  private final class Decoded {
    // A soft reference: the map drops the entry of a freed array only when it is asked for another one.
    private val known = new AtomicReference(Option.empty[SoftReference[KeyFilter]])

    /** Tasks that want the same filter wait meanwhile; tasks that want another one do not. */
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
            Faults.note("filter read", "a task continues without the filter", new IllegalArgumentException(error))
            None
        }
      }
    }
  }
}
