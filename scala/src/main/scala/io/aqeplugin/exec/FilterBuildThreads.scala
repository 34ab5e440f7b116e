package io.aqeplugin.exec

import java.util.concurrent.{ExecutorService, ScheduledFuture, ScheduledThreadPoolExecutor, TimeUnit}

/** The driver's threads that wait for filter jobs. Daemon threads: they never keep a driver alive. */
object FilterBuildThreads {

  /** What a reader of a filter waits beyond the build's own time limit before it goes on without. */
  val GraceMillis = 1000L

  /** Builds at the same time, of all queries. More wait for a thread while their time limit runs: one plan may ask for dozens, and a driver that
    * can start no more threads fails queries that ask for none.
    */
  val MaxBuilds = 64

  val pool: ExecutorService = DaemonThreads.pool("aqe-plugin-filter-build", MaxBuilds)

  private val timer = {
    val timer = new ScheduledThreadPoolExecutor(1, DaemonThreads.factory("aqe-plugin-filter-timeout"))
    timer.setRemoveOnCancelPolicy(true)
    timer
  }

  def afterMillis(delayMillis: Long)(body: => Unit): ScheduledFuture[_] =
    timer.schedule((() => body): Runnable, delayMillis, TimeUnit.MILLISECONDS)
}
