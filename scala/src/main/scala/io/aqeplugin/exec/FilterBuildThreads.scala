package io.aqeplugin.exec

import java.util.concurrent.{ExecutorService, Executors, ScheduledFuture, ScheduledThreadPoolExecutor, TimeUnit}

/** The driver's threads that wait for filter jobs. Daemon threads: they never keep a driver alive. */
object FilterBuildThreads {

  /** What a reader of a filter waits beyond the build's own time limit before it goes on without. */
  val GraceMillis = 1000L

  val pool: ExecutorService = Executors.newCachedThreadPool(DaemonThreads.factory("aqe-plugin-filter-build"))

  private val timer = {
    val timer = new ScheduledThreadPoolExecutor(1, DaemonThreads.factory("aqe-plugin-filter-timeout"))
    timer.setRemoveOnCancelPolicy(true)
    timer
  }

  def afterMillis(delayMillis: Long)(body: => Unit): ScheduledFuture[_] =
    timer.schedule((() => body): Runnable, delayMillis, TimeUnit.MILLISECONDS)
}
