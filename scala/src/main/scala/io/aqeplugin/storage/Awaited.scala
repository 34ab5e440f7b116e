package io.aqeplugin.storage

import java.util.concurrent.{CompletableFuture, TimeUnit, TimeoutException}

/** What is read in the background. A query that is being planned waits for it until so long after its start. */
private[storage] final class Awaited[A](maxMillis: Long) {
  private val found = new CompletableFuture[A]()
  private val startNanos = System.nanoTime()

  def end(value: A): Unit = { val _ = found.complete(value) }

  /** The value, without waiting. */
  def now: Option[A] = if (found.isDone) Some(found.join()) else None

  def orWhenLate(other: => A): A = {
    val leftNanos = startNanos + TimeUnit.MILLISECONDS.toNanos(maxMillis) - System.nanoTime()
    try found.get(math.max(0L, leftNanos), TimeUnit.NANOSECONDS)
    catch { case _: TimeoutException => other }
  }

  def ageNanos: Long = System.nanoTime() - startNanos
}
